//! Finds source files, and what the checks ask about their syntax.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder with one of these extensions, sorted.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                open.push(path);
            } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// True for `#[test]`, `#[tokio::test]` and `#[cfg(test)]`.
pub(crate) fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    let is_cfg_test = || match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    };
    attribute.path().segments.last().is_some_and(|last| last.ident == "test") || is_cfg_test()
}

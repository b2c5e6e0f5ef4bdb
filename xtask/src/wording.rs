//! Counts words that `style.md` bans in the text that users read: strings and help in Rust, strings of the web app, the README and
//! the docs. The count may only fall: lower the limit with each clean-up.

use crate::shell::{root, say};
use crate::sources::{files, is_test_attribute};
use anyhow::{Context, ensure};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// How many banned words the text still has. Never raise it.
const MAX_BANNED_WORDS: usize = 97;

const BANNED: &str = r"(?i)\b(nobody|somebody|whoever|shall|anew|is told|goes on with|where there is none|that which|to the letter|mended)\b";

/// Derives that publish the doc comments of a type and of its fields: as help, in the OpenAPI document, or to MCP clients.
const PUBLISHING: [&str; 6] =
    ["Args", "Parser", "Subcommand", "ValueEnum", "ToSchema", "JsonSchema"];

pub(crate) fn check() -> anyhow::Result<()> {
    let found = find()?;
    for (file, text) in &found {
        say(&format!("{file}: {text}"));
    }
    let count = found.len();
    say(&format!("banned words in user-visible text: {count} (limit {MAX_BANNED_WORDS})"));
    ensure!(
        count <= MAX_BANNED_WORDS,
        "{count} banned words in user-visible text, more than {MAX_BANNED_WORDS}\n\nhint: rewrite the lines above in plain English"
    );
    if count < MAX_BANNED_WORDS {
        say(&format!("hint: lower MAX_BANNED_WORDS in xtask/src/wording.rs to {count}"));
    }
    Ok(())
}

/// Each banned word with its file and the line or string that contains it.
fn find() -> anyhow::Result<Vec<(String, String)>> {
    let root = root();
    let banned = Regex::new(BANNED)?;
    let mut found = Vec::new();
    for (path, texts) in visible_texts(&root)? {
        let file = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        for text in texts {
            let matches = banned.find_iter(&text).count();
            found.extend(std::iter::repeat_n((file.clone(), text.trim().to_owned()), matches));
        }
    }
    Ok(found)
}

fn visible_texts(root: &Path) -> anyhow::Result<Vec<(PathBuf, Vec<String>)>> {
    let mut all = Vec::new();
    for path in files(&root.join("docs"), &["md"])?.into_iter().chain([root.join("README.md")]) {
        let text = fs::read_to_string(&path)?;
        all.push((path, text.lines().map(str::to_owned).collect()));
    }
    for folder in ["crates/agent/src", "crates/pollux/src", "crates/rehearsal/src", "xtask/src"] {
        for path in files(&root.join(folder), &["rs"])? {
            if path.ends_with("xtask/src/wording.rs") || path.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            let texts = rust_texts(&text)
                .with_context(|| format!("{} cannot be parsed", path.display()))?;
            all.push((path, texts));
        }
    }
    let web = root.join("web");
    for path in files(&web.join("src"), &["ts", "tsx"])?.into_iter().chain([web.join("index.html")])
    {
        let text = fs::read_to_string(&path)?;
        all.push((path, lines_without_comments(&text)));
    }
    Ok(all)
}

/// The string literals of a Rust file outside its tests, and the doc comments that are published.
fn rust_texts(text: &str) -> anyhow::Result<Vec<String>> {
    let mut texts = RustTexts::default();
    texts.visit_file(&syn::parse_file(text)?);
    Ok(texts.texts)
}

#[derive(Default)]
struct RustTexts {
    /// True within a type whose doc comments are published.
    published: bool,
    texts: Vec<String>,
}

impl RustTexts {
    fn add_literals(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.add_literals(group.stream()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.texts.push(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for RustTexts {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.published = is_published(&item.attrs);
        visit::visit_item_struct(self, item);
        self.published = false;
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.published = is_published(&item.attrs);
        visit::visit_item_enum(self, item);
        self.published = false;
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_test_attribute) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !function.attrs.iter().any(is_test_attribute) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let is_doc = attribute.path().is_ident("doc");
        let is_lint = ["expect", "allow"].iter().any(|name| attribute.path().is_ident(name));
        match &attribute.meta {
            syn::Meta::NameValue(pair) if is_doc && self.published => {
                visit::visit_expr(self, &pair.value);
            }
            syn::Meta::List(list) if !is_lint => self.add_literals(list.tokens.clone()),
            _ => {}
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_literals(call.tokens.clone());
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.texts.push(literal.value());
    }
}

fn is_published(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let derives = attribute.path().is_ident("derive") || attribute.path().is_ident("cfg_attr");
        let tokens = attribute.to_token_stream().to_string();
        derives && PUBLISHING.iter().any(|name| tokens.contains(name))
    })
}

/// The lines of a TypeScript file that are not wholly comments.
fn lines_without_comments(text: &str) -> Vec<String> {
    let is_comment = |line: &str| {
        ["//", "/*", "*", "{/*"].iter().any(|start| line.trim_start().starts_with(start))
    };
    let code = |line: &str| line.split(" // ").next().unwrap_or(line).to_owned();
    text.lines().filter(|line| !is_comment(line)).map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_strings_and_published_doc_comments_and_skips_tests_and_comments() {
        let text = r#"
            //! Module docs.
            /// Help text.
            #[derive(clap::Args)]
            struct Options {
                #[arg(help = "an attribute")]
                field: u8, // a comment
            }
            /// Internal.
            fn f() { println!("a macro {}", "nested"); g("a string"); }
            #[expect(unused, reason = "a lint")]
            fn g(_: &str) {}
            #[cfg(test)]
            mod tests { const T: &str = "a test"; }
        "#;
        let texts = rust_texts(text).unwrap();
        assert_eq!(texts, [" Help text.", "an attribute", "a macro {}", "nested", "a string"]);
    }
}

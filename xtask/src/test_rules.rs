//! Rules for tests that no compiler checks: a test reads nothing outside the repository, and a test that does not run says so.

use crate::shell::{root, say};
use crate::sources::{files, is_test_attribute};
use anyhow::{Context, ensure};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::fs;
use std::path::{Component, Path, PathBuf};
use syn::visit::{self, Visit};

pub(crate) fn check() -> anyhow::Result<()> {
    let root = root();
    let mut broken = Vec::new();
    for folder in ["crates", "xtask", "fuzz"] {
        for path in files(&root.join(folder), &["rs"])? {
            let file = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            if file.starts_with("fuzz/target") {
                continue;
            }
            let syntax = syn::parse_file(&fs::read_to_string(&path)?)
                .with_context(|| format!("{file} cannot be parsed"))?;
            broken.extend(rust_problems(&syntax, &file));
        }
    }
    for folder in ["web/test", "web/e2e"] {
        for path in files(&root.join(folder), &["ts", "tsx"])? {
            let file = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            broken.extend(typescript_problems(&fs::read_to_string(&path)?, &file));
        }
    }
    for problem in &broken {
        say(problem);
    }
    ensure!(broken.is_empty(), "{} tests break a rule", broken.len());
    say("tests: none reads outside the repository, none returns early without `requires!`");
    Ok(())
}

fn rust_problems(syntax: &syn::File, file: &str) -> Vec<String> {
    let mut rules = TestRules { file, problems: Vec::new() };
    rules.visit_file(syntax);
    rules.problems
}

struct TestRules<'a> {
    file: &'a str,
    problems: Vec<String>,
}

impl TestRules<'_> {
    /// Reports a literal that leads out of the repository if it is joined to `base`, a directory relative to the root.
    fn check_path(&mut self, base: &Path, literal: &str) {
        if leaves_root(&base.join(literal.trim_start_matches('/'))) {
            self.problems.push(format!(
                "{}: `{literal}` is outside the repository; copy the file into it",
                self.file
            ));
        }
    }

    /// The directory of the manifest that compiles this file: `crates/agent`, `xtask`.
    fn crate_dir(&self) -> PathBuf {
        let depth = if self.file.starts_with("crates/") { 2 } else { 1 };
        Path::new(self.file).components().take(depth).collect()
    }
}

impl<'ast> Visit<'ast> for TestRules<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.attrs.iter().any(is_test_attribute) {
            let mut returns = EarlyReturns::default();
            returns.visit_block(&function.block);
            if returns.found {
                self.problems.push(format!(
                    "{}: the test `{}` can return without checking anything; use `requires!` or assert",
                    self.file, function.sig.ident
                ));
            }
        }
        visit::visit_item_fn(self, function);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        let literals = string_literals(call.tokens.clone());
        if name.is_some_and(|name| name.starts_with("include")) {
            let folder = Path::new(self.file).parent().unwrap_or(Path::new("")).to_path_buf();
            for literal in &literals {
                self.check_path(&folder, literal);
            }
        } else if literals.iter().any(|literal| literal == "CARGO_MANIFEST_DIR") {
            let base = self.crate_dir();
            for literal in &literals {
                self.check_path(&base, literal);
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "join"
            && let Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(literal), .. })) =
                call.args.first()
        {
            let receiver = call.receiver.to_token_stream().to_string();
            let base = if receiver.contains("CARGO_MANIFEST_DIR") {
                Some(self.crate_dir())
            } else if receiver.contains("repository ()") || receiver.contains("root ()") {
                Some(PathBuf::new())
            } else {
                None
            };
            if let Some(base) = base {
                self.check_path(&base, &literal.value());
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The string literals among tokens, those in groups too.
fn string_literals(tokens: TokenStream) -> Vec<String> {
    let mut literals = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => literals.extend(string_literals(group.stream())),
            TokenTree::Literal(literal) => {
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    literals.push(text.value());
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
    literals
}

/// Finds `return` in a test itself, not in its closures and inner functions.
#[derive(Default)]
struct EarlyReturns {
    found: bool,
}

impl<'ast> Visit<'ast> for EarlyReturns {
    fn visit_expr_return(&mut self, _: &'ast syn::ExprReturn) {
        self.found = true;
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}

    fn visit_item_fn(&mut self, _: &'ast syn::ItemFn) {}
}

/// True if a path that starts at the root goes above it on its way.
fn leaves_root(path: &Path) -> bool {
    let mut depth = 0_i32;
    path.components().any(|part| {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        depth < 0
    })
}

/// `cargo xtask test` names the browser tests that a missing browser prevents; a `skip` of their own would be silent.
fn typescript_problems(text: &str, file: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = format!("{file}:{}", number + 1);
        if line.contains(".skip(") || line.contains(".skipIf(") || line.contains(".todo(") {
            problems.push(format!("{at}: a test must not skip itself"));
        }
        if line.contains("\"../../../") {
            problems.push(format!("{at}: this path is outside the repository"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        rust_problems(&syn::parse_file(text).unwrap(), "crates/agent/tests/it/x.rs")
    }

    #[test]
    fn path_beside_the_repository_is_found_and_data_is_not() {
        let outside =
            r#"fn f() { Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/x"); }"#;
        assert_eq!(problems(outside).len(), 1, "{:?}", problems(outside));
        let inside =
            r#"fn f() { Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings"); }"#;
        assert!(problems(inside).is_empty());
        let data = r#"fn f() { read("../../../../etc/passwd"); }"#;
        assert!(problems(data).is_empty());
        let included = r#"const X: &str = include_str!("../../../../recordings/x");"#;
        assert!(problems(included).is_empty());
        let included = r#"const X: &str = include_str!("../../../../../shared/x");"#;
        assert_eq!(problems(included).len(), 1);
        let joined = r#"fn f() { repository().join("../shared"); }"#;
        assert_eq!(problems(joined).len(), 1);
    }

    #[test]
    fn early_return_is_found_in_a_test_and_not_in_its_closures() {
        let silent = "#[test] fn t() { let Some(x) = f() else { return }; check(x); }";
        assert_eq!(problems(silent).len(), 1);
        let result = "#[tokio::test] async fn t() -> R { if g() { return Ok(()); } check() }";
        assert_eq!(problems(result).len(), 1);
        let closure = "#[test] fn t() { each(|x| { if x { return; } check(x) }); }";
        assert!(problems(closure).is_empty());
    }
}

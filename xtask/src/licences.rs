//! Licences and sources of the dependencies.
//!
//! `cargo-deny` checks the same and takes two minutes to build on a fresh machine; these rules need one call of `cargo metadata`.

use crate::shell::{self, say};
use anyhow::{Context, ensure};
use serde_json::Value;
use spdx::{Expression, ParseMode};

/// The licences that a dependency may have.
const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "Unlicense",
];

/// A package that may have one more licence: it is used unchanged, which is all that this licence asks for.
const EXCEPTION: (&str, &str) = ("option-ext", "MPL-2.0");

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn check() -> anyhow::Result<()> {
    let line = "cargo metadata --quiet --locked --all-features --format-version 1";
    let metadata: Value = serde_json::from_str(&shell::told(line)?)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut problems = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        match package["source"].as_str() {
            Some(source) => {
                problems.extend(licence_problem(name, package["license"].as_str()));
                if source != REGISTRY {
                    problems.push(format!("{name} is from {source}, not from crates.io"));
                }
            }
            None => problems.extend(wildcards(name, package)),
        }
    }
    ensure!(problems.is_empty(), "dependencies break a rule:\n{}", problems.join("\n"));
    say(&format!("licences and sources of {} packages: OK", packages.len()));
    Ok(())
}

fn licence_problem(name: &str, licence: Option<&str>) -> Option<String> {
    let Some(licence) = licence else { return Some(format!("{name} names no licence")) };
    let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
        return Some(format!("{name}: `{licence}` is not a licence expression"));
    };
    let is_allowed = expression.evaluate(|requirement| {
        let Some(id) = requirement.license.id() else { return false };
        ALLOWED.contains(&id.name) || EXCEPTION == (name, id.name)
    });
    (!is_allowed).then(|| format!("{name}: the licence `{licence}` is not allowed"))
}

/// Dependencies of our own crates that accept any version.
fn wildcards(name: &str, package: &Value) -> Vec<String> {
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let accepts_any =
        |dependency: &&Value| dependency["req"] == "*" && dependency["path"].is_null();
    let problem =
        |dependency: &Value| format!("{name} accepts any version of {}", dependency["name"]);
    dependencies.iter().filter(accepts_any).map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_is_allowed_if_one_alternative_is() {
        assert_eq!(licence_problem("x", Some("MIT OR GPL-3.0-only")), None);
        assert_eq!(licence_problem("x", Some("MIT/Apache-2.0")), None);
        assert_eq!(licence_problem("x", Some("Apache-2.0 WITH LLVM-exception")), None);
        assert_eq!(licence_problem("option-ext", Some("MPL-2.0")), None);
        assert!(licence_problem("x", Some("MPL-2.0")).is_some());
        assert!(licence_problem("x", Some("MIT AND GPL-3.0-only")).is_some());
        assert!(licence_problem("x", None).is_some());
    }

    #[test]
    fn wildcard_version_is_found_and_path_is_not() {
        let package = serde_json::json!({ "dependencies": [
            { "name": "a", "req": "*" },
            { "name": "b", "req": "*", "path": "/b" },
            { "name": "c", "req": "^1" },
        ] });
        assert_eq!(wildcards("x", &package), ["x accepts any version of \"a\""]);
    }
}

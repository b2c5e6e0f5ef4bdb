//! The scripts of the library are right, and so are the examples in the documentation.

use pollux_rehearsal::Script;
use std::fs;
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

#[test]
fn every_script_of_the_library_is_right_and_says_what_it_is_about() {
    let mut count = 0;
    for entry in fs::read_dir(repository().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let script: Script = fs::read_to_string(&path).unwrap().parse().unwrap_or_else(|wrongs| {
            panic!("{}: {wrongs}", path.display());
        });
        assert!(script.about().is_some(), "{}", path.display());
        count += 1;
    }
    assert!(count > 30, "only {count} scripts");
}

#[test]
fn every_example_in_the_reference_is_right() {
    let text = fs::read_to_string(repository().join("docs/rehearsal.md")).unwrap();
    let examples: Vec<&str> =
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 8, "only {} examples", examples.len());
    for example in examples {
        let read = example.parse::<Script>();
        assert!(read.is_ok(), "{}\n{example}", read.unwrap_err());
    }
}

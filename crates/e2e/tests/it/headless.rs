//! What the CLI itself prints headless: the stream of every script is as it was read once. It is overheard while the same run is
//! told as events (`run`): one start of the CLI has to do for both.

use pollux_agent::gemini::cli::{Cli as Found, Version};
use pollux_e2e::{Cli, Ran, Stage, outline};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The CLI behind a listener that writes down what it prints, and how it ends.
pub(crate) struct Overheard(PathBuf);

impl Overheard {
    /// Lays a program into the stage's home that is the CLI to whoever starts it.
    pub(crate) fn new(stage: &Stage) -> Self {
        let place = stage.home().path().join("overheard");
        fs::create_dir(&place).unwrap();
        let (cli, at) = (stage.cli().program().display(), place.display());
        let script = format!(
            "#!/bin/bash\n'{cli}' \"$@\" | tee '{at}/stdout'\ncode=${{PIPESTATUS[0]}}\necho $code > '{at}/code'\nexit $code\n"
        );
        let path = place.join("gemini");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(place)
    }

    pub(crate) fn program(&self, cli: &Cli) -> Found {
        Found { path: self.0.join("gemini"), version: Version::read(cli.version()) }
    }

    /// Compares the outline of the stream with the one that was read.
    pub(crate) fn compare(&self, name: &str, stage: &Stage) {
        let read = |file: &str| fs::read_to_string(self.0.join(file)).unwrap();
        let code = read("code").trim().parse().ok();
        let ran = Ran { code, stdout: read("stdout"), stderr: String::new() };
        let shown = Path::new("snapshots/headless").join(stage.cli().like());
        insta::with_settings!({
            snapshot_path => shown,
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, outline(&ran, stage));
        });
    }
}

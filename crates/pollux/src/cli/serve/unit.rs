//! Units that start the daemon when the user logs in.

use crate::render::escape;
use anyhow::Context;
use std::path::Path;

/// The kind of this system.
pub(super) const HERE: &str = if cfg!(target_os = "macos") { "launchd" } else { "systemd" };

/// A unit that runs this very program, for the user with this home.
pub(super) fn unit(systemd: bool, home: Option<&Path>) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("could not find the path of this program")?;
    let program = program.to_str().context("the path of this program is not valid UTF-8")?;
    let home = home
        .and_then(Path::to_str)
        .context("the path of your home directory is not valid UTF-8")?;
    Ok(text(systemd, program, home))
}

fn text(systemd: bool, program: &str, home: &str) -> String {
    if systemd {
        // The daemon ends its own agents; those in tmux servers that it has started are to stay.
        let program = program.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%");
        format!(
            "# ~/.config/systemd/user/pollux.service\n\
             # systemctl --user enable --now pollux\n\
             [Unit]\nDescription=Pollux daemon for Gemini CLI sessions\n\n\
             [Service]\nExecStart=\"{program}\" serve\nRestart=on-failure\nKillMode=process\nTimeoutStopSec=30\n\n\
             [Install]\nWantedBy=default.target\n"
        )
    } else {
        // systemd keeps what a daemon says; launchd throws it away where nobody names a file, with all of its path.
        let (program, home) = (escape(program), escape(home));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!-- ~/Library/LaunchAgents/pollux.plist; launchctl load ~/Library/LaunchAgents/pollux.plist -->\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>pollux</string>\n  \
             <key>ProgramArguments</key>\n  <array>\n    <string>{program}</string>\n    <string>serve</string>\n  \
             </array>\n  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    \
             <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  \
             <key>StandardErrorPath</key>\n  <string>{home}/Library/Logs/pollux.log</string>\n</dict>\n</plist>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_path_with_anything_in_it_stays_the_same_path() {
        let program = r#"/opt/100% "mine" & co/bin\pollux"#;
        let unit = text(true, program, "/home/me");
        assert!(
            unit.contains(r#"ExecStart="/opt/100%% \"mine\" & co/bin\\pollux" serve"#),
            "{unit}"
        );
        let plist = text(false, program, "/Users/me");
        assert!(plist.contains("<string>/opt/100% &quot;mine&quot; &amp; co/"), "{plist}");
    }

    #[test]
    fn what_a_daemon_of_launchd_says_is_kept() {
        let plist = text(false, "/bin/pollux", "/Users/you & me");
        let kept = "<key>StandardErrorPath</key>\n  <string>/Users/you &amp; me/Library/Logs/pollux.log</string>";
        assert!(plist.contains(kept), "{plist}");
    }
}

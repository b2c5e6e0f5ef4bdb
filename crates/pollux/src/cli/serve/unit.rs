//! Units that start the daemon when the user logs in.

use anyhow::Context;

/// The kind of this system.
pub(super) const HERE: &str = if cfg!(target_os = "macos") { "launchd" } else { "systemd" };

/// A unit that runs this very program.
pub(super) fn unit(systemd: bool) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("where is this program?")?;
    let program = program.display();
    Ok(if systemd {
        format!(
            "# ~/.config/systemd/user/pollux.service\n\
             # systemctl --user enable --now pollux\n\
             [Unit]\nDescription=Pollux: Gemini CLI sessions that stay\n\n\
             [Service]\nExecStart=\"{program}\" serve\nRestart=on-failure\nKillMode=mixed\nTimeoutStopSec=30\n\n\
             [Install]\nWantedBy=default.target\n"
        )
    } else {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!-- ~/Library/LaunchAgents/pollux.plist; launchctl load ~/Library/LaunchAgents/pollux.plist -->\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>pollux</string>\n  \
             <key>ProgramArguments</key>\n  <array>\n    <string>{program}</string>\n    <string>serve</string>\n  \
             </array>\n  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    \
             <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n</dict>\n</plist>\n"
        )
    })
}

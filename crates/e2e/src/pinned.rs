//! The only list of versions: every package that a test or a benchmark installs from npm, PyPI or Debian.
//!
//! "Newest" means the newest version here, so that CI changes only by a commit. The packages that the web app is built from are
//! pinned by `web/package-lock.json`.

use crate::package::Package;

/// The versions of Gemini CLI that every change is tested with: the last with single-JSON sessions, one from the middle, the newest.
pub const PINNED: [&str; 3] = ["0.34.0", "0.47.0", "0.61.0"];

/// The last version that Pollux does not drive: it is a plain ACP agent, `gemini --experimental-acp`.
pub const LAST_WITHOUT_DRIVERS: &str = "0.33.2";

/// A Node.js that caches compiled code, for machines whose own is older.
pub const NODE: &str = "22.23.3";

/// ACP for programs in TypeScript.
pub const ACP_SDK: Package = Package::new("acp-sdk", "@agentclientprotocol/sdk", "2.4.0");
/// A client of ACP for the command line.
pub const ACPX: Package = Package::new("acpx", "acpx", "0.19.1");
/// Counts the tokens of Gemini CLI's sessions; written in Rust.
pub const CCUSAGE: Package = Package::new("ccusage", "ccusage", "20.0.24");
/// Another agent that speaks ACP, in a version that opens a session without an account.
pub const CLAUDE_CODE_ACP: Package =
    Package::new("claude-code-acp", "@zed-industries/claude-code-acp", "0.16.2");
/// Claude's Agent SDK for programs in TypeScript.
pub const CLAUDE_SDK: Package =
    Package::new("claude-sdk", "@anthropic-ai/claude-agent-sdk", "0.3.325");
/// A client of MCP for the command line.
pub const MCP_INSPECTOR: Package =
    Package::new("mcp-inspector", "@modelcontextprotocol/inspector", "2.12.0");
/// MCP for programs in TypeScript.
pub const MCP_SDK: Package = Package::new("mcp-sdk", "@modelcontextprotocol/sdk", "1.32.2");
/// Checks messages against the SDKs' own types.
pub const TYPESCRIPT: Package = Package::new("typescript", "typescript", "5.9.3");

/// The packages of npm that the tests need.
pub const NPM: [Package; 8] =
    [ACP_SDK, ACPX, CCUSAGE, CLAUDE_CODE_ACP, CLAUDE_SDK, MCP_INSPECTOR, MCP_SDK, TYPESCRIPT];

/// ACP for programs in Python.
pub const ACP_SDK_PYTHON: Package =
    Package::new("acp-sdk-python", "agent-client-protocol", "0.12.1");
/// CLI Agent Orchestrator, which benchmarks run beside Pollux.
pub const CAO: Package = Package::new("cao", "cli-agent-orchestrator", "2.5.4");
/// Claude's Agent SDK for programs in Python.
pub const CLAUDE_SDK_PYTHON: Package =
    Package::new("claude-sdk-python", "claude-agent-sdk", "0.2.182");

/// The packages of PyPI that the tests need.
pub const PYTHON: [Package; 2] = [ACP_SDK_PYTHON, CLAUDE_SDK_PYTHON];

/// A package of Debian, and the version that the tests were last run with.
#[derive(Debug, Clone, Copy)]
pub struct DebianPackage {
    /// What `apt-get install` calls it.
    pub name: &'static str,
    /// Debian keeps only the newest version of a release, so an older one cannot always be installed.
    pub version: &'static str,
    /// The file that shows that it is installed.
    pub program: &'static str,
}

/// tmux, for tests of agents in terminals.
pub const TMUX: DebianPackage =
    DebianPackage { name: "tmux", version: "3.3a-3", program: "/usr/bin/tmux" };
/// A browser, for tests of the web app.
pub const CHROMIUM: DebianPackage = DebianPackage {
    name: "chromium",
    version: "156.0.8078.79-1~deb12u1",
    program: "/usr/bin/chromium",
};
/// The same browser without windows, in which most browser tests take half as long.
pub const CHROMIUM_HEADLESS_SHELL: DebianPackage = DebianPackage {
    name: "chromium-headless-shell",
    version: "156.0.8078.79-1~deb12u1",
    program: "/usr/bin/chromium-headless-shell",
};

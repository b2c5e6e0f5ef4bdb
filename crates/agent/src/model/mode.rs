//! The mode of a session: what the agent may do without asking.

use serde::{Deserialize, Serialize};

/// What the agent may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Read files, and ask before changing anything. Headless agents cannot ask and deny changes.
    #[default]
    Default,
    /// Read and edit files.
    AutoEdit,
    /// Do everything.
    Yolo,
    /// Read and plan.
    Plan,
}

impl Mode {
    /// The mode with a name: the CLI's, ours, or Claude's.
    ///
    /// ```
    /// use pollux_agent::model::Mode;
    ///
    /// assert_eq!(Mode::named("auto-edit"), Some(Mode::AutoEdit));
    /// assert_eq!(Mode::named("bypassPermissions"), Some(Mode::Yolo));
    /// assert_eq!(Mode::named("everything"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "default" | "read-only" => Self::Default,
            // ACP has called it `autoEdit` and `auto_edit`.
            "auto-edit" | "auto_edit" | "autoEdit" | "acceptEdits" => Self::AutoEdit,
            "yolo" | "bypassPermissions" => Self::Yolo,
            "plan" => Self::Plan,
            _ => return None,
        })
    }

    /// The CLI's name for it.
    pub fn upstream(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AutoEdit => "auto_edit",
            Self::Yolo => "yolo",
            Self::Plan => "plan",
        }
    }

    /// Claude's name for it.
    pub fn claude(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AutoEdit => "acceptEdits",
            Self::Yolo => "bypassPermissions",
            Self::Plan => "plan",
        }
    }
}

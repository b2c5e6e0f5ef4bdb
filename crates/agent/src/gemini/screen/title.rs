//! The title of the window, which is the best sign of what the CLI does.

/// What a title says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Title {
    /// It says that the CLI is ready; it says so too while some dialogs wait.
    Ready,
    /// It says that the CLI works; it says so too while the quota dialog waits.
    Working,
    /// It says that somebody must do something.
    ActionRequired,
    /// It says nothing of this: a constant title, none, or the shell's.
    Silent,
}

impl Title {
    /// Reads a title by the sign in front: the words behind it may be the subject of a thought. Where the sign is one that
    /// nobody knows, the words count.
    ///
    /// ```
    /// use pollux_agent::gemini::screen::Title;
    ///
    /// assert_eq!(Title::read("✦  Reading the parser (shop)   "), Title::Working);
    /// assert_eq!(Title::read("Gemini CLI (shop)"), Title::Silent);
    /// assert_eq!(Title::read("🛑 Action Required (shop)"), Title::ActionRequired);
    /// ```
    pub fn read(title: &str) -> Self {
        match title.trim_start().chars().next() {
            Some('◇') => Self::Ready,
            Some('✦' | '⏲') => Self::Working,
            Some('✋') => Self::ActionRequired,
            Some(sign) if !sign.is_alphanumeric() => Self::by_words(title),
            _ => Self::Silent,
        }
    }

    fn by_words(title: &str) -> Self {
        let words = title.trim_start_matches(|char: char| !char.is_alphanumeric());
        let says = |what: &str| {
            words.strip_prefix(what).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        match () {
            () if says("Ready") => Self::Ready,
            () if says("Working") => Self::Working,
            () if says("Action Required") => Self::ActionRequired,
            () => Self::Silent,
        }
    }
}

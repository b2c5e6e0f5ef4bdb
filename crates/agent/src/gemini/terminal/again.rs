//! Whether the agent went on and asks again, with nothing on the screen that says so: its titles do, which come and go between
//! two pictures. Pure.

use super::super::screen::Title;

/// What the titles have said since the question that is open was asked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// Nothing of it: for some dialogs the title comes later, or never.
    #[default]
    Silent,
    /// That somebody must do something.
    Asked,
    /// And then that the agent works, or is ready.
    Left,
    /// And then that somebody must do something again.
    Anew,
}

impl Again {
    /// A question was opened, under this title.
    pub(super) fn opened(&mut self, title: Option<&str>) {
        *self = Self::Silent;
        if let Some(title) = title {
            self.hear(title);
        }
    }

    /// Takes a title.
    pub(super) fn hear(&mut self, title: &str) {
        *self = match (Title::read(title), *self) {
            (Title::ActionRequired, Self::Silent | Self::Asked) => Self::Asked,
            (Title::ActionRequired, Self::Left | Self::Anew) => Self::Anew,
            (Title::Working | Title::Ready, Self::Asked) => Self::Left,
            (_, before) => before,
        };
    }

    /// Whether it went on and asks again; told once.
    pub(super) fn take(&mut self) -> bool {
        let anew = *self == Self::Anew;
        if anew {
            *self = Self::Asked;
        }
        anew
    }
}

#[cfg(test)]
mod tests {
    use super::Again;

    #[test]
    fn a_title_that_comes_late_is_no_second_question_and_one_that_comes_back_is() {
        let mut again = Again::default();
        again.opened(Some("✦  Working… (shop)"));
        again.hear("✋  Action Required (shop)");
        again.hear("✋  Action Required (shop)");
        assert!(!again.take());
        again.hear("✦  Working… (shop)");
        assert!(!again.take());
        again.hear("✋  Action Required (shop)");
        assert!(again.take());
        assert!(!again.take());
    }
}

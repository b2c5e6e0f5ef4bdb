//! What the titles have said that no picture shows: they come and go between two of them. Pure.

use super::super::screen::Title;

/// The titles of an agent, as they come.
#[derive(Debug, Default)]
pub(super) struct Titles {
    again: Again,
    worked: bool,
}

impl Titles {
    /// Takes a title.
    pub(super) fn hear(&mut self, title: &str) {
        let title = Title::read(title);
        self.again.hear(title);
        self.worked = match title {
            Title::Working => true,
            // What it does after that counts.
            Title::ActionRequired => false,
            _ => self.worked,
        };
    }

    /// A question was opened, under this title.
    pub(super) fn opened(&mut self, title: Option<&str>) {
        self.again = Again::Silent;
        if let Some(title) = title {
            self.again.hear(Title::read(title));
        }
    }

    /// Whether the agent went on and asks again; told once.
    pub(super) fn asks_anew(&mut self) -> bool {
        let anew = self.again == Again::Anew;
        if anew {
            self.again = Again::Asked;
        }
        anew
    }

    /// Whether the agent has worked since this was last asked.
    pub(super) fn worked(&mut self) -> bool {
        std::mem::take(&mut self.worked)
    }
}

/// What the titles have said since the question that is open was asked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Again {
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
    fn hear(&mut self, title: Title) {
        *self = match (title, *self) {
            (Title::ActionRequired, Self::Silent | Self::Asked) => Self::Asked,
            (Title::ActionRequired, Self::Left | Self::Anew) => Self::Anew,
            (Title::Working | Title::Ready, Self::Asked) => Self::Left,
            (_, before) => before,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Titles;

    #[test]
    fn a_title_that_comes_late_is_no_second_question_and_one_that_comes_back_is() {
        let mut titles = Titles::default();
        titles.opened(Some("✦  Working… (shop)"));
        titles.hear("✋  Action Required (shop)");
        titles.hear("✋  Action Required (shop)");
        assert!(!titles.asks_anew());
        titles.hear("✦  Working… (shop)");
        assert!(!titles.asks_anew());
        titles.hear("✋  Action Required (shop)");
        assert!(titles.asks_anew());
        assert!(!titles.asks_anew());
    }

    #[test]
    fn an_agent_that_has_worked_between_two_pictures_is_known_to_have() {
        let mut titles = Titles::default();
        titles.hear("◇  Ready (shop)");
        assert!(!titles.worked());
        titles.hear("✦  Working… (shop)");
        titles.hear("◇  Ready (shop)");
        assert!(titles.worked());
        assert!(!titles.worked(), "it is told once");
        titles.hear("✦  Working… (shop)");
        titles.hear("✋  Action Required (shop)");
        assert!(!titles.worked(), "it waits since");
    }
}

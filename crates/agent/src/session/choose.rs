//! Which option of a question a word means. Pure.

use crate::model::Effect;

/// One thing that can be answered, as a person sees it.
#[derive(Debug, Clone, Copy)]
pub struct Offered<'a> {
    /// Its id.
    pub id: &'a str,
    /// What it says.
    pub label: &'a str,
    /// The number that stands before it, where that need not be its place.
    pub number: Option<u32>,
    /// What it does.
    pub effect: Effect,
}

/// What a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen<'w> {
    /// The place of the option.
    pub at: usize,
    /// What is said with it, where the word itself is that.
    pub words: Option<&'w str>,
}

/// Why a word means no option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    /// It fits none.
    None,
    /// It fits several.
    Several,
}

/// The option that a word means: by its id or its whole label, by its number, by what it does, or by the beginning of its label
/// where only one begins so. Where only words are wanted, whatever is answered are the words, unless `reason` says that they
/// come beside it.
///
/// ```
/// use pollux_agent::model::Effect;
/// use pollux_agent::session::{Offered, choose};
///
/// let offered = |label, effect| Offered { id: label, label, number: None, effect };
/// let all = [
///     offered("Allow for this session", Effect::AllowAlways),
///     offered("Allow once", Effect::AllowOnce),
///     offered("No, suggest changes (esc)", Effect::RejectOnce),
/// ];
/// assert_eq!(choose(&all, "allow", false).unwrap().at, 1);
/// assert_eq!(choose(&all, "no", false).unwrap().at, 2);
/// assert_eq!(choose(&all, "allow for", false).unwrap().at, 0);
/// ```
pub fn choose<'w>(
    offered: &[Offered<'_>],
    word: &'w str,
    reason: bool,
) -> Result<Chosen<'w>, Unclear> {
    let wanted = bare(word);
    let is_it = |option: &Offered<'_>| option.id == word || bare(option.label) == wanted;
    if let [only] = offered
        && only.effect == Effect::Words
        && !reason
        && !is_it(only)
    {
        return Ok(Chosen { at: 0, words: Some(word) });
    }
    let at = match one(offered, is_it) {
        Err(Unclear::None) => otherwise(offered, &wanted),
        found => found,
    };
    at.map(|at| Chosen { at, words: None })
}

/// What a word means that is no whole label. A word for what an option does means nothing else: `no` is not the beginning of
/// `Node.js`.
fn otherwise(offered: &[Offered<'_>], wanted: &str) -> Result<usize, Unclear> {
    if let Some(effect) = effect(wanted) {
        // Where several hold for more than this time, the first holds for the least.
        return offered.iter().position(|option| option.effect == effect).ok_or(Unclear::None);
    }
    // They are shown with numbers, in the order in which they stand. In a list that somebody has moved on there are others.
    let place = wanted.parse::<u32>().ok().and_then(|number| {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        offered.get(at)?.number.is_none_or(|own| own == number).then_some(at)
    });
    match place {
        Some(at) => Ok(at),
        None => one(offered, |option| bare(option.label).starts_with(wanted)),
    }
}

fn effect(word: &str) -> Option<Effect> {
    match word {
        "allow" | "yes" | "y" | "allow_once" => Some(Effect::AllowOnce),
        "always" | "allow_always" => Some(Effect::AllowAlways),
        "deny" | "no" | "n" | "reject" | "reject_once" => Some(Effect::RejectOnce),
        "reject_always" => Some(Effect::RejectAlways),
        _ => None,
    }
}

fn one(offered: &[Offered<'_>], fits: impl Fn(&Offered<'_>) -> bool) -> Result<usize, Unclear> {
    let mut fitting = offered.iter().enumerate().filter(|(_, option)| fits(option));
    match (fitting.next(), fitting.next()) {
        (Some((at, _)), None) => Ok(at),
        (None, _) => Err(Unclear::None),
        _ => Err(Unclear::Several),
    }
}

fn bare(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Chosen, Effect, Offered, Unclear, choose};

    fn offered(label: &str, effect: Effect) -> Offered<'_> {
        Offered { id: label, label, number: None, effect }
    }

    fn at(all: &[Offered<'_>], word: &str) -> Result<usize, Unclear> {
        choose(all, word, false).map(|chosen| chosen.at)
    }

    #[test]
    fn a_word_for_what_an_option_does_is_not_the_beginning_of_another() {
        let things = ["Node.js", "Denote", "Allow all", "Yesterday"];
        let things = things.map(|label| offered(label, Effect::Other));
        for word in ["no", "n", "deny", "yes", "allow", "always", "NO"] {
            assert_eq!(at(&things, word), Err(Unclear::None), "{word}");
        }
        let exact = ["Yes", "No"].map(|label| offered(label, Effect::Other));
        assert_eq!((at(&exact, "yes"), at(&exact, "no")), (Ok(0), Ok(1)));
    }

    #[test]
    fn always_is_the_first_that_holds_for_more_than_this_time() {
        let all = [
            offered("Allow once", Effect::AllowOnce),
            offered("Allow tool for this session", Effect::AllowAlways),
            offered("Allow all server tools for this session", Effect::AllowAlways),
            offered("No (esc)", Effect::RejectOnce),
        ];
        assert_eq!(at(&all, "always"), Ok(1));
        assert_eq!((at(&all, "Y"), at(&all, "Deny")), (Ok(0), Ok(3)));
        assert_eq!(
            (at(&all, "allow  TOOL"), at(&all, "2"), at(&all, "9")),
            (Ok(1), Ok(1), Err(Unclear::None))
        );
        assert_eq!(at(&all, "allow a"), Ok(2));
        assert_eq!(at(&[all[1], all[1]], "allow tool"), Err(Unclear::Several));
    }

    #[test]
    fn where_only_words_are_wanted_whatever_is_answered_are_the_words() {
        let only = [offered("Type your answer", Effect::Words)];
        assert_eq!(choose(&only, "no", false), Ok(Chosen { at: 0, words: Some("no") }));
        assert_eq!(choose(&only, "type your answer", false), Ok(Chosen { at: 0, words: None }));
        assert_eq!(choose(&only, "no", true), Err(Unclear::None));
    }

    #[test]
    fn a_number_is_that_of_the_list_as_it_is_shown_and_as_it_is() {
        let moved =
            |label, number| Offered { number: Some(number), ..offered(label, Effect::Other) };
        let all = [moved("Three", 3), moved("Two", 2)];
        assert_eq!((at(&all, "1"), at(&all, "2")), (Err(Unclear::None), Ok(1)));
    }
}

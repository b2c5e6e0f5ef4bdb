//! The list of messages as the records of a session leave it: upserts by id, rewinds, whole new lists.

use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The id of a message. It stands in several tables, which share it.
pub(super) type Id = Arc<str>;

/// A table by ids, which are looked up several times for each record: with hashes that are quicker than the usual ones, and of
/// another seed in each process as those are.
pub(super) type ById<T> = HashMap<Id, T, RandomState>;

/// What a list holds, for one message.
pub(super) trait Item {
    /// Takes over what the earlier version of the same message had and this one lacks: the CLI's checkpoints drop tool
    /// calls, thoughts and tokens that were already on disk.
    fn carry(&mut self, earlier: &Self);

    /// The same for an earlier message under another id, which this one is a copy of.
    fn renew(&mut self, earlier: &Self) {
        self.carry(earlier);
    }

    /// True where this is the earlier message under a new id: when a turn is stopped, newer versions append a copy of
    /// every message under a new id and without its calls, thoughts and tokens, and then drop the first-hand ones.
    fn continues(&self, earlier: &Self) -> bool;
}

/// How far ahead the earlier version of a renamed message is looked for. Some messages have none, and the search must
/// not cost the square of a long session.
const LOOK_AHEAD: usize = 64;

/// How many messages are given room at once: more than most sessions have, and little enough to cost nothing.
pub(super) const USUAL: usize = 28;

/// Messages by id, in the order in which their ids came.
#[derive(Debug, Clone)]
pub(super) struct History<T> {
    list: Vec<(Id, T)>,
    index: ById<usize>,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self {
            list: Vec::with_capacity(USUAL),
            index: ById::with_capacity_and_hasher(USUAL, RandomState::default()),
        }
    }
}

impl<T: Item> History<T> {
    /// The messages, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> + Clone {
        self.list.iter().map(|(id, item)| (id.as_ref(), item))
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.index.contains_key(id)
    }

    /// Where a message stands, and the message.
    pub(super) fn get(&self, id: &str) -> Option<(usize, &T)> {
        let at = *self.index.get(id)?;
        self.list.get(at).map(|(_, item)| (at, item))
    }

    /// Adds a message, or replaces the one with the same id where it stands. True where there was one.
    pub(super) fn upsert(&mut self, id: Id, mut item: T) -> bool {
        let at = *self.index.entry(id.clone()).or_insert(self.list.len());
        let Some((_, earlier)) = self.list.get_mut(at) else {
            self.list.push((id, item));
            return false;
        };
        item.carry(earlier);
        *earlier = item;
        true
    }

    /// Drops a message and all that came after it, or everything if there is no such message. Gives what was dropped.
    pub(super) fn rewind(&mut self, id: &str) -> Vec<(Id, T)> {
        let at = self.index.get(id).copied().unwrap_or(0);
        let dropped = self.list.split_off(at);
        for (id, _) in &dropped {
            self.index.remove(id);
        }
        dropped
    }

    /// Puts a new list in the place of the old one. Gives the messages that are no longer there, under any id.
    pub(super) fn replace(&mut self, list: Vec<(Id, T)>) -> Vec<(Id, T)> {
        let earlier = std::mem::take(self);
        let stays: HashSet<&str> = list.iter().map(|(id, _)| id.as_ref()).collect();
        let mut dropped: Vec<bool> =
            earlier.list.iter().map(|(id, _)| !stays.contains(id.as_ref())).collect();
        // A long list that drops little is not gone through for each message of the new one.
        let places: Vec<usize> = (0..dropped.len()).filter(|at| dropped[*at]).collect();
        let mut place = 0;
        for (id, mut item) in list {
            let own = earlier.index.get(&id).copied();
            // One that comes twice in the new list takes over from the first of the two, which is newer.
            let old = own.filter(|_| !self.contains(&id)).and_then(|at| earlier.list.get(at));
            if let Some((_, earlier)) = old {
                item.carry(earlier);
            }
            if let Some(at) = earlier.copied_by(&item, place..own.unwrap_or(usize::MAX), &places) {
                item.renew(&earlier.list[at].1);
                dropped[at] = false;
                place = at + 1;
            }
            self.upsert(id, item);
        }
        let gone = earlier.list.into_iter().zip(dropped).filter(|(_, dropped)| *dropped);
        gone.map(|(message, _)| message).collect()
    }

    /// Where the first-hand message stands that an item is a copy of: one that is dropped, and that came before it.
    /// `places` are those of the dropped ones.
    fn copied_by(&self, item: &T, within: Range<usize>, places: &[usize]) -> Option<usize> {
        let first = places.partition_point(|at| *at < within.start);
        let ahead = places.iter().copied().skip(first).take_while(|at| *at < within.end);
        ahead.take(LOOK_AHEAD).find(|at| item.continues(&self.list[*at].1))
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Item};

    impl Item for &str {
        fn carry(&mut self, _: &Self) {}
        fn continues(&self, earlier: &Self) -> bool {
            self == earlier
        }
    }

    fn ids(history: &History<&'static str>) -> String {
        history.iter().map(|(id, item)| format!("{id}={item}")).collect::<Vec<_>>().join(" ")
    }

    fn abc() -> History<&'static str> {
        let mut history = History::default();
        for (id, item) in [("a", "1"), ("b", "2"), ("c", "3")] {
            history.upsert(id.into(), item);
        }
        history
    }

    #[test]
    fn an_upsert_keeps_the_place_of_the_first() {
        let mut history = abc();
        assert!(history.upsert("b".into(), "9"));
        assert_eq!(ids(&history), "a=1 b=9 c=3");
    }

    #[test]
    fn a_rewind_drops_the_message_and_all_after_it() {
        let mut history = abc();
        assert_eq!(history.rewind("b").len(), 2);
        history.upsert("b".into(), "4");
        assert_eq!(ids(&history), "a=1 b=4");
    }

    #[test]
    fn a_rewind_to_an_unknown_message_drops_everything() {
        let mut history = abc();
        assert_eq!(history.rewind("zzz").len(), 3);
        assert_eq!(ids(&history), "");
    }

    #[test]
    fn a_new_list_replaces_the_old_and_says_what_is_gone() {
        let mut history = abc();
        let gone = history.replace(vec![("c".into(), "3"), ("d".into(), "4"), ("c".into(), "5")]);
        assert_eq!(ids(&history), "c=5 d=4");
        assert_eq!(gone.iter().map(|(id, _)| id.as_ref()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_message_under_a_new_id_is_not_gone() {
        let mut history = abc();
        let gone = history.replace(vec![("x".into(), "1"), ("y".into(), "3")]);
        assert_eq!(ids(&history), "x=1 y=3");
        assert_eq!(gone, [("b".into(), "2")]);
    }
}

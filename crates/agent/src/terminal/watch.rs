//! What happens in a pane, collected until somebody looks: a slow reader never holds up the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;

/// When more than this was printed and nobody has looked, it is thrown away: the screen itself is asked for instead.
const MOST: usize = 4 << 20;

/// What happened in a pane since somebody looked.
#[derive(Debug, Default)]
pub struct News {
    /// What its program printed.
    pub output: Vec<u8>,
    /// True where some of what was printed is lost: only the screen itself tells.
    pub lost: bool,
    /// True where it may have another size.
    pub resized: bool,
    /// What tmux tells of it.
    pub told: Option<Told>,
    /// Set where it is gone.
    pub gone: Option<Gone>,
}

/// What tmux tells of a pane, within a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// How its program ended, where it has, and the pane is still there to tell.
    pub dead: Option<Ended>,
    /// True where it is in a mode of tmux's own: keys do not reach the program.
    pub in_mode: bool,
    /// Its title.
    pub title: String,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// How a pane went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// Its program ended, or somebody closed it.
    Pane,
    /// The whole server went.
    Server,
}

/// One pane, watched.
#[derive(Debug)]
pub struct Watch {
    post: Arc<Post>,
}

impl Watch {
    /// Waits for something to happen. Gives everything since the last time.
    pub async fn next(&mut self) -> News {
        loop {
            let news = std::mem::take(&mut *self.post.news());
            if news.is_news() {
                return news;
            }
            self.post.arrived.notified().await;
        }
    }
}

impl News {
    fn is_news(&self) -> bool {
        let happened = self.lost || self.resized || self.told.is_some() || self.gone.is_some();
        happened || !self.output.is_empty()
    }
}

#[derive(Debug, Default)]
struct Post {
    news: Mutex<News>,
    arrived: Notify,
}

impl Post {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news());
        self.arrived.notify_one();
    }
}

/// Who watches which pane.
#[derive(Debug, Default)]
pub(super) struct Posts {
    panes: Mutex<HashMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    window: String,
    post: Weak<Post>,
    told: Option<Told>,
}

impl Posts {
    /// Begins to watch a pane. There is one watcher of a pane at a time: the last.
    pub(super) fn watch(&self, pane: &str, window: &str) -> Watch {
        let post = Arc::<Post>::default();
        let mut panes = self.panes();
        panes.retain(|_, entry| entry.post.strong_count() > 0);
        let entry = Entry { window: window.to_owned(), post: Arc::downgrade(&post), told: None };
        panes.insert(pane.to_owned(), entry);
        Watch { post }
    }

    fn panes(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.panes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn output(&self, pane: &str, bytes: &[u8]) {
        let Some(post) = self.panes().get(pane).and_then(|entry| entry.post.upgrade()) else {
            return;
        };
        post.put(|news| {
            if news.output.len() + bytes.len() > MOST {
                news.output = Vec::new();
                news.lost = true;
            } else {
                news.output.extend_from_slice(bytes);
            }
        });
    }

    /// What was printed until now is in a picture that was taken.
    pub(super) fn pictured(&self, pane: &str) {
        if let Some(post) = self.panes().get(pane).and_then(|entry| entry.post.upgrade()) {
            let mut news = post.news();
            news.output = Vec::new();
            news.lost = false;
        }
    }

    pub(super) fn resized(&self, window: &str) {
        self.in_window(window, |news| news.resized = true);
    }

    /// A window is gone. Gives the panes that went with it.
    pub(super) fn closed(&self, window: &str) -> Vec<String> {
        self.in_window(window, |news| news.gone = Some(Gone::Pane));
        let panes = self.panes();
        let gone = panes.iter().filter(|(_, entry)| entry.window == window);
        gone.map(|(pane, _)| pane.clone()).collect()
    }

    fn in_window(&self, window: &str, change: impl Fn(&mut News)) {
        for entry in self.panes().values().filter(|entry| entry.window == window) {
            if let Some(post) = entry.post.upgrade() {
                post.put(&change);
            }
        }
    }

    pub(super) fn told(&self, pane: &str, value: &str) {
        let told = Told::read(value);
        let mut panes = self.panes();
        let Some(entry) = panes.get_mut(pane).filter(|entry| entry.told.as_ref() != Some(&told))
        else {
            return;
        };
        entry.told = Some(told.clone());
        if let Some(post) = entry.post.upgrade() {
            post.put(|news| news.told = Some(told));
        }
    }

    pub(super) fn all_gone(&self, gone: Gone) {
        for entry in self.panes().values() {
            if let Some(post) = entry.post.upgrade() {
                post.put(|news| {
                    news.gone.get_or_insert(gone);
                });
            }
        }
    }
}

/// True where tmux tells that a program has ended, and not how.
pub(super) fn is_unexplained(value: &str) -> bool {
    value.starts_with("1   ")
}

impl Told {
    /// `dead status signal in_mode title`, of which the second and third may be empty.
    pub(super) fn read(value: &str) -> Self {
        let mut fields = value.splitn(5, ' ');
        let mut next = || fields.next().unwrap_or_default();
        let (dead, status, signal, mode, title) = (next(), next(), next(), next(), next());
        // tmux knows that a pane is dead before it knows why, and then tells it once more.
        let ended = match (status.parse(), signal.parse()) {
            (_, Ok(signal)) => Some(Ended::Signal(signal)),
            (Ok(code), _) => Some(Ended::Code(code)),
            _ => None,
        };
        Self {
            dead: ended.filter(|_| dead == "1"),
            in_mode: !matches!(mode, "" | "0"),
            title: title.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, Posts, Told, is_unexplained};

    #[test]
    fn what_tmux_tells_of_a_pane_is_read() {
        let alive = Told::read("0   0 ◇  Ready (work)");
        assert_eq!(alive, Told { dead: None, in_mode: false, title: "◇  Ready (work)".into() });
        assert_eq!(Told::read("1 199  0 x").dead, Some(Ended::Code(199)));
        assert_eq!(Told::read("1  9 0 ").dead, Some(Ended::Signal(9)));
        assert_eq!(Told::read("1   0 x").dead, None);
        assert!(is_unexplained("1   0 x") && !is_unexplained("1 7  0 x"));
        assert!(!is_unexplained("1  9 0 x") && !is_unexplained("0   0 x"));
        assert!(Told::read("0   1 x").in_mode);
    }

    #[tokio::test]
    async fn what_nobody_reads_is_lost_and_said_to_be() {
        let posts = Posts::default();
        let mut watch = posts.watch("%1", "@1");
        posts.output("%1", b"one");
        posts.output("%2", b"of another");
        posts.output("%1", b" two");
        assert_eq!(watch.next().await.output, b"one two");
        posts.output("%1", &vec![b'x'; super::MOST]);
        posts.output("%1", b"y");
        let news = watch.next().await;
        assert!(news.lost && news.output.is_empty());
    }
}

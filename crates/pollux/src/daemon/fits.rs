//! Windows at the desk that were made to fit the screen of a client: given back when it goes, however it goes.

use super::guard::lock;
use pollux_agent::session::Command;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The sessions whose window was made to fit, and the connection that asked for it last.
#[derive(Debug, Clone, Default)]
pub struct Fits(Arc<Mutex<HashMap<String, uuid::Uuid>>>);

/// One connection of a client.
#[derive(Debug, Clone)]
pub struct Fitter {
    fits: Fits,
    id: uuid::Uuid,
}

impl Fits {
    /// One more connection.
    pub fn fitter(&self) -> Fitter {
        Fitter { fits: self.clone(), id: uuid::Uuid::new_v4() }
    }
}

impl Fitter {
    /// A command of this connection was done.
    pub fn did(&self, session: &str, command: &Command) {
        match command {
            Command::Fit { .. } => drop(lock(&self.fits.0).insert(session.to_owned(), self.id)),
            Command::GiveBack => drop(lock(&self.fits.0).remove(session)),
            _ => {}
        }
    }

    /// The connection is gone. Gives the sessions whose window is to be given back: not those that another has made fit since.
    pub fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        lock(&self.fits.0).retain(|session, by| {
            let own = *by == self.id;
            if own {
                left.push(session.clone());
            }
            !own
        });
        left
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Fits};

    #[test]
    fn who_goes_gives_back_what_is_still_his() {
        let fits = Fits::default();
        let (phone, tablet) = (fits.fitter(), fits.fitter());
        let fit = Command::Fit { columns: 50, rows: 30 };
        for session in ["a", "b", "c"] {
            phone.did(session, &fit);
        }
        phone.did("b", &Command::GiveBack);
        tablet.did("c", &fit);
        assert_eq!(phone.left(), ["a"]);
        assert!(phone.left().is_empty(), "once");
        assert_eq!(tablet.left(), ["c"]);
    }
}

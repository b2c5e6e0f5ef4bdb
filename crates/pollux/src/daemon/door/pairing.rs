//! Codes that let one device in: one use, five tries, two minutes or as long as the user has said.

use crate::api::Pairing;
use crate::daemon::guard::lock;
use jiff::{SignedDuration, Timestamp};
use rand::RngExt;
use std::sync::Mutex;
use subtle::ConstantTimeEq;

/// How long a code is good for, unless it is said.
const MINUTES: u8 = 2;
/// No code is good for longer.
pub const MOST_MINUTES: u8 = 60;
/// How often one may be wrong.
const TRIES: u32 = 5;
/// Letters and digits that nobody takes for others: 40 bits in eight of them.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH: usize = 8;

#[derive(Debug)]
struct Open {
    code: String,
    pairing: Pairing,
    until: Timestamp,
    tries: u32,
}

/// The code that is open, if one is. A new one takes the place of the one before.
#[derive(Debug, Default)]
pub struct Pairings(Mutex<Option<Open>>);

impl Pairings {
    /// Opens the door for one device, and gives the code with its end.
    pub fn open(&self, pairing: Pairing, now: Timestamp) -> (String, Timestamp) {
        let mut random = rand::rng();
        let letter = |_| char::from(LETTERS[random.random_range(0..LETTERS.len())]);
        let code: String = (0..LENGTH).map(letter).collect();
        let minutes = pairing.minutes.unwrap_or(MINUTES).min(MOST_MINUTES);
        let until = now.saturating_add(SignedDuration::from_mins(minutes.into())).unwrap_or(now);
        let open = Open { code: code.clone(), pairing, until, tries: 0 };
        *lock(&self.0) = Some(open);
        let shown = format!("{}-{}", code.get(..4).unwrap_or(""), code.get(4..).unwrap_or(""));
        (shown, until)
    }

    /// True while there is a code that could be guessed.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let open = lock(&self.0);
        open.as_ref().is_some_and(|open| now < open.until)
    }

    /// Uses a code. Whether it was wrong, late, or used before is nobody's business.
    pub fn claim(&self, code: &str, now: Timestamp) -> Option<Pairing> {
        let mut open = lock(&self.0);
        let held = open.as_mut()?;
        if now >= held.until {
            *open = None;
            return None;
        }
        let letters: String =
            code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase();
        if bool::from(letters.as_bytes().ct_eq(held.code.as_bytes())) {
            return open.take().map(|open| open.pairing);
        }
        held.tries += 1;
        if held.tries >= TRIES {
            *open = None;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Pairing, Pairings, Timestamp};
    use jiff::SignedDuration;

    fn open(pairings: &Pairings) -> String {
        let pairing = Pairing { name: "phone".into(), scopes: Vec::new(), minutes: None };
        pairings.open(pairing, Timestamp::UNIX_EPOCH).0
    }

    #[test]
    fn a_code_is_good_once_for_two_minutes_and_five_tries() {
        let now = Timestamp::UNIX_EPOCH;
        let pairings = Pairings::default();
        let code = open(&pairings);
        assert!(pairings.claim(&code.to_lowercase().replace('-', " "), now).is_some());
        assert!(pairings.claim(&code, now).is_none(), "once");

        let code = open(&pairings);
        let late = now + SignedDuration::from_secs(120);
        assert!(pairings.claim(&code, late).is_none(), "for two minutes");
        assert!(pairings.claim(&code, now).is_none(), "and then never again");

        let code = open(&pairings);
        for _ in 0..5 {
            assert!(pairings.claim("AAAA-AAAA", now).is_none());
        }
        assert!(pairings.claim(&code, now).is_none(), "five tries");

        let pairing = Pairing { name: "late".into(), scopes: Vec::new(), minutes: Some(60) };
        let (code, until) = pairings.open(pairing, now);
        assert_eq!(until, now + SignedDuration::from_hours(1));
        assert!(pairings.claim(&code, late).is_some(), "or as long as was said");

        let first = open(&pairings);
        let second = open(&pairings);
        assert!(pairings.claim(&first, now).is_none(), "a new code ends the one before");
        assert!(pairings.claim(&second, now).is_some());
    }
}

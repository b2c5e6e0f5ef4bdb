//! Streams that devices keep open: so many each, so that one of them does not take the seats of all.

use super::door::Guest;
use super::guard::lock;
use crate::trouble::Trouble;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// How many a device may have: a browser with many windows has a dozen.
const MOST: usize = 64;

/// The streams that each device has open.
#[derive(Debug, Clone, Default)]
pub struct Streams(Arc<Mutex<HashMap<String, usize>>>);

/// A stream that is open, until this is dropped. The user's own are not counted.
#[derive(Debug)]
pub struct Open(Option<(Streams, String)>);

impl Streams {
    /// Opens one more.
    pub fn open(&self, guest: &Guest) -> Result<Open, Trouble> {
        let Some(device) = guest.device.clone() else { return Ok(Open(None)) };
        let mut all = lock(&self.0);
        let open = all.entry(device.clone()).or_default();
        if *open >= MOST {
            let message = format!("this device already has {MOST} open streams");
            return Err(Trouble::refused("too_many_streams", message).hint("close some of them"));
        }
        *open += 1;
        Ok(Open(Some((self.clone(), device))))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some((streams, device)) = self.0.take() else { return };
        let mut all = lock(&streams.0);
        let left = all.get(&device).map_or(0, |open| open.saturating_sub(1));
        if left == 0 {
            all.remove(&device);
        } else {
            all.insert(device, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Guest, MOST, Streams};

    #[test]
    fn a_device_has_so_many_streams_and_no_other_is_shut_out_by_them() {
        let streams = Streams::default();
        let device = |name: &str| Guest { device: Some(name.into()), ..Guest::owner() };
        let mut open: Vec<_> = (0..MOST).map(|_| streams.open(&device("phone")).unwrap()).collect();
        assert!(streams.open(&device("phone")).is_err());
        drop(streams.open(&device("tablet")).unwrap());
        drop(streams.open(&Guest::owner()).unwrap());
        open.pop();
        open.push(streams.open(&device("phone")).unwrap());
        assert!(streams.open(&device("phone")).is_err());
        drop(open);
        assert!(streams.0.lock().unwrap().is_empty(), "who has none is not remembered");
    }
}

//! The door: who is let in, and what they may do. Everybody is asked, on loopback too.

mod headers;
mod pairing;
mod secret;
pub mod tls;

pub use headers::{Addresses, Refused, check};
pub use pairing::{MOST_MINUTES, Pairings};
pub use secret::{Secret, hash};

use super::log::{Log, add_device, devices, revoke, seen, unsubscribe_device};
use crate::api::{Device, Scope};
use crate::daemon::guard::lock;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

/// That a device was here is written down at most so often.
const SEEN: SignedDuration = SignedDuration::from_mins(1);
/// All that there is to be allowed.
const EVERYTHING: [Scope; 4] = [Scope::View, Scope::Prompt, Scope::Approve, Scope::Admin];

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The device's id; none for the user's own account on this machine.
    pub device: Option<String>,
    /// What it is called.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// True where it is known by a cookie, which a browser sends whoever made it ask.
    pub by_cookie: bool,
    /// Cancelled when it is let in no more.
    pub revoked: CancellationToken,
}

impl Guest {
    /// The user, on this machine.
    pub fn owner() -> Self {
        Self {
            device: None,
            name: "owner".into(),
            scopes: EVERYTHING.to_vec(),
            by_cookie: false,
            revoked: CancellationToken::new(),
        }
    }

    /// What it is known by: the device's id.
    pub fn id(&self) -> &str {
        self.device.as_deref().unwrap_or("owner")
    }

    /// True where it may do something.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// As the rules of a session know it.
    pub fn by(&self) -> pollux_agent::session::By {
        pollux_agent::session::By { name: self.name.clone(), remote: self.device.is_some() }
    }
}

#[derive(Debug, Clone)]
struct Known {
    device: Device,
    revoked: CancellationToken,
}

/// The devices that were let in, and the user's own token.
#[derive(Debug)]
pub struct Door {
    owner: [u8; 32],
    cookie: String,
    log: Log,
    devices: Mutex<HashMap<[u8; 32], Known>>,
    /// The codes that let a device in.
    pub pairings: Pairings,
}

impl Door {
    /// A door that opens to the user's own token, and to the devices in the log. `cookie` is the name of the cookie:
    /// cookies know no ports, and so each daemon has its own.
    pub fn new(log: Log, owner: &Secret, cookie: String) -> anyhow::Result<Self> {
        let mut known = HashMap::new();
        for (device, hash) in log.read_now(devices)? {
            if let Ok(hash) = <[u8; 32]>::try_from(hash) {
                known.insert(hash, Known { device, revoked: CancellationToken::new() });
            }
        }
        let pairings = Pairings::default();
        Ok(Self { owner: hash(owner.expose()), cookie, log, devices: Mutex::new(known), pairings })
    }

    /// The name of the cookie.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Who sends this request, by its `Authorization` or its cookie.
    pub fn guest(&self, headers: &HeaderMap) -> Option<Guest> {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = bearer.and_then(|value| value.strip_prefix("Bearer ")) {
            return self.knows(token.trim(), false);
        }
        self.knows(self.cookie_of(headers)?, true)
    }

    fn cookie_of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let cookies = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })
    }

    fn knows(&self, token: &str, by_cookie: bool) -> Option<Guest> {
        let hash = hash(token);
        if !by_cookie && bool::from(hash.ct_eq(&self.owner)) {
            return Some(Guest::owner());
        }
        let known = self.devices().get(&hash)?.clone();
        Some(Guest {
            device: Some(known.device.id),
            name: known.device.name,
            scopes: known.device.scopes,
            by_cookie,
            revoked: known.revoked,
        })
    }

    /// Lets a device in, and gives its secret, which is told to it once and kept nowhere.
    pub async fn admit(&self, device: Device) -> anyhow::Result<Secret> {
        let secret = Secret::random();
        let hash = hash(secret.expose());
        let row = device.clone();
        self.log.write(move |connection| add_device(connection, &row, &hash)).await?;
        let known = Known { device, revoked: CancellationToken::new() };
        self.devices().insert(hash, known);
        Ok(secret)
    }

    /// All devices, the newest first.
    pub fn list(&self) -> Vec<Device> {
        let mut all: Vec<Device> =
            self.devices().values().map(|known| known.device.clone()).collect();
        all.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.id.cmp(&b.id)));
        all
    }

    /// Lets a device in no more, and ends what it has open. False where there is none.
    pub async fn revoke(&self, id: &str) -> anyhow::Result<bool> {
        let owned = id.to_owned();
        let gone = self
            .log
            .write(move |connection| {
                unsubscribe_device(connection, &owned)?;
                revoke(connection, &owned)
            })
            .await?;
        self.devices().retain(|_, known| {
            if known.device.id == id {
                known.revoked.cancel();
            }
            known.device.id != id
        });
        Ok(gone)
    }

    /// A device was here.
    pub async fn seen(&self, guest: &Guest, now: Timestamp) {
        let Some(id) = guest.device.clone() else { return };
        let news = self.devices().values_mut().any(|known| {
            let due = known.device.seen_at.is_none_or(|seen| now.duration_since(seen) >= SEEN);
            let is = known.device.id == id && due;
            if is {
                known.device.seen_at = Some(now);
            }
            is
        });
        if news {
            let written = self.log.write(move |connection| seen(connection, &id, now)).await;
            if let Err(error) = written {
                tracing::warn!("{error:#}");
            }
        }
    }

    fn devices(&self) -> MutexGuard<'_, HashMap<[u8; 32], Known>> {
        lock(&self.devices)
    }
}

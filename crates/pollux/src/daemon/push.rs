//! Calls to devices whose app is closed: Web Push. What is told is closed with the device's own key; whoever carries it sees
//! its size and its time.

mod vapid;

pub use vapid::Vapid;

use super::hub::Hub;
use super::log::{self, Bell, Subscription};
use crate::api::{Call, CallKind, Summary};
use crate::daemon::guard::lock;
use crate::render::clean;
use crate::trouble::Trouble;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pollux_agent::model::SessionStatus;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use web_push_native::p256::PublicKey;
use web_push_native::{Auth, WebPushBuilder};

/// The services that browsers have their calls carried by. A device cannot have the daemon talk to anybody else.
const CARRIERS: [&str; 5] = [
    "fcm.googleapis.com",
    "push.services.mozilla.com",
    "push.apple.com",
    "notify.windows.com",
    "push.yandex.net",
];
/// How long a call waits for a device that is off.
const LASTS: Duration = Duration::from_hours(12);
/// How long a carrier may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How much of a question or an answer a call has.
const LONGEST: usize = 200;

/// Who is called, and who is looking.
#[derive(Debug)]
pub struct Push {
    vapid: Vapid,
    /// Made with the first call: it reads all certificates of the system.
    http: OnceLock<reqwest::Client>,
    /// How many clients of each device are to be seen on a screen: only these make a call needless.
    visible: Mutex<HashMap<String, usize>>,
}

impl Push {
    /// With this key.
    pub fn new(vapid: Vapid) -> Self {
        Self { vapid, http: OnceLock::new(), visible: Mutex::default() }
    }

    fn http(&self) -> anyhow::Result<&reqwest::Client> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        // Once for the process; the second time it is there already.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(PATIENCE);
        // A carrier sends nobody elsewhere.
        let http = http.redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(self.http.get_or_init(|| http))
    }

    /// The key that browsers want to know, as they want it.
    pub fn key(&self) -> String {
        self.vapid.public()
    }

    /// A client of a device is to be seen, or no more.
    pub fn looks(&self, device: &str, visible: bool) {
        let mut all = self.visible();
        let count = all.entry(device.to_owned()).or_default();
        *count = if visible { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            all.remove(device);
        }
    }

    fn visible(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        lock(&self.visible)
    }

    /// Calls the devices that nobody looks at. With `only`, this one, looked at or not.
    pub async fn call(&self, hub: &Hub, call: &Call, only: Option<&str>) -> anyhow::Result<usize> {
        let all = hub.log().read(log::subscriptions).await?;
        let mut called = 0;
        for subscription in all {
            let looks = self.visible().contains_key(&subscription.device);
            if only.map_or(looks, |only| only != subscription.device) {
                continue;
            }
            match self.send(&subscription, call).await {
                Ok(true) => called += 1,
                Ok(false) => {
                    let gone = subscription.endpoint;
                    hub.log().write(move |connection| log::unsubscribe(connection, &gone)).await?;
                }
                Err(error) => tracing::warn!("could not send a push notification: {error:#}"),
            }
        }
        Ok(called)
    }

    /// False where nobody is there any more.
    async fn send(&self, to: &Subscription, call: &Call) -> anyhow::Result<bool> {
        let request = self.vapid.request(to, &serde_json::to_vec(call)?)?;
        let (parts, body) = request.into_parts();
        let mut post = self.http()?.post(parts.uri.to_string()).body(body);
        for (name, value) in &parts.headers {
            post = post.header(name, value);
        }
        // Whoever knows the address can call the device: it is in no journal.
        let sent = post.send().await.map_err(reqwest::Error::without_url);
        let status = sent.context("could not reach the push service")?.status();
        match status.as_u16() {
            200..=299 => Ok(true),
            404 | 410 => Ok(false),
            other => anyhow::bail!("the push service answered with status {other}"),
        }
    }
}

/// What a browser gives to those who want to call it.
pub fn checked(endpoint: &str, p256dh: &str, auth: &str) -> Result<(), Trouble> {
    if !is_carrier(endpoint) {
        let message = "the endpoint does not belong to a known browser push service";
        return Err(Trouble::refused("wrong_request", message));
    }
    keys(p256dh, auth).map(drop).map_err(|_error| {
        Trouble::refused("wrong_request", "the keys of this push subscription are invalid")
    })
}

/// Whether an address leads to a carrier, as the one reads it who will send there; and is written as browsers write it, so
/// that nobody reads it in another way.
fn is_carrier(endpoint: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(endpoint) else { return false };
    let known = |host: &str| {
        CARRIERS.iter().any(|carrier| host == *carrier || host.ends_with(&format!(".{carrier}")))
    };
    let plain = url.scheme() == "https" && url.port().is_none() && url.as_str() == endpoint;
    let nobody = url.username().is_empty() && url.password().is_none();
    plain && nobody && url.host_str().is_some_and(known)
}

fn keys(p256dh: &str, auth: &str) -> anyhow::Result<(PublicKey, Auth)> {
    let key = PublicKey::from_sec1_bytes(&URL_SAFE_NO_PAD.decode(p256dh.trim_end_matches('='))?)?;
    let auth = URL_SAFE_NO_PAD.decode(auth.trim_end_matches('='))?;
    anyhow::ensure!(auth.len() == 16, "the auth secret must have 16 bytes");
    Ok((key, Auth::clone_from_slice(&auth)))
}

fn closed(to: &Subscription, words: &[u8]) -> anyhow::Result<axum::http::Request<Vec<u8>>> {
    let (key, auth) = keys(&to.p256dh, &to.auth)?;
    let builder = WebPushBuilder::new(to.endpoint.parse()?, key, auth).with_valid_duration(LASTS);
    Ok(builder.build(words)?)
}

/// Watches all sessions, and calls where something happened that somebody waits for.
pub async fn watch(hub: Hub, push: Arc<Push>, stop: CancellationToken) {
    let bell = Arc::<Bell>::default();
    hub.watch(&bell);
    let mut known: HashMap<String, Arc<Summary>> =
        hub.list().into_iter().map(|summary| (summary.id.clone(), summary)).collect();
    // The sessions whose question somebody was called for.
    let mut asked: HashSet<String> = HashSet::new();
    loop {
        let dirty = tokio::select! {
            () = stop.cancelled() => return,
            dirty = bell.heard() => dirty,
        };
        for id in dirty {
            let Ok((_, feed)) = hub.feed(&id) else { continue };
            let now = feed.summary();
            let before = known.insert(id.to_string(), Arc::clone(&now));
            let settled = is_answered(&now) && asked.remove(&*id);
            let news = news(before.as_deref(), &now);
            let Some(call) = news.or_else(|| settled.then(|| answered(&now))) else { continue };
            let called = tokio::select! {
                // A carrier that does not answer holds up no end.
                () = stop.cancelled() => return,
                called = push.call(&hub, &call, None) => called,
            };
            match called {
                Ok(called) if called > 0 && call.kind == CallKind::Question => {
                    asked.insert(id.to_string());
                }
                Ok(_) => {}
                Err(error) => tracing::warn!("{error:#}"),
            }
        }
    }
}

#[derive(Deserialize)]
struct Asked {
    id: String,
    text: String,
}

/// True where nothing waits for an answer, or all answers are on their way.
fn is_answered(now: &Summary) -> bool {
    now.questions.iter().all(|open| open.sent.is_some())
}

/// Takes back a call for a question: it stands where that one stood.
fn answered(now: &Summary) -> Call {
    let title = now.title.clone().unwrap_or_else(|| "Gemini".to_owned());
    let body = "Question answered".to_owned();
    Call { kind: CallKind::Answered, title, body, session_id: Some(now.id.clone()) }
}

/// What somebody who does not look wants to know, if anything.
fn news(before: Option<&Summary>, now: &Summary) -> Option<Call> {
    // A session may ask something before it was ever heard of.
    let nothing = Summary::empty(now.created_at);
    let before = before.unwrap_or(&nothing);
    let asked = |summary: &Summary| -> Vec<Asked> {
        let questions = summary.questions.iter();
        questions.filter_map(|open| serde_json::from_str(open.question.get()).ok()).collect()
    };
    let old = asked(before);
    let new = asked(now).into_iter().find(|new| old.iter().all(|old| old.id != new.id));
    let worked = matches!(before.status, SessionStatus::Working | SessionStatus::Waiting);
    let activity = || now.activity.clone().unwrap_or_default();
    let (kind, body) = if let Some(asked) = new {
        (CallKind::Question, asked.text)
    } else if worked && now.status == SessionStatus::Idle {
        (CallKind::Done, activity())
    } else if worked && matches!(now.status, SessionStatus::Error | SessionStatus::Exited) {
        (CallKind::Failed, activity())
    } else if before.stalled_since.is_none() && now.stalled_since.is_some() {
        (CallKind::Stalled, "no output for a while".to_owned())
    } else {
        return None;
    };
    let title = now.title.clone().unwrap_or_else(|| "Gemini".to_owned());
    let body = clean(&body).chars().take(LONGEST).collect();
    Some(Call { kind, title, body, session_id: Some(now.id.clone()) })
}

#[cfg(test)]
mod tests {
    use super::{Summary, checked, news};
    use crate::api::{CallKind, OpenQuestion};
    use jiff::Timestamp;
    use pollux_agent::model::SessionStatus;

    #[test]
    fn a_device_is_called_when_a_turn_is_over_and_not_when_it_begins() {
        let of = |status| Summary { status, ..Summary::empty(Timestamp::UNIX_EPOCH) };
        let (idle, working) = (of(SessionStatus::Idle), of(SessionStatus::Working));
        assert!(news(Some(&idle), &working).is_none());
        assert!(news(None, &idle).is_none());
        assert_eq!(news(Some(&working), &idle).unwrap().kind, CallKind::Done);
        let gone = of(SessionStatus::Exited);
        assert_eq!(news(Some(&working), &gone).unwrap().kind, CallKind::Failed);
        assert!(news(Some(&idle), &gone).is_none());
    }

    #[test]
    fn a_device_is_called_for_a_question_that_was_open_when_its_session_was_seen_first() {
        let question = serde_json::json!({ "id": "q1", "text": "May I?" });
        let question = serde_json::value::to_raw_value(&question).unwrap();
        let mut now = Summary::empty(Timestamp::UNIX_EPOCH);
        now.status = SessionStatus::Waiting;
        now.questions = vec![OpenQuestion { question, shown: String::new(), sent: None }];
        assert_eq!(news(None, &now).unwrap().body, "May I?");
        assert!(news(Some(&now), &now).is_none());
    }

    #[test]
    fn the_daemon_talks_to_carriers_and_to_nobody_else() {
        let key = "BLn9b-VR0ca83knDNZ32dCHGyjJp-1riX9ZTN40MqV8K_LpQmLqxC_DoHvqvFXO_nGdAB4W9dogZb_sM-uV4JbY";
        let auth = "_ordMnz7uTCmrpBTeUV4Bw";
        assert!(checked("https://fcm.googleapis.com/fcm/send/x", key, auth).is_ok());
        assert!(checked("https://updates.push.services.mozilla.com/x", key, auth).is_ok());
        for endpoint in [
            "http://fcm.googleapis.com/x",
            "https://127.0.0.1/x",
            "https://evil.example/fcm.googleapis.com",
            "https://fcm.googleapis.com.evil.example/",
            "https://fcm.googleapis.com@evil.example/",
            "https://evil.example?.fcm.googleapis.com/x",
            "https://127.0.0.1:8443?.push.apple.com",
            "https://evil.example#.fcm.googleapis.com/x",
            "https://evil.example\\.fcm.googleapis.com/x",
            "https://ada@fcm.googleapis.com/x",
            "https://fcm.googleapis.com:8443/x",
        ] {
            assert!(checked(endpoint, key, auth).is_err(), "{endpoint}");
        }
        assert!(checked("https://fcm.googleapis.com/x", "", auth).is_err());
        assert!(checked("https://fcm.googleapis.com/x", key, "short").is_err());
    }
}

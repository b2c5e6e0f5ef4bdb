//! Calls to a device whose app is closed, carried by a service of our own on loopback: what arrives there, and that only
//! the device can read it.

use super::house::{House, wait_until};
use super::told::question;
use super::told::{Stagehand, turn_ended};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use pollux::daemon::log::{Subscription, subscribe};
use pollux_agent::model::{EventKind, Text};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use web_push_native::p256::SecretKey;
use web_push_native::{Auth, decrypt};

type Carried = (HeaderMap, Bytes);

/// A carrier, its origin, and what it was given.
struct Carrier {
    origin: String,
    carried: mpsc::Receiver<Carried>,
    _task: JoinSet<()>,
}

async fn take(
    State(tell): State<mpsc::Sender<Carried>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    tell.send((headers, body)).await.unwrap();
    StatusCode::CREATED
}

impl Carrier {
    async fn open() -> Self {
        let (tell, carried) = mpsc::channel(16);
        let app = Router::new().fallback(take).with_state(tell);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { origin, carried, _task: task }
    }

    async fn next(&mut self) -> Carried {
        let waited = tokio::time::timeout(Duration::from_mins(1), self.carried.recv()).await;
        waited.expect("a device was called").unwrap()
    }
}

/// A browser's own key and secret.
struct Browser {
    key: SecretKey,
    auth: [u8; 16],
}

impl Browser {
    fn subscription(&self, endpoint: String) -> Subscription {
        let point = self.key.public_key().to_sec1_bytes();
        Subscription {
            device: "owner".into(),
            endpoint,
            p256dh: URL_SAFE_NO_PAD.encode(point),
            auth: URL_SAFE_NO_PAD.encode(self.auth),
        }
    }

    fn read(&self, body: &Bytes) -> Value {
        let auth = Auth::clone_from_slice(&self.auth);
        let plain = decrypt(body.to_vec(), &self.key, &auth).unwrap();
        serde_json::from_slice(&plain).unwrap()
    }
}

/// What the daemon says that it is, after its signature was checked with the key that it gives to browsers.
fn claims(headers: &HeaderMap, key: &str) -> Value {
    let given = headers["authorization"].to_str().unwrap().strip_prefix("vapid ").unwrap();
    let (token, own) = given.split_once(", ").unwrap();
    assert_eq!(own, format!("k={key}"));
    let (signed, signature) = token.strip_prefix("t=").unwrap().rsplit_once('.').unwrap();
    let key = VerifyingKey::from_sec1_bytes(&URL_SAFE_NO_PAD.decode(key).unwrap()).unwrap();
    let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
    serde_json::from_slice(&claims).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_signed_by_the_daemon_and_read_by_nobody_but_the_device() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let mut carrier = Carrier::open().await;
    let browser = Browser { key: SecretKey::from_slice(&[7; 32]).unwrap(), auth: [9; 16] };
    let subscription = browser.subscription(format!("{}/device/1", carrier.origin));
    house.api.hub.log().write(move |log| subscribe(log, &subscription)).await.unwrap();
    let key = house.get("/api/v1/push/key").await["key"].as_str().unwrap().to_owned();

    let id = house.begin(json!({ "cwd": house.directory.path(), "prompt": "go" })).await;
    wait_until("the agent is there", || hand.is_there(&id)).await;
    hand.say(&id, EventKind::TurnStarted { prompt: Text::from("go") }).await;
    hand.say(&id, question("git push")).await;
    let (headers, body) = carrier.next().await;
    assert_eq!(headers["content-encoding"], "aes128gcm");
    assert_eq!(headers["urgency"], "high");
    let claims = claims(&headers, &key);
    assert_eq!(claims["aud"], carrier.origin);
    assert!(claims["exp"].as_i64().unwrap() > jiff::Timestamp::now().as_second());
    assert!(!String::from_utf8_lossy(&body).contains("git push"), "it is closed");
    let call = browser.read(&body);
    assert_eq!((&call["kind"], &call["body"]), (&json!("question"), &json!("git push")));
    assert_eq!(call["session_id"], id);
    let other = Browser { key: SecretKey::from_slice(&[8; 32]).unwrap(), auth: [9; 16] };
    let auth = Auth::clone_from_slice(&other.auth);
    decrypt(body.to_vec(), &other.key, &auth).unwrap_err();

    // Somebody answers at the desk: the call is taken back.
    let answer = json!({ "type": "answer", "question_id": "q1", "choice": "yes" });
    let body = json!({ "id": "a1", "command": answer });
    let (status, _) = house.post(&format!("/api/v1/sessions/{id}/commands"), body).await;
    assert_eq!(status, 200);
    let (_, body) = carrier.next().await;
    assert_eq!(browser.read(&body)["kind"], "answered");
    hand.say(&id, turn_ended()).await;
    let (_, body) = carrier.next().await;
    assert_eq!(browser.read(&body)["kind"], "done");
    house.close().await;
}

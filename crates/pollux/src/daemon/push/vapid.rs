//! Who calls: a key of the daemon's own, by which carriers know it again (RFC 8292).

use super::{LASTS, closed};
use crate::daemon::log::Subscription;
use crate::daemon::own_file;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use rand::Rng;
use serde_json::json;
use std::fs;
use std::io;
use std::path::Path;

/// Carriers want to know whom to write to about calls; there is nobody but the user.
const CONTACT: &str = "mailto:pollux@example.com";

/// The daemon's key.
#[derive(Clone)]
pub struct Vapid(SigningKey);

impl std::fmt::Debug for Vapid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Vapid").field(&self.public()).finish()
    }
}

impl Vapid {
    /// The key in a file, which is made where there is none. Nobody but the user can read it.
    pub fn in_file(path: &Path) -> anyhow::Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => match decoded(&text) {
                Some(key) => return Ok(Self(key)),
                // Cut short by a full disk, or by a power cut: nobody can be called with it.
                None => fs::remove_file(path)?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).context(format!("could not read {}", path.display())),
        }
        let key = random();
        own_file::make(path, URL_SAFE_NO_PAD.encode(key.to_bytes()).as_bytes())?;
        Ok(Self(key))
    }

    /// The public half, as browsers want it.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.verifying_key().to_encoded_point(false).as_bytes())
    }

    /// The request that makes a carrier call a device.
    pub fn request(
        &self,
        to: &Subscription,
        words: &[u8],
    ) -> anyhow::Result<axum::http::Request<Vec<u8>>> {
        let mut request = closed(to, words)?;
        let uri = request.uri();
        let (scheme, host) = (uri.scheme_str().unwrap_or("https"), uri.authority());
        let audience = format!("{scheme}://{}", host.context("the endpoint has no host")?);
        let until = Timestamp::now().as_second() + i64::try_from(LASTS.as_secs()).unwrap_or(0);
        let head = json!({ "typ": "JWT", "alg": "ES256" }).to_string();
        let claims = json!({ "aud": audience, "exp": until, "sub": CONTACT }).to_string();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
        let signature: Signature = self.0.sign(signed.as_bytes());
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()));
        let authorization = format!("vapid t={token}, k={}", self.public());
        request.headers_mut().insert("authorization", authorization.parse()?);
        request.headers_mut().insert("urgency", "high".parse()?);
        Ok(request)
    }
}

fn decoded(text: &str) -> Option<SigningKey> {
    SigningKey::from_slice(&URL_SAFE_NO_PAD.decode(text.trim()).ok()?).ok()
}

/// Nearly every 32 bytes are a key; those that are none are thrown again.
fn random() -> SigningKey {
    loop {
        let mut bytes = [0_u8; 32];
        rand::rng().fill_bytes(&mut bytes);
        if let Ok(key) = SigningKey::from_slice(&bytes) {
            return key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Subscription, Vapid, random};
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use p256::ecdsa::signature::Verifier;
    use p256::ecdsa::{Signature, VerifyingKey};
    use web_push_native::{Auth, decrypt, p256::SecretKey};

    #[test]
    fn a_key_that_was_cut_short_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vapid");
        for cut in ["", "abc"] {
            std::fs::write(&path, cut).unwrap();
            let vapid = Vapid::in_file(&path).unwrap();
            assert_eq!(Vapid::in_file(&path).unwrap().public(), vapid.public());
        }
    }

    #[test]
    fn what_is_told_is_read_by_the_device_alone_and_signed_by_the_daemon() {
        let directory = tempfile::tempdir().unwrap();
        let vapid = Vapid::in_file(&directory.path().join("vapid")).unwrap();
        assert_eq!(
            Vapid::in_file(&directory.path().join("vapid")).unwrap().public(),
            vapid.public()
        );
        let device = SecretKey::from_slice(&random().to_bytes()).unwrap();
        let point = VerifyingKey::from(device.public_key()).to_encoded_point(false);
        let to = Subscription {
            device: "d".into(),
            endpoint: "https://fcm.googleapis.com/fcm/send/abc".into(),
            p256dh: URL_SAFE_NO_PAD.encode(point.as_bytes()),
            auth: URL_SAFE_NO_PAD.encode([7_u8; 16]),
        };
        let request = vapid.request(&to, b"it asks").unwrap();
        let words = decrypt(request.body().clone(), &device, &Auth::from([7_u8; 16])).unwrap();
        assert_eq!(words, b"it asks");
        let header = request.headers()["authorization"].to_str().unwrap().to_owned();
        let token = header.strip_prefix("vapid t=").unwrap().split(',').next().unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let known = URL_SAFE_NO_PAD.decode(vapid.public()).unwrap();
        VerifyingKey::from_sec1_bytes(&known)
            .unwrap()
            .verify(signed.as_bytes(), &Signature::from_slice(&signature).unwrap())
            .unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["aud"], "https://fcm.googleapis.com");
    }
}

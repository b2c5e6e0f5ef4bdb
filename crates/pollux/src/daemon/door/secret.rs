//! Secrets: made of random bytes, never shown by accident.

use crate::daemon::own_file;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng;
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// A secret. It has no text unless one asks for it by name.
#[derive(Clone)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// 256 random bits.
    pub fn random() -> Self {
        let mut bytes = [0_u8; 32];
        rand::rng().fill_bytes(&mut bytes);
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The text of it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The secret in a file, which is made where there is none. Nobody but the user can read it.
    pub fn in_file(path: &Path) -> io::Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) if text.trim().len() >= 40 => return Ok(Self(text.trim().to_owned())),
            Ok(_) => fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let secret = Self::random();
        own_file::make(path, secret.0.as_bytes())?;
        Ok(secret)
    }
}

/// What is kept of a secret. It is long and random, and so needs no salt.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

//! A certificate of our own, for those who have none: its fingerprint is in the pairing code.

use crate::daemon::own_file;
use crate::trouble::Trouble;
use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What a listener needs to speak TLS.
#[derive(Debug, Clone)]
pub struct Tls {
    /// For the listener.
    pub config: Arc<ServerConfig>,
    /// The SHA-256 of the certificate, as browsers show it.
    pub fingerprint: String,
}

fn unreadable(file: &Path) -> Trouble {
    let message = format!("could not read {}", file.display());
    let hint = "`--certificate` and `--key` must name PEM files; without them Pollux creates its own certificate";
    Trouble::failed("no_tls", message).hint(hint)
}

/// The certificate in two files, which may be somebody's own.
pub fn from_files(certificate: &Path, key: &Path) -> anyhow::Result<Tls> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .with_context(|| unreadable(certificate))?
        .collect::<Result<_, _>>()
        .with_context(|| unreadable(certificate))?;
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| unreadable(key))?;
    let first = chain.first().context("the file contains no certificate");
    let first = first.with_context(|| unreadable(certificate))?;
    let fingerprint = fingerprint(first);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| unreadable(certificate))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Tls { config: Arc::new(config), fingerprint })
}

/// The certificate that we made ourselves for these names, and make where there is none.
pub fn own(directory: &Path, names: &[String]) -> anyhow::Result<Tls> {
    let (certificate, key, list) =
        (directory.join("cert.pem"), directory.join("key.pem"), directory.join("names"));
    let wanted = names.join("\n");
    let known = fs::read_to_string(&list).is_ok_and(|known| known == wanted);
    if !known || !certificate.exists() || !key.exists() {
        fs::create_dir_all(directory)?;
        let made = rcgen::generate_simple_self_signed(names.to_vec())?;
        write(&certificate, made.cert.pem().as_bytes())?;
        write(&key, made.signing_key.serialize_pem().as_bytes())?;
        write(&list, wanted.as_bytes())?;
    }
    from_files(&certificate, &key)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(own_file::make(path, bytes)?)
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate.as_ref());
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

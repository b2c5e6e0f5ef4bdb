//! Who is let in, and who did what: pair, devices, audit.

use crate::api::{AuditEntry, Device, Devices as All, Health, Pair as Code, Pairing, Scope};
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::daemon::instance::Address;
use crate::render::clean;
use crate::report;
use crate::report::human::{ago, now};
use crate::report::table::{Align, Table, printable};
use crate::trouble::Trouble;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde::Deserialize;
use std::io::Write;
use std::process::ExitCode;

/// Pair a browser or phone
///
/// Prints a QR code, and a short code to type in if the device cannot scan it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The code works once and allows five attempts. It expires after 2 minutes, or after `--minutes`. A daemon that listens \
    on localhost is reachable only from this machine. For a phone, use `pollux serve --bind 0.0.0.0`, or a tunnel with \
    `--behind-proxy`.\n\nBrowsers warn once about the self-signed certificate: compare its fingerprint. Notifications and \
    installing the app need a certificate that the phone trusts."
)]
pub(crate) struct Pair {
    /// Name of the device
    #[arg(long, default_value = "browser")]
    name: String,
    /// What the device may do
    #[arg(long, value_delimiter = ',', default_value = "view,prompt,approve")]
    scopes: Vec<Scope>,
    /// Minutes until the code expires, up to 60
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=60))]
    minutes: u8,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn pair(args: Pair, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let pairing = Pairing { name: args.name, scopes: args.scopes, minutes: Some(args.minutes) };
    let pair: Code = client.post("/api/v1/pairings", &pairing).await?;
    if args.json {
        report::json(&pair)?;
        return Ok(ExitCode::SUCCESS);
    }
    door(&pair)?;
    if pair.urls.iter().all(|url| Address::is_near(url)) {
        report::note(
            "this daemon only listens on localhost; to pair a phone, restart it: `pollux serve down`, then \
             `pollux serve --bind 0.0.0.0 --detach`; set `bind` in config.toml to make this permanent",
        );
    }
    report::quiet(&format!("valid for one use, expires in {}", minutes(args.minutes)));
    Ok(ExitCode::SUCCESS)
}

fn minutes(count: u8) -> String {
    if count == 1 { "1 minute".to_owned() } else { format!("{count} minutes") }
}

/// Shows the way in: a picture, the address behind it, and the code.
pub(crate) fn door(pair: &Code) -> anyhow::Result<()> {
    let far = |url: &&String| !Address::is_near(url);
    let mut out = report::out();
    if let Some(url) = pair.urls.iter().find(far).or_else(|| pair.urls.first()) {
        let picture = QrCode::new(url.as_bytes())?.render::<Dense1x2>().quiet_zone(true).build();
        writeln!(out, "{picture}\n\n  {url}")?;
    }
    writeln!(out, "  code  {}", pair.code)?;
    if let Some(fingerprint) = &pair.fingerprint {
        writeln!(out, "  certificate (SHA-256)  {fingerprint}")?;
        writeln!(
            out,
            "  the self-signed certificate works for viewing; notifications and installing need a trusted one"
        )?;
    }
    out.flush()?;
    Ok(())
}

/// List paired devices, or revoke one
#[derive(Debug, clap::Args)]
pub(crate) struct Devices {
    /// Revoke this device (ID, unique prefix, or name)
    #[arg(long, value_name = "ID|NAME")]
    revoke: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn devices(args: Devices, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let all: All = client.get("/api/v1/devices").await?;
    match args.revoke {
        Some(wanted) => {
            let device = revoke(&client, &all.devices, &wanted).await?;
            if args.json {
                report::json(&[device])?;
            } else {
                report::note(&format!("revoked {}", clean(&device.name)));
            }
        }
        None if args.json => report::json(&all.devices)?,
        None => list(&all.devices)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke<'d>(
    client: &Client,
    all: &'d [Device],
    wanted: &str,
) -> anyhow::Result<&'d Device> {
    let begins = |id: &str| !wanted.is_empty() && id.starts_with(wanted);
    let is = |device: &&Device| begins(&device.id) || device.name == wanted;
    let found: Vec<&Device> = all.iter().filter(is).collect();
    let [device] = found.as_slice() else {
        let message = match found.len() {
            0 => format!("no device matches `{wanted}`"),
            many => format!("`{wanted}` matches {many} devices"),
        };
        let trouble = Trouble::refused("unknown_device", message);
        return Err(trouble.hint("`pollux devices` lists device IDs").into());
    };
    let _gone: Health = client.delete(&format!("/api/v1/devices/{}", escaped(&device.id))).await?;
    Ok(device)
}

fn table(devices: &[Device]) -> Table {
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("name", Align::Flexible),
        ("scopes", Align::Left),
        ("last seen", Align::Left),
    ])
    .less_needed(&["last seen", "scopes"]);
    for device in devices {
        let scopes: Vec<String> =
            device.scopes.iter().map(|scope| format!("{scope:?}").to_lowercase()).collect();
        let seen = device.seen_at.map(|seen| ago(seen.as_millisecond(), now()));
        table.row(vec![
            device.id.get(..8).unwrap_or(&device.id).into(),
            device.name.clone().into(),
            scopes.join(", ").into(),
            seen.unwrap_or_else(|| "never".to_owned()).into(),
        ]);
    }
    table
}

fn list(devices: &[Device]) -> anyhow::Result<()> {
    let mut out = report::out();
    table(devices).write(&mut out, report::width().or(Some(120)))?;
    out.flush()?;
    if devices.is_empty() {
        report::note("no paired devices; add one with `pollux pair`");
    }
    Ok(())
}

/// Show the audit log: answers, prompts, mode changes, devices
#[derive(Debug, clap::Args)]
pub(crate) struct Audit {
    /// Number of entries to show
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct Entries {
    entries: Vec<AuditEntry>,
}

pub(super) async fn audit(args: Audit, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let all: Entries = client.get(&format!("/api/v1/audit?limit={}", args.limit)).await?;
    let mut out = report::raw();
    for entry in &all.entries {
        if args.json {
            report::line(&mut out, entry)?;
            continue;
        }
        let session = entry.session_id.as_deref().map_or_else(|| "-".to_owned(), printable);
        let session = session.get(..8).unwrap_or(&session);
        let (at, device) = (entry.at, clean(&entry.device));
        let detail = entry.detail.to_string();
        writeln!(out, "{at:.0}  {device}  {}  {session}  {}", entry.action, clean(&detail))?;
    }
    Ok(out.flush().map(|()| ExitCode::SUCCESS)?)
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::api::Device;
    use serde_json::json;

    #[test]
    fn devices_fit_a_narrow_window() {
        let device = json!({
            "id": "0123456789abcdef", "name": "the telephone in the kitchen", "scopes": ["view", "prompt", "approve"],
            "created_at": "2026-11-15T18:00:00Z", "paired_at": "2026-11-15T18:00:00Z",
        });
        let device: Device = serde_json::from_value(device).unwrap();
        let mut out = Vec::new();
        table(&[device]).write(&mut out, Some(40)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let text = crate::render::clean(&text);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains("01234567  the telephone"), "{text}");
    }
}

//! Writes the references: `cargo run --example docs -- docs`. `cargo xtask docs` calls it.

fn main() -> std::io::Result<()> {
    let to = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "docs".to_owned()));
    std::fs::write(to.join("events.md"), pollux::api::reference::events())?;
    std::fs::write(to.join("api-reference.md"), pollux::api::reference::api())
}

//! Writes the TypeScript types of the API to a file: what `cargo xtask types` runs.

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::write(path, pollux::api::typescript::file())
}

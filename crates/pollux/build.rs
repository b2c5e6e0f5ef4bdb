//! Links the program for a fixed address where that is possible. The loader then has no thirty thousand addresses to put
//! right at each start, which is most of what `pollux hook` would cost; Gemini CLI waits for it at every tool.
#![expect(clippy::disallowed_methods, reason = "this is how a build script hears and speaks")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `CARGO_CFG_…` is how cargo tells a build script what it builds for.
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let env = std::env::var("CARGO_CFG_TARGET_ENV").unwrap_or_default();
    if os == "linux" && env == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

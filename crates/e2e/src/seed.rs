//! Randomness that can be repeated: every random test takes its generator from here.

use crate::package::say;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::env;

/// The variable that sets the seed: `POLLUX_TEST_SEED=7 cargo xtask test NAME`.
pub const SEED_ENV: &str = "POLLUX_TEST_SEED";

/// A random number generator. Prints its seed, which the test runner shows when the test fails.
pub fn seeded_rng() -> StdRng {
    let seed = seed();
    say(&format!("repeat with {SEED_ENV}={seed}"));
    StdRng::seed_from_u64(seed)
}

/// The seed that was asked for, or a random one.
#[expect(clippy::disallowed_methods, reason = "set by the person who repeats a test")]
pub fn seed() -> u64 {
    let given = env::var(SEED_ENV).ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| rand::rng().random_range(0..1_000_000))
}

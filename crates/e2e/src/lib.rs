//! Helpers for the tests that need more than one crate.

pub mod home;

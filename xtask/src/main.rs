//! All automation: `cargo xtask <command>`.

fn main() {}

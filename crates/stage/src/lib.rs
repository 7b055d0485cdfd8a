//! For tests only: private servers on free ports, and folders that vanish.
//!
//! Everything lies under `target/tmp` and ends with the test process, however that ends. Services that
//! run on the machine already are left alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod folder;
mod postgres;
mod process;
mod redis;

pub use self::folder::Folder;
pub use self::postgres::Postgres;
pub use self::redis::Redis;

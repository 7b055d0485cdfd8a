//! The fake on real sockets, with clients that see every byte.

#![allow(clippy::unwrap_used, reason = "a test says by panicking")]

mod client;
mod faults;
mod formats;
mod http2;
mod requests;
mod scripts;

use std::time::Duration;

/// Long enough for any state on a busy machine; nothing waits for it but a test that fails.
const LIMIT: Duration = Duration::from_secs(20);

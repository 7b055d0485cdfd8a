//! The file that `steadfast config init` writes.

/// A commented file to start from; a test keeps it loading.
pub const STARTER: &str = include_str!("starter.toml");

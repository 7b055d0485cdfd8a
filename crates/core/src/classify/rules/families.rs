//! Families of phrases that many providers and libraries share, one file per kind.

pub(super) mod auth;
pub(super) mod cancel;
pub(super) mod context;
pub(super) mod exceptions;
pub(super) mod model;
pub(super) mod network;
pub(super) mod output;
pub(super) mod overload;
pub(super) mod quota;
pub(super) mod rate;
pub(super) mod request;
pub(super) mod safety;
pub(super) mod server;
pub(super) mod state;
pub(super) mod stream;
pub(super) mod timeout;

//! The HTTP face: what clients of model APIs already speak, in front of the engine.
//!
//! It turns a request into a [`Call`](steadfast_engine::Call) and a
//! [`Reply`](steadfast_engine::Reply) into a response: paths, limits, who is calling, and errors in
//! the caller's own format. It holds no policy and knows no provider.

mod caller;
mod cores;
mod edge;
mod joined;
mod own;
mod prefix;
mod proxy;
mod room;
mod server;
mod workers;

pub use server::{BindError, CONNECTIONS_MAX, Gateway, Settings};
pub use workers::Workers;

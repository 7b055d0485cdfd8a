//! What is kept, and what replicas share.

pub mod shared;

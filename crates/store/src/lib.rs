//! What is kept, and what replicas share.

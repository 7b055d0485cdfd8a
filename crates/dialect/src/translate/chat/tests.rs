//! Tricky things.

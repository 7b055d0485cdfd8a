//! The store on real databases: one contract for both.

mod contract;
mod story;

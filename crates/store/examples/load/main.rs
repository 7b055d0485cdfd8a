//! Load for the store: what `cargo xtask bench store` runs as a process of its own.
//!
//! ```text
//! load rate FILE SECONDS       events a second into a new file
//! load fill FILE EVENTS        so many events over thirty days
//! load pages FILE              what the pages of the dashboard cost, as JSON
//! load tasks FILE|postgres N   what listing and leasing cost while so many tasks wait, as JSON
//! load export FILE FOLDER      every table in every format
//! ```

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a tool for measurements and tests")]

mod measure;
mod traffic;

use steadfast_store::{Address, Options, Store};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["rate", file, seconds] => measure::rate(&open(file), seconds.parse().unwrap()).await,
        ["fill", file, events] => measure::fill(&open(file), events.parse().unwrap()).await,
        ["pages", file] => measure::pages(&open(file)).await,
        ["tasks", "postgres", count] => {
            // A server of its own, which ends with this.
            let server = steadfast_stage::Postgres::start();
            measure::tasks(&open(&server.database()), count.parse().unwrap()).await;
        }
        ["tasks", file, count] => measure::tasks(&open(file), count.parse().unwrap()).await,
        ["export", file, folder] => measure::export(&open(file), folder).await,
        _ => panic!("see the head of examples/load/main.rs"),
    }
}

fn open(address: &str) -> Store {
    let address = if address.starts_with("postgres") { Address::postgres(address) } else { Address::sqlite(address) };
    Store::open(Options::new(address, 365)).unwrap()
}

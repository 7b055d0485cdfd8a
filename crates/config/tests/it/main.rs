//! What people see of a configuration: problems, layers, what is in force.

#![allow(clippy::unwrap_used, reason = "a test says by panicking")]

mod errors;
mod hostile;
mod layers;
mod meaning;
mod round_trip;
mod schema;

use std::io;
use std::path::Path;

use steadfast_config::{ConfigFile, Loaded, Problems, Setting, Sources, load};

/// The example of the contract, word for word.
const CONTRACT: &str = include_str!("fixtures/design.toml");

/// Loads text as `steadfast.toml`, with nothing in the environment.
fn load_text(text: &str) -> Result<Loaded, Problems> {
    load_with(Some(text), &[], &[])
}

/// Loads text under these variables and `--set` flags.
fn load_with(text: Option<&str>, environment: &[(&str, &str)], settings: &[&str]) -> Result<Loaded, Problems> {
    let file = text.map(|text| ConfigFile::from_bytes("steadfast.toml", text.into())).transpose()?;
    load(Sources {
        file,
        environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        settings: settings.iter().filter_map(|setting| Setting::parse(setting)).collect(),
        read_secret: &no_files,
    })
}

fn no_files(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some("secret.txt") => Ok("from-a-file\n".to_owned()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    }
}

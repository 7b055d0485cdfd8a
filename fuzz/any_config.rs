//! What the fuzz target `config` and the tests of `crates/config/tests/it/hostile.rs` both do with their bytes.

use steadfast_config::{ConfigFile, Problems, Severity, Sources, load};

/// Any bytes are a configuration, and all of it can be shown, or errors that say what is wrong and what to do.
pub(crate) fn any_config(bytes: Vec<u8>) {
    let no_secrets = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let file = match ConfigFile::from_bytes("steadfast.toml", bytes) {
        Ok(file) => file,
        Err(problems) => return assert_refused(&problems),
    };
    let sources = Sources { file: Some(file), environment: Vec::new(), settings: Vec::new(), read_secret: &no_secrets };
    match load(sources) {
        Ok(loaded) => drop((loaded.show(), loaded.show_json(), loaded.warnings.to_string())),
        Err(problems) => assert_refused(&problems),
    }
}

fn assert_refused(problems: &Problems) {
    assert!(problems.errors() > 0 && !problems.to_string().is_empty(), "refused without a word");
    let wordless = problems.list.iter().filter(|problem| problem.severity == Severity::Error);
    let wordless: Vec<_> = wordless.filter(|problem| problem.what.is_empty() || problem.help.is_empty()).collect();
    assert!(wordless.is_empty(), "nobody can put these right: {wordless:?}");
}

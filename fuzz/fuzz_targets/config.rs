//! Any bytes are a configuration or an error that names what is wrong; none of them panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use steadfast_config::{ConfigFile, Sources, load};

fuzz_target!(|bytes: &[u8]| {
    let no_secrets = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let problems = match ConfigFile::from_bytes("steadfast.toml", bytes.to_vec()) {
        Err(problems) => problems,
        Ok(file) => {
            let sources =
                Sources { file: Some(file), environment: Vec::new(), settings: Vec::new(), read_secret: &no_secrets };
            match load(sources) {
                Err(problems) => problems,
                Ok(loaded) => return drop(loaded.show()),
            }
        }
    };
    assert!(!problems.to_string().is_empty(), "refused without a word");
});

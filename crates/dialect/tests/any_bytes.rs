//! The fuzz target of every decoder, run briefly: noise, and fixtures that were spoiled.

#[path = "../../../fuzz/any_bytes.rs"]
mod any_bytes;

use std::path::Path;
use std::sync::LazyLock;

use any_bytes::any_bytes;
use proptest::collection::vec;
use proptest::prelude::*;

/// Every request, answer and stream there is.
static FIXTURES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut found = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut found);
    found
});

fn read(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder of fixtures").flatten() {
        match entry.path() {
            path if path.is_dir() => read(&path, found),
            path => found.push(std::fs::read(path).expect("a fixture")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn noise_is_survived(bytes in vec(any::<u8>(), 0..300)) {
        any_bytes(&bytes);
    }

    #[test]
    fn fixtures_that_were_spoiled_are_survived(
        choice in any::<u8>(),
        fixture in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), prop::option::of(any::<u8>()), 0..40_usize), 0..4),
    ) {
        let mut bytes = fixture.get(&FIXTURES).clone();
        for (at, with, length) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, with);
        }
        bytes.insert(0, choice);
        any_bytes(&bytes);
    }
}

#[test]
fn every_fixture_is_taken_for_everything() {
    for fixture in FIXTURES.iter() {
        for choice in 0..96 {
            any_bytes(&[&[choice], &fixture[..]].concat());
        }
    }
}

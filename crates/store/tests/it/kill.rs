//! Killed at any moment, nothing acknowledged is lost and all counts agree.
//!
//! `STEADFAST_KILLS=200 cargo test -p steadfast-store --test it kill` kills more often.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use steadfast_stage::Folder;
use steadfast_store::Address;

use crate::child::Writing;
use crate::contract::keeping;

const KILLS: u32 = 5;

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let folder = Folder::new();
    let file = folder.join("store.db").display().to_string();
    let kills = std::env::var("STEADFAST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let (mut requests, mut in_sessions, mut failures) = (0, 0, 0);
    for round in 0.. {
        // On a slow machine little is written before it dies.
        if round >= kills && requests > 0 && in_sessions > 0 && failures > 0 {
            break;
        }
        assert!(round < 10 * kills, "some of it is written: {requests} {in_sessions} {failures}");
        let mut writing = Writing::start(&[], &file);
        // The first line says that it has begun; the moment of death is chance.
        let first = writing.lines.by_ref().map_while(Result::ok).find(|line| line.ends_with(';'));
        let moment = RandomState::new().hash_one(round) % 400;
        std::thread::sleep(Duration::from_millis(moment));
        let said: Vec<String> = first.into_iter().chain(writing.kill()).collect();
        assert!(!said.is_empty(), "round {round}: it said nothing");

        let store = keeping(Address::sqlite(&file), 30);
        for line in &said {
            let words: Vec<&str> = line.trim_end_matches(';').split(' ').collect();
            let ["ok", name, version, number, _] = words[..] else { panic!("round {round}: {line}") };
            let document = store.document("setting", name).await.unwrap();
            let document = document.unwrap_or_else(|| panic!("round {round}: {line} was acknowledged and is lost"));
            let stored = document.body.as_ref().and_then(|body| body["number"].as_u64()).unwrap();
            let (version, number): (i64, u64) = (version.parse().unwrap(), number.parse().unwrap());
            assert!(document.version >= version && stored >= number, "round {round}: {line}, but {document:?}");
        }
        let audit = store.audit().await.unwrap();
        assert!(audit.agrees(), "round {round}, {moment} ms: {audit:?}");
        assert!(audit.requests >= requests, "round {round}: requests went away: {audit:?}");
        (requests, in_sessions, failures) = (audit.requests, audit.in_sessions, audit.session_failures);
        store.close().await;
    }
}

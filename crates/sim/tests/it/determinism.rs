//! Same seed, same build: the same log, byte for byte.

use steadfast_core::record::{Event, Record};
use steadfast_sim::{Logging, Setup, simulate};

use crate::setup;

#[test]
fn the_same_seed_gives_the_same_log_byte_for_byte() {
    for scenario in ["outage", "council", "tasks"] {
        let mut setup = Setup { log: Logging::All, ..setup(scenario, "default", 7) };
        setup.scenario = setup.scenario.with_clients(200);
        let (first, second) = (simulate(&setup), simulate(&setup));
        assert!(first.broken.is_none());
        assert!(first.log.len() > 100_000);
        assert!(first.log == second.log, "{scenario}");
        let other = simulate(&Setup { seed: 8, ..setup });
        assert!(first.log != other.log);
    }
}

#[test]
fn the_log_tells_every_requests_story_from_start_to_outcome() {
    let mut setup = Setup { log: Logging::All, ..setup("transient", "default", 1) };
    setup.scenario = setup.scenario.with_seconds(20);
    let finished = simulate(&setup);
    let text = String::from_utf8(finished.log).unwrap();
    let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event| records.iter().filter(|record| record.event == event).count() as u64;
    assert_eq!(count(Event::Start), finished.stats.requests);
    assert_eq!(count(Event::Outcome), finished.stats.requests);
    assert_eq!(count(Event::Attempt), finished.stats.attempts);
    assert_eq!(count(Event::Success), finished.stats.succeeded);
    let decisions: Vec<&Record> = records.iter().filter(|record| record.event == Event::Decision).collect();
    assert!(decisions.iter().all(|line| line.kind.is_some() && line.step.is_some() && line.reason.is_some()));
}

//! The named scenarios: one table.
//!
//! All of them share a layout: four endpoints of three vendors. Clients ask for `alpha-large`,
//! which is served at two endpoints and falls back to `beta-large` and `gamma-large`; under a
//! strict boundary it falls back to `alpha-small`.

use std::time::Duration;

use steadfast_core::FailureKind;
use steadfast_core::recovery::Face;

use super::{Arrivals, EndpointSpec, ModelSpec, Person, Scenario, Spend, TRANSIENT};
use crate::provider::{Effect, Fault, Pace, Span};

/// Every named scenario, with what happens in it.
pub const NAMES: [(&str, &str); 15] = [
    ("calm", "nothing goes wrong"),
    ("outage", "every endpoint is down for two minutes"),
    ("primary_down", "the first endpoint is down, the others are well"),
    ("brownout", "every endpoint fails half of the time"),
    ("transient", "30 % of all attempts fail at random"),
    ("rate_limits", "the first two endpoints allow fewer calls a minute than are made"),
    ("quota", "the first endpoint's quota is exhausted and returns after two minutes"),
    ("correlated", "all endpoints of one vendor are down together"),
    ("flapping", "the first endpoint is down for 10 s in every 30 s"),
    ("slow_death", "the first endpoint's answers take twice as long every 10 s, up to the time limit"),
    ("metastable", "endpoints with little capacity to spare are down for 30 s, and the load stays"),
    ("budget", "money for half of the work, spent by parallel callers"),
    ("mid_stream", "one in ten answers breaks off in the middle and is charged"),
    ("tasks", "agent tasks whose processes die and whose network fails for minutes"),
    ("council", "turns of a council: defer, ask a person, go on without a voice"),
];

/// The named scenario's effect, in place of a calm day.
pub(super) fn scenario(name: &str) -> Option<Scenario> {
    let (name, about) = NAMES.into_iter().find(|(known, _)| *known == name)?;
    let calm = calm(name, about);
    Some(match name {
        "calm" => calm,
        "outage" => trouble(calm, ALL, Span::secs(60, 180), Effect::Down),
        "primary_down" => trouble(calm, &[0], Span::secs(30, 210), Effect::Down),
        "brownout" => Scenario { faults: mixed(ALL, 0.5), ..calm },
        "transient" => Scenario { faults: mixed(ALL, 0.3), ..calm },
        "rate_limits" => always(calm, &[0, 1], Effect::RateLimit { per_minute: 2000 }),
        "quota" => always(calm, &[0], Effect::Quota { calls: 6000, reset_secs: 120 }),
        "correlated" => trouble(calm, &[0, 1], Span::secs(30, 210), Effect::Down),
        "flapping" => always(calm, &[0], Effect::Flapping { up_secs: 20, down_secs: 10 }),
        "slow_death" => trouble(calm, &[0], Span::secs(30, 210), Effect::SlowDeath { doubling_secs: 10.0 }),
        "metastable" => {
            let capacity = Effect::Capacity { per_sec: 130.0 };
            let limited = always(calm, ALL, capacity);
            trouble(limited, ALL, Span::secs(60, 90), Effect::Down)
        }
        "budget" => Scenario {
            // A request costs at most 12,000 micro-dollars and about half of that in truth.
            spend: Spend { project_usd_micros: Some(25_000_000), session_usd_micros: Some(120_000) },
            faults: mixed(ALL, 0.1),
            ..calm
        },
        "mid_stream" => always(calm, ALL, Effect::Cut(0.1)),
        "tasks" => {
            let dying = Effect::Failing(0.05, FailureKind::ProcessDied);
            let lost = Effect::Failing(0.02, FailureKind::StateLost);
            let tasks = Scenario { face: Face::TASK, seconds: 600, ..calm.with_rate(20.0) };
            let tasks = always(always(tasks, ALL, dying), ALL, lost);
            trouble(tasks, ALL, Span::secs(120, 240), Effect::Down)
        }
        "council" => {
            let council = Scenario { face: Face::COUNCIL, ..calm.with_rate(20.0) };
            let council = Scenario { faults: mixed(ALL, 0.2), ..council };
            trouble(council, &[0, 1], Span::secs(60, 150), Effect::Down)
        }
        _ => return None,
    })
}

const ALL: &[usize] = &[0, 1, 2, 3];

fn calm(name: &str, about: &str) -> Scenario {
    let pace = |median_ms: f64| Pace { median_ms, spread: 0.5, failure_ms: 200.0 };
    let endpoint = |name: &str, median_ms: f64| EndpointSpec { name: name.to_owned(), pace: pace(median_ms) };
    let model = |name: &str, vendor: &str, endpoints: &[usize], fallback: &[usize], window, price| ModelSpec {
        name: name.to_owned(),
        vendor: vendor.to_owned(),
        endpoints: endpoints.to_vec(),
        fallback: fallback.to_vec(),
        fallback_strict: if vendor == "alpha" && endpoints == [0, 1] && !fallback.is_empty() {
            vec![4]
        } else {
            vec![]
        },
        window: Some(window),
        price: Some(price),
    };
    Scenario {
        name: name.to_owned(),
        about: about.to_owned(),
        clients: 1000,
        projects: 4,
        seconds: 300,
        // A request every ten seconds from each of a thousand clients.
        arrivals: Arrivals::Open { per_sec: 100.0 },
        turns: 20,
        endpoints: vec![
            endpoint("alpha-direct", 2000.0),
            endpoint("alpha-cloud", 2500.0),
            endpoint("beta-direct", 2000.0),
            endpoint("gamma-direct", 3000.0),
        ],
        models: vec![
            model("alpha-large", "alpha", &[0, 1], &[1, 2], 200_000, (3.0, 15.0)),
            model("beta-large", "beta", &[2], &[], 200_000, (2.5, 10.0)),
            model("gamma-large", "gamma", &[3], &[], 1_000_000, (2.0, 12.0)),
            model("alpha-max", "alpha", &[0, 1], &[], 1_000_000, (5.0, 25.0)),
            model("alpha-small", "alpha", &[0, 1], &[], 200_000, (1.0, 5.0)),
        ],
        primaries: 1,
        ladder: vec![4, 0, 3],
        faults: Vec::new(),
        cause: None,
        face: Face::GATEWAY,
        person: Person::HELPFUL,
        repair_works: 0.9,
        spend: Spend::default(),
        attempt_timeout: Duration::from_secs(60),
        leaves: 0.0,
        vanishes: 0.0,
        large: 0.0,
        underestimated: 0.0,
    }
}

fn always(mut scenario: Scenario, endpoints: &[usize], effect: Effect) -> Scenario {
    scenario.faults.push(Fault { endpoints: endpoints.to_vec(), span: Span::ALWAYS, effect });
    scenario
}

fn trouble(mut scenario: Scenario, endpoints: &[usize], span: Span, effect: Effect) -> Scenario {
    scenario.faults.push(Fault { endpoints: endpoints.to_vec(), span, effect });
    scenario.cause = Some(span);
    scenario
}

/// Random failures of several kinds that add up to this share.
fn mixed(endpoints: &[usize], share: f64) -> Vec<Fault> {
    // One after another they must let 1 - share through.
    let each = 1.0 - (1.0 - share).powf(1.0 / TRANSIENT.len() as f64);
    let fault = |kind| Fault { endpoints: endpoints.to_vec(), span: Span::ALWAYS, effect: Effect::Failing(each, kind) };
    TRANSIENT.map(fault).to_vec()
}

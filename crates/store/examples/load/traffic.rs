//! Made-up traffic in the shape of real one: most requests are served at once, some recover, few fail.

use std::sync::Arc;

use steadfast_core::cost::Usage;
use steadfast_core::kind::FailureKind;
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::time::Timestamp;

const MODELS: [&str; 6] =
    ["claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5", "gpt-5-mini", "gemini-2.5-pro", "gemini-2.5-flash"];
const ENDPOINTS: [&str; 4] = ["anthropic", "openai", "gemini", "openrouter"];
const KINDS: [FailureKind; 6] = [
    FailureKind::RateLimit,
    FailureKind::Overloaded,
    FailureKind::ServerError,
    FailureKind::Timeout,
    FailureKind::NetworkTransient,
    FailureKind::StreamInterrupted,
];

/// Makes requests, from a seed.
pub(crate) struct Traffic {
    seed: u64,
    count: u64,
    /// What is made again and again.
    names: Names,
}

struct Names {
    projects: Vec<Arc<str>>,
    sessions: Vec<Arc<str>>,
    patterns: Vec<Arc<str>>,
    messages: Vec<Arc<str>>,
    places: Vec<Place>,
    client: Arc<str>,
    policy: Arc<str>,
}

impl Traffic {
    pub(crate) fn new(seed: u64) -> Self {
        let many = |count, make: &dyn Fn(u64) -> String| (0..count).map(|number| make(number).into()).collect();
        let place = |model: &str, endpoint: &str| Place { model: model.into(), endpoint: endpoint.into() };
        let places = MODELS.iter().zip(ENDPOINTS.iter().cycle()).map(|(model, endpoint)| place(model, endpoint));
        let names = Names {
            projects: many(8, &|number| format!("project-{number}")),
            sessions: many(5000, &|number| format!("{:016x}-session", mix(number))),
            patterns: many(300, &|number| format!("chat:{:08x}", mix(number) as u32)),
            messages: many(60, &|number| {
                format!("the model is busy (reason {:x}), try again in # seconds", mix(number) >> 40)
            }),
            places: places.collect(),
            client: "claude-code".into(),
            policy: "default".into(),
        };
        Self { seed, count: 0, names }
    }

    /// One whole request that came in at this moment.
    pub(crate) fn request(&mut self, time: i64, out: &mut Vec<Record>) {
        self.count += 1;
        let dice = mix(self.seed ^ self.count.wrapping_mul(0x9e37_79b9));
        let pick = |shift: u32, count: usize| (dice >> shift) as usize % count;
        let failures = match dice % 100 {
            0..85 => 0,
            85..95 => 1,
            95..98 => 2,
            _ => 3,
        };
        let names = &self.names;
        let request: Arc<str> = id(time, dice).into();
        let line = |event, after: i64| Record::new(Timestamp::from_millis(time + after), event, Arc::clone(&request));
        let first = pick(8, names.places.len());
        let chain = vec![names.places[first].clone(), names.places[(first + 2) % names.places.len()].clone()];
        out.push(Record {
            session: (pick(16, 3) == 0).then(|| Arc::clone(&names.sessions[pick(20, 5000)])),
            project: Some(Arc::clone(&names.projects[pick(33, 8)])),
            client: Some(Arc::clone(&names.client)),
            pattern: Some(Arc::clone(&names.patterns[pick(37, 300)])),
            policy: Some(Arc::clone(&names.policy)),
            chain: chain.clone(),
            attempts_max: Some(10),
            ..line(Event::Start, 0)
        });
        let mut after = 0;
        for attempt in 0..=failures {
            let target = chain[usize::from(attempt > 1)].clone();
            let choice = ["first", "retry", "fallback", "retry"][attempt];
            let number = Some(attempt as u32 + 1);
            out.push(Record {
                attempt: number,
                target: Some(target.clone()),
                choice: Some(choice.into()),
                ..line(Event::Attempt, after)
            });
            after += 300 + pick(44, 2000) as i64;
            if attempt < failures || failures == 3 {
                out.push(Record {
                    attempt: number,
                    kind: Some(KINDS[pick(40 + 2 * attempt as u32, KINDS.len())]),
                    status: Some(529),
                    rule: Some("status_529".into()),
                    message: Some(Arc::clone(&names.messages[pick(50, 60)])),
                    step: Some("retry".into()),
                    wait_ms: Some(1000),
                    from: Some(target.clone()),
                    to: Some(target),
                    reason: Some("retry 1 of 3: the model is overloaded".into()),
                    latency_ms: Some(300),
                    usd_micros: Some(120),
                    ..line(Event::Decision, after)
                });
                after += 1000;
            } else {
                out.push(Record {
                    attempt: number,
                    target: Some(target),
                    latency_ms: Some(300 + pick(44, 2000) as u64),
                    usage: Some(Usage { input_tokens: 1200, output_tokens: 340 }),
                    usd_micros: Some(8700),
                    ..line(Event::Success, after)
                });
            }
        }
        let outcome = if failures == 3 { "gave_up" } else { "succeeded" };
        out.push(Record {
            attempt: Some(failures as u32 + 1),
            outcome: Some(outcome.into()),
            latency_ms: Some(after.unsigned_abs()),
            ..line(Event::Outcome, after)
        });
    }
}

/// As the gateway names them: time first.
fn id(time: i64, dice: u64) -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let bits = (time as u128) << 35 | u128::from(dice >> 29);
    let letters = (0..16).rev().map(|letter| char::from(LETTERS[(bits >> (5 * letter)) as usize % 32]));
    "req_".chars().chain(letters).collect()
}

/// Spreads a number over all bits (splitmix64).
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

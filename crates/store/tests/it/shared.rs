//! Replicas that share limits through a real Redis, over a wire that loses rounds and answers and brings some late.

use std::time::Duration;

use steadfast_core::Instant;
use steadfast_core::rate::{RateLimit, Refusal, Report, Slice};
use steadfast_core::spend::{Allotment, SpendBudget, SpendReport};
use steadfast_stage::Redis;
use steadfast_store::shared::{Answered, RateAsk, Round, Shared, SpendAsk};

const REPLICAS: usize = 3;
const LIMIT: u32 = 60;
const USD_MICROS: u64 = 5_000;

/// Longer than any answer takes on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// What becomes of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Answers,
    LosesTheAnswer,
    LosesTheRound,
    /// It is given up, and comes after a later one.
    IsLate,
}

/// One gateway, as far as it shares.
struct Replica {
    shared: Shared,
    name: String,
    salt: String,
    number: u64,
    heard: u64,
    rate: RateLimit,
    budget: SpendBudget,
    late: Option<Round>,
    started: u32,
    /// Money held for calls under way.
    held: Vec<u64>,
}

impl Replica {
    async fn new(redis: &Redis, name: usize) -> Self {
        let mut shared = Shared::new(&redis.url(), "steadfast", PATIENCE).unwrap();
        let proposal = Shared::random_name();
        let Answered::OtherSalt(salt) = shared.round(&Round { proposal, ..Round::default() }).await.unwrap() else {
            panic!("nobody without a salt is heard");
        };
        Self {
            shared,
            name: format!("replica-{name}"),
            salt,
            number: 0,
            heard: 0,
            rate: RateLimit::per_minute(LIMIT),
            budget: SpendBudget::new(Some(USD_MICROS)),
            late: None,
            started: 0,
            held: Vec::new(),
        }
    }

    /// What it has to say, and to whom the answer belongs.
    fn gather(&mut self, now: Instant) -> (Round, Option<Report>, Option<SpendReport>) {
        self.number += 1;
        let (rate, spend) = (self.rate.report(now), self.budget.report(false));
        let round = Round {
            salt: self.salt.clone(),
            replica: self.name.clone(),
            number: self.number,
            heard: self.heard,
            rates: rate
                .iter()
                .map(|Report { used, held, short, idle }| RateAsk {
                    key: "project".to_owned(),
                    limit: LIMIT,
                    used: *used,
                    held: *held,
                    short: *short,
                    idle: *idle,
                })
                .collect(),
            spends: spend
                .iter()
                .map(|report| SpendAsk {
                    key: "project:1".to_owned(),
                    limit: USD_MICROS,
                    committed: report.committed_usd_micros,
                    allotted: report.allotted_usd_micros,
                    needed: report.needed_usd_micros,
                    idle: report.is_idle,
                })
                .collect(),
            ..Round::default()
        };
        (round, rate, spend)
    }

    /// One round, to which this happens.
    async fn round(&mut self, wire: Wire, now: Instant) {
        let (round, rate, spend) = self.gather(now);
        let answer = match wire {
            Wire::LosesTheRound => None,
            Wire::IsLate => {
                self.late = Some(round);
                None
            }
            Wire::Answers => Some(self.shared.round(&round).await.unwrap()),
            Wire::LosesTheAnswer => {
                self.shared.round(&round).await.unwrap();
                None
            }
        };
        let Some(answer) = answer else {
            self.rate.on_its_own(now);
            self.budget.on_its_own(REPLICAS as u32);
            return;
        };
        let Answered::Round(answer) = answer else { panic!("the same salt, and in turn") };
        self.heard = self.number;
        if let (Some(report), Some([held, remaining, wait, reset])) = (rate, answer.rates.first()) {
            let [held, remaining] = [held, remaining].map(|count| u32::try_from(*count).unwrap());
            let [wait, reset] = [wait, reset].map(|ms| Duration::from_millis(*ms));
            self.rate.told(&report, &Slice { held, remaining, wait, reset, replicas: answer.replicas }, now, now);
        }
        if let (Some(report), Some([allotted_usd_micros, others_usd_micros])) = (spend, answer.spends.first().copied())
        {
            self.budget.told(&report, &Allotment { allotted_usd_micros, others_usd_micros });
        }
        if let Some(late) = self.late.take() {
            let heard = self.shared.round(&late).await.unwrap();
            assert_eq!(heard, Answered::OtherSalt(self.salt.clone()), "what comes after a later one is not heard");
        }
    }
}

#[tokio::test]
async fn limits_hold_over_a_wire_that_loses_and_delays() {
    let redis = Redis::start();
    for seed in 0..6 {
        // Every seed begins with nothing.
        let cli = std::process::Command::new("redis-cli").args(["-u", &redis.url(), "FLUSHALL"]).output().unwrap();
        assert!(cli.status.success());
        let mut random = fastrand::Rng::with_seed(seed);
        let mut replicas = Vec::new();
        for name in 0..REPLICAS {
            replicas.push(Replica::new(&redis, name).await);
        }
        let began = std::time::Instant::now();
        for replica in &mut replicas {
            replica.round(Wire::Answers, Instant::from_millis(1)).await;
        }
        let mut millis = 1;
        for _ in 0..300 {
            if began.elapsed() > Duration::from_secs(50) {
                // After a minute of the server's own time the limit begins anew, and the counts say nothing.
                break;
            }
            // Far less than what was started counts for: all of it is within one minute.
            millis += random.u64(..60);
            let now = Instant::from_millis(millis);
            let wire =
                [Wire::LosesTheAnswer, Wire::LosesTheRound, Wire::IsLate, Wire::Answers, Wire::Answers, Wire::Answers]
                    [random.usize(..6)];
            let replica = &mut replicas[random.usize(..REPLICAS)];
            for _ in 0..random.u32(..4) {
                let taken = replica.rate.take(now);
                if let Err(Refusal::Ask { .. }) = taken {
                    replica.round(wire, now).await;
                    replica.started += u32::from(replica.rate.take_unasked(now).is_ok());
                }
                replica.started += u32::from(taken.is_ok());
                let cost = random.u64(..200);
                if replica.budget.lacks(cost) {
                    replica.round(wire, now).await;
                }
                if replica.budget.reserve(cost) {
                    replica.held.push(cost);
                }
            }
            if random.bool()
                && let Some(cost) = replica.held.pop()
            {
                replica.budget.settle(cost, random.u64(..=cost));
            }
            if random.u8(..4) == 0 {
                replica.round(wire, now).await;
            }
            let started: u32 = replicas.iter().map(|replica| replica.started).sum();
            assert!(started <= LIMIT, "seed {seed}: {started} of {LIMIT}");
            let committed: u64 = replicas.iter().map(|replica| replica.budget.ledger().committed()).sum();
            assert!(committed <= USD_MICROS, "seed {seed}: {committed} of {USD_MICROS}");
        }
        let started: u32 = replicas.iter().map(|replica| replica.started).sum();
        assert!(started >= LIMIT / 2, "seed {seed}: {started} of {LIMIT}: nobody is refused for nothing");
    }
}

//! A thousand rounds with random faults and a person who does as people do, in virtual time.

use super::*;

const COUNCILS: u64 = 200;
const ROUNDS: usize = 5;

/// What an attempt may meet, with how often.
const FAULTS: [(u32, &str); 12] = [
    (40, "server_error"),
    (30, "timeout"),
    (30, "rate_limit"),
    (30, "network_transient"),
    (30, "stream_interrupted"),
    (20, "overloaded"),
    (10, "bad_output"),
    (6, "auth_error"),
    (6, "model_unavailable"),
    (4, "quota_exhausted"),
    (4, "content_filter"),
    (2, "invalid_request"),
];

/// What has befallen one member in its turn.
#[derive(Clone, Debug, Default)]
struct Story {
    /// Failures of kinds that are retried.
    retried: usize,
    last: String,
    asked: bool,
    agreed: bool,
    deferred: bool,
    attempts: usize,
}

struct Chaos {
    script: Script,
    rng: fastrand::Rng,
    faults: bool,
    speaker: usize,
    stories: Vec<Story>,
    asked_about: Option<usize>,
    offline: usize,
}

#[test]
fn a_thousand_rounds_lose_no_voice_and_leave_no_question_open() {
    let mut offline = 0;
    for seed in 0..COUNCILS {
        let mut chaos = Chaos::new(seed);
        for _ in 0..ROUNDS {
            chaos.round();
        }
        chaos.settle();
        offline += chaos.offline;
        chaos.recover();
    }
    assert!(offline > 50, "the faults were too kind to show anything: {offline}");
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let script = Script::new();
        let stories = vec![Story::default(); 3];
        let rng = fastrand::Rng::with_seed(seed);
        Self { script, rng, faults: true, speaker: 0, stories, asked_about: None, offline: 0 }
    }

    /// One message of the person, and whatever happens until everybody has had a turn.
    fn round(&mut self) {
        self.play("say go on");
        for _ in 0..2_000 {
            if self.script.council.is_idle() {
                return;
            }
            self.step();
        }
        panic!("no end to this round: {:?}", self.script.council.status());
    }

    fn step(&mut self) {
        if self.script.council.status().asking.is_some() {
            match self.rng.u32(0..40) {
                0 => return self.answer("yes"),
                1 => return self.answer("no"),
                _ => {}
            }
        }
        match self.rng.u32(0..200) {
            0 => return self.play("say by the way"),
            1 => return self.play("retry all"),
            2 => return self.play("yes"),
            3 if self.script.call.is_some() => return self.play("stop"),
            _ => {}
        }
        if self.script.call.is_none() {
            let wake = self.script.council.wake().expect("a deadlock: nothing runs and nothing is waited for");
            let time = wake.since(self.script.now).as_secs() + 1;
            return self.play(&format!("wait {time}"));
        }
        self.stories[self.speaker].attempts += 1;
        match self.fault() {
            None => self.play("ok"),
            Some(fault) => {
                if self.rng.bool() {
                    self.play("piece half an ");
                }
                let story = &mut self.stories[self.speaker];
                story.last = fault.to_owned();
                let lasting =
                    ["auth_error", "model_unavailable", "quota_exhausted", "content_filter", "invalid_request"];
                story.retried += usize::from(!lasting.contains(&fault));
                self.play(&format!("fail {fault}"));
            }
        }
    }

    /// Providers are well half of the time.
    fn fault(&mut self) -> Option<&'static str> {
        if !self.faults || self.rng.bool() {
            return None;
        }
        let all: u32 = FAULTS.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.rng.u32(0..all);
        let fault = FAULTS.iter().find(|(weight, _)| {
            let found = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            found
        });
        fault.map(|(_, fault)| *fault)
    }

    fn answer(&mut self, answer: &str) {
        if let Some(seat) = self.asked_about {
            self.stories[seat].agreed = answer == "yes";
        }
        self.play(answer);
    }

    /// Plays an event and checks what is told of it.
    fn play(&mut self, event: &str) {
        let told = self.script.play(event);
        let spent = told.contains("has used all of its") || self.script.council.status().retries >= 30;
        for line in told.lines() {
            let Some((_, line)) = line.split_once("s ") else { continue };
            let seat = ["claude", "gemini", "grok"].iter().position(|name| {
                line.contains(&format!("{name} with"))
                    || line.contains(&format!(" {name} "))
                    || line.contains(&format!("({name} "))
            });
            let Some(seat) = seat else { continue };
            if line.starts_with("call ") {
                if line.ends_with("(first)") {
                    self.stories[seat] = Story::default();
                }
                self.speaker = seat;
            } else if line.contains("skipped due to error") {
                self.stories[seat].deferred = true;
            } else if line.contains("Route to") && line.starts_with("note") {
                self.stories[seat].asked = true;
                self.asked_about = Some(seat);
            } else if line.contains(" offline (") || line.contains("still unavailable") {
                self.offline += 1;
                self.justified(seat, spent, line);
            }
        }
    }

    /// A voice is lost only when its policy knew no other way.
    fn justified(&self, seat: usize, spent: bool, line: &str) {
        let story = &self.stories[seat];
        let refused = line.contains("none of its endpoints");
        if story.last == "invalid_request" || spent || refused {
            return;
        }
        let has_fallback = seat < 2 && story.last != "quota_exhausted";
        assert!(story.asked || !has_fallback || quota_is_out(self, seat), "nobody was asked: {story:?} {line}");
        let retried = !["auth_error", "model_unavailable", "quota_exhausted", "content_filter"].contains(&&*story.last);
        if retried && !story.agreed {
            assert!(story.retried >= 4, "given up too early: {story:?} {line}");
        }
    }

    /// The person leaves: whatever is open ends by itself.
    fn settle(&mut self) {
        for _ in 0..2_000 {
            if self.script.council.is_idle() {
                break;
            }
            if self.script.call.is_some() {
                self.step();
            } else {
                self.play("wait 61");
            }
        }
        let status = self.script.council.status();
        assert!(self.script.council.is_idle(), "something stays open: {status:?}");
        assert_eq!(status.asking, None);
    }

    /// Providers are well again: everybody comes back.
    fn recover(&mut self) {
        self.faults = false;
        self.play("retry all; say are you there?");
        for _ in 0..20 {
            if self.script.call.is_some() {
                self.play("ok");
            }
        }
        let status = self.script.council.status();
        assert_eq!((status.active, status.doing), (3, Doing::Idle));
    }
}

/// Whether the credential rests, so that its other model could not be asked either.
fn quota_is_out(chaos: &Chaos, seat: usize) -> bool {
    let world = &chaos.script.council.setup.world;
    world.endpoint(EndpointId(seat as u16)).is_some_and(|endpoint| endpoint.set_aside_until(chaos.script.now).is_some())
}

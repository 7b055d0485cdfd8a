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
    seed: u64,
    script: Script,
    rng: fastrand::Rng,
    faults: bool,
    speaker: usize,
    stories: Vec<Story>,
    asked_about: Option<usize>,
    offline: usize,
    /// Losses of a voice that nothing excused beforehand, so that its story was looked at.
    judged: usize,
    /// How often each member has finished since the person's last message, and who need not have.
    ends: [usize; 3],
    excused: [bool; 3],
}

#[test]
fn a_thousand_rounds_lose_no_voice_and_leave_no_question_open() {
    let (mut offline, mut judged) = (0, 0);
    for seed in 0..COUNCILS {
        let mut chaos = Chaos::new(seed);
        for _ in 0..ROUNDS {
            chaos.round();
        }
        chaos.settle();
        offline += chaos.offline;
        judged += chaos.judged;
        chaos.recover();
    }
    assert!(offline > 50, "the faults were too kind to show anything: {offline}");
    assert!(judged > 50, "too few losses were looked at: {judged} of {offline}");
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let script = Script::new();
        let stories = vec![Story::default(); 3];
        let rng = fastrand::Rng::with_seed(seed);
        Self {
            seed,
            script,
            rng,
            faults: true,
            speaker: 0,
            stories,
            asked_about: None,
            offline: 0,
            judged: 0,
            ends: [0; 3],
            excused: [false; 3],
        }
    }

    /// One message of the person, and whatever happens until everybody has had a turn.
    fn round(&mut self) {
        self.play("say go on");
        for _ in 0..2_000 {
            if self.script.council.is_idle() {
                return self.all_were_heard();
            }
            self.step();
        }
        panic!("seed {}: no end to this round: {:?}", self.seed, self.script.council.status());
    }

    /// Whoever is here has finished since the last message, was stopped, or was asked about.
    fn all_were_heard(&self) {
        for (seat, (member, presence)) in self.script.council.members().enumerate() {
            let heard = self.ends[seat] > 0 || self.excused[seat] || *presence != Presence::Here;
            assert!(heard, "seed {}: {} was passed over", self.seed, member.name);
        }
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
            let wake = self.script.council.wake();
            let wake = wake.unwrap_or_else(|| panic!("seed {}: nothing runs and nothing is waited for", self.seed));
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
            if line.starts_with("person: ") {
                self.ends = [0; 3];
                self.excused = [false; 3];
                // Whom a question is open about is not in this round.
                self.script.council.questions.iter().for_each(|turn| self.excused[turn.seat] = true);
            } else if line == "ends" {
                self.ends[self.speaker] += 1;
            } else if line == "stopped" {
                self.excused[self.speaker] = true;
            }
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
                self.excused[seat] = true;
                self.asked_about = Some(seat);
            } else if line.contains("was stopped before") {
                self.excused[seat] = true;
            } else if line.contains(" offline (") || line.contains("still unavailable") {
                self.offline += 1;
                self.justified(seat, spent, line);
            }
        }
    }

    /// A voice is lost only when its policy knew no other way.
    fn justified(&mut self, seat: usize, spent: bool, line: &str) {
        let (seed, story) = (self.seed, &self.stories[seat]);
        let refused = line.contains("none of its endpoints");
        if story.last == "invalid_request" || spent || refused {
            return;
        }
        self.judged += 1;
        let has_fallback = seat < 2 && story.last != "quota_exhausted";
        assert!(
            story.asked || !has_fallback || quota_is_out(self, seat),
            "seed {seed}: nobody was asked: {story:?} {line}"
        );
        let retried = !["auth_error", "model_unavailable", "quota_exhausted", "content_filter"].contains(&&*story.last);
        if retried && !story.agreed {
            assert!(story.retried >= 4, "seed {seed}: given up too early: {story:?} {line}");
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
        assert!(self.script.council.is_idle(), "seed {}: something stays open: {status:?}", self.seed);
        assert_eq!(status.asking, None, "seed {}", self.seed);
        self.all_were_heard();
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
        assert_eq!((status.active, status.doing), (3, Doing::Idle), "seed {}", self.seed);
        assert_eq!(self.ends, [1; 3], "seed {}: each answers once", self.seed);
    }
}

/// Whether the credential rests, so that its other model could not be asked either.
fn quota_is_out(chaos: &Chaos, seat: usize) -> bool {
    let world = &chaos.script.council.setup.world;
    world.endpoint(EndpointId(seat as u16)).is_some_and(|endpoint| endpoint.set_aside_until(chaos.script.now).is_some())
}

//! Facts about endpoints: what changed here, in one line for others, and what others' lines change here.
//!
//! Nobody has to announce a change: each round compares an endpoint with what was known of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ring::hmac;
use steadfast_config::{Credential, Endpoint as Configured};
use steadfast_core::Instant;
use steadfast_core::breaker::{Mode, News, Override, State};
use steadfast_core::world::Endpoint;
use steadfast_store::shared::Fact;

use crate::Engine;
use crate::snapshot::Snapshot;

/// How long it is told that something is over: long enough for everybody to hear it.
const OVER_MS: u64 = 60_000;

/// Nothing is said for longer than this.
const LEFT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A person's reason is told up to this length.
const REASON_BYTES_MAX: usize = 500;

/// What is known of the endpoints, by both sides.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<One>);

#[derive(Debug)]
struct One {
    endpoint: Arc<Endpoint>,
    /// What it is called outside: address and credential, hashed.
    id: String,
    generation: u64,
    word: Option<Override>,
    set_aside: Option<Instant>,
    paused: Option<Instant>,
}

/// What a line is about, by the last letter of its field.
const BREAKER: &str = "b";
const WORD: &str = "o";
const SET_ASIDE: &str = "q";
const PAUSED: &str = "p";

/// Says that something is over.
const NONE: &str = "none";

impl Known {
    /// Looks at the endpoints of this configuration, and says what changed since the last look.
    pub(super) fn changes(&mut self, snapshot: &Snapshot, salt: &str, now: Instant) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut before: HashMap<_, _> = self.0.drain(..).map(|one| (Arc::as_ptr(&one.endpoint), one)).collect();
        for (configured, endpoint) in snapshot.config.endpoints.iter().zip(snapshot.known_endpoints()) {
            let known = before.remove(&Arc::as_ptr(endpoint));
            let mut one = known.unwrap_or_else(|| One::new(endpoint, identity(configured, salt)));
            one.changes(now, &mut facts);
            self.0.push(one);
        }
        facts
    }

    /// Names are hashed anew: to the others nothing is known.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The endpoints with their names outside.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = (&str, &Arc<Endpoint>)> {
        self.0.iter().map(|one| (one.id.as_str(), &one.endpoint))
    }

    /// Takes what another replica said.
    pub(super) fn told(&mut self, engine: &Engine, fact: &Fact, now: Instant) {
        let Some((id, about)) = fact.field.rsplit_once(':') else { return };
        let left = Duration::from_millis(fact.left_ms).min(LEFT_MAX);
        for one in self.0.iter_mut().filter(|one| one.id == id) {
            one.told(engine, about, &fact.words, left, now);
        }
    }
}

impl One {
    fn new(endpoint: &Arc<Endpoint>, id: String) -> Self {
        let generation = endpoint.breaker.generation();
        let open = generation > 0 && matches!(endpoint.breaker.state(Instant::ORIGIN), State::Open { .. });
        // That it is open is news to the others; that it is closed is what they think anyway.
        let generation = if open { generation - 1 } else { generation };
        Self { endpoint: Arc::clone(endpoint), id, generation, word: None, set_aside: None, paused: None }
    }

    fn changes(&mut self, now: Instant, facts: &mut Vec<Fact>) {
        let mut say = |about: &str, left_ms: u64, words: String| {
            facts.push(Fact { field: format!("{}:{about}", self.id), left_ms, words });
        };
        let breaker = &self.endpoint.breaker;
        let generation = breaker.generation();
        if std::mem::replace(&mut self.generation, generation) != generation {
            match breaker.state(now) {
                State::Open { until } => say(BREAKER, millis(now, until), format!("open {}", breaker.trips())),
                State::Closed => say(BREAKER, OVER_MS, "closed".to_owned()),
                State::HalfOpen => {}
            }
        }
        let word = breaker.current_override(now);
        if word != self.word {
            match &word {
                Some(word) => say(WORD, millis(now, word.until), line_of(word)),
                None if self.word.as_ref().is_some_and(|word| now < word.until) => say(WORD, OVER_MS, NONE.to_owned()),
                None => {}
            }
            self.word = word;
        }
        let moments = [
            (SET_ASIDE, self.endpoint.set_aside_until(now), &mut self.set_aside),
            (PAUSED, self.endpoint.paused_until(now), &mut self.paused),
        ];
        for (about, until, known) in moments {
            let before = std::mem::replace(known, until);
            match until {
                Some(until) if before.is_none_or(|before| before < until) => {
                    say(about, millis(now, until), "until".to_owned());
                }
                None if before.is_some_and(|before| now < before) => say(about, OVER_MS, NONE.to_owned()),
                Some(_) | None => {}
            }
        }
    }

    fn told(&mut self, engine: &Engine, about: &str, words: &str, left: Duration, now: Instant) {
        let endpoint = &self.endpoint;
        match about {
            BREAKER => {
                let Some(news) = news(words, left) else { return };
                if let Some(transition) = endpoint.breaker.told(news, now) {
                    engine.breaker_changed(&endpoint.name, &transition, &Arc::default());
                }
                self.generation = endpoint.breaker.generation();
            }
            WORD if words == NONE => {
                endpoint.breaker.set_override(None);
                self.word = None;
            }
            WORD => {
                let Some(word) = read_word(words, now + left) else { return };
                endpoint.breaker.set_override(Some(word.clone()));
                self.word = Some(word);
            }
            SET_ASIDE => {
                if words == NONE {
                    endpoint.take_back();
                } else {
                    endpoint.set_aside(now + left);
                }
                self.set_aside = endpoint.set_aside_until(now);
            }
            PAUSED if words != NONE => {
                endpoint.pause(now + left);
                self.paused = endpoint.paused_until(now);
            }
            _ => {}
        }
    }
}

/// A name that says nothing to those who do not know the address and the credential.
fn identity(endpoint: &Configured, salt: &str) -> String {
    let mut said = vec![endpoint.url.as_str()];
    match &endpoint.credential {
        Credential::Client => said.push("client"),
        Credential::Own(secret) => said.extend(["own", secret.expose()]),
        Credential::Missing { wanted } => said.extend(["missing", wanted]),
    }
    // The headers may name another account.
    said.extend(endpoint.headers.iter().flat_map(|(name, value)| [name.as_str(), value.expose()]));
    hashed(salt, &said)
}

/// Words that nobody can read without knowing them.
pub(super) fn hashed(salt: &str, said: &[&str]) -> String {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, salt.as_bytes()));
    for part in said {
        context.update(part.as_bytes());
        context.update(&[0xff]);
    }
    context.sign().as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn millis(now: Instant, until: Instant) -> u64 {
    u64::try_from(until.since(now).min(LEFT_MAX).as_millis()).unwrap_or(0).max(1)
}

fn news(words: &str, left: Duration) -> Option<News> {
    match words.split_once(' ') {
        Some(("open", trips)) => Some(News::Opened { left, trips: trips.parse().ok()? }),
        None if words == "closed" => Some(News::Closed),
        _ => None,
    }
}

fn line_of(word: &Override) -> String {
    let mode = match word.mode {
        Mode::ForcedOpen => "forced_open",
        Mode::ForcedClosed => "forced_closed",
        Mode::Shadow => "shadow",
    };
    let mut reason = word.reason.replace(|letter: char| letter.is_control(), " ");
    reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
    format!("{mode} {reason}")
}

fn read_word(words: &str, until: Instant) -> Option<Override> {
    let (mode, reason) = words.split_once(' ')?;
    let mode = match mode {
        "forced_open" => Mode::ForcedOpen,
        "forced_closed" => Mode::ForcedClosed,
        "shadow" => Mode::Shadow,
        _ => return None,
    };
    Some(Override { mode, reason: reason.to_owned(), until })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_word_is_read_as_it_was_written() {
        let until = Instant::from_millis(5);
        for mode in [Mode::ForcedOpen, Mode::ForcedClosed, Mode::Shadow] {
            let word = Override { mode, reason: "ana: maintenance until noon".to_owned(), until };
            assert_eq!(read_word(&line_of(&word), until), Some(word));
        }
        let long = Override { mode: Mode::Shadow, reason: "é\n".repeat(1000), until };
        assert!(line_of(&long).len() <= REASON_BYTES_MAX + 10 && !line_of(&long).contains('\n'));
        assert_eq!(read_word("closed for good", until), None);
        assert_eq!(news("open x", Duration::ZERO), None);
        assert_eq!(news("closed", Duration::ZERO), Some(News::Closed));
    }

    #[test]
    fn names_outside_say_nothing_and_differ() {
        let one = hashed("salt", &["https://api.example.com", "own", "sk-secret"]);
        assert_eq!(one.len(), 32);
        assert_eq!(one, hashed("salt", &["https://api.example.com", "own", "sk-secret"]));
        assert_ne!(one, hashed("pepper", &["https://api.example.com", "own", "sk-secret"]));
        assert_ne!(hashed("s", &["ab", "c"]), hashed("s", &["a", "bc"]));
    }
}

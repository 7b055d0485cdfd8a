//! `steadfast council --fake`: three fake members, and faults to play on them.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use steadfast_config::{Config, ConfigFile, Sources};
use steadfast_council::Chaos;
use steadfast_fake::Fake;

/// The members: name, wire format, vendor, model, fallback. Grok has none, as in the seed document.
const MEMBERS: [(&str, &str, &str, &str, &str); 3] = [
    ("claude", "anthropic", "anthropic", "claude-sonnet-4-5", "claude-haiku-4-5"),
    ("gemini", "gemini", "google", "gemini-2.5-pro", "gemini-2.5-flash"),
    ("grok", "openai", "xai", "grok-4", "grok-4"),
];

/// What each of them says, over and over.
const WORDS: [[&str; 3]; 3] = [
    [
        "Let me think about this carefully. There are two things to keep apart: what we know, and what we only believe. I would begin with what can be measured.",
        "I agree in part. The risk I see is that we decide before we have looked at the failure modes one by one. Which of them have we seen in practice?",
        "To sum up: the plan holds if its assumptions do. I would write them down, and check the weakest of them first.",
    ],
    [
        "Looking at the whole, I see a pattern that connects both sides. The question is less which option is right, and more in which order to take them.",
        "Building on that: if we put the pieces together, the first step is small, and cheap to undo. That speaks for taking it today.",
        "I would add a view from further away: in a year nobody remembers the detail, but everybody lives with the shape.",
    ],
    [
        "Short version: do the simple thing, measure it, and only then argue. Most plans die of being too clever.",
        "Fun fact: the last three people who asked this overthought it. Try it on something small and break it on purpose.",
        "Everybody is right, which is suspicious. What would change your mind? Write that down before you start.",
    ],
];

/// As the policy `council` does, with half of its waits: a newcomer wants to see every level, and has no provider to spare.
const STEPS: &str = r#"default = [{ retry = 3, base = "500ms", cap = "2s", jitter = 0 }, "defer", "ask", "degrade"]"#;

/// Member, model, and the script it plays.
type Trouble = (&'static str, &'static str, &'static str);

/// An answer that breaks off behind its ninth word.
const CUT: &str = "cut=9 text=\"Let me think about this carefully. There are two things to keep apart.\" delay=40ms";

/// The faults that can be played: what a person reads, and which scripts the models play.
const FAULTS: [(&str, &[Trouble]); 6] = [
    ("hiccup: claude fails twice", &[("claude", "claude-sonnet-4-5", "status=503 x2")]),
    ("claude down", &[("claude", "claude-sonnet-4-5", "100%: status=529")]),
    ("grok down", &[("grok", "grok-4", "100%: status=500")]),
    ("cut: claude breaks off in mid-answer", &[("claude", "claude-sonnet-4-5", CUT)]),
    (
        "all down",
        &[
            ("claude", "claude-sonnet-4-5", "100%: reset"),
            ("claude", "claude-haiku-4-5", "100%: reset"),
            ("gemini", "gemini-2.5-pro", "100%: reset"),
            ("gemini", "gemini-2.5-flash", "100%: reset"),
            ("grok", "grok-4", "100%: reset"),
        ],
    ),
    ("all well", &[]),
];

/// The providers behind the fake council.
pub(super) struct Stage {
    fake: Arc<Fake>,
}

impl Stage {
    pub(super) async fn build() -> anyhow::Result<Self> {
        let fake = Fake::start().await.context("cannot start the fake providers")?;
        fake.keep_bodies(false);
        let stage = Self { fake: Arc::new(fake) };
        play(&stage.fake, FAULTS.len() - 1).map_err(|problem| anyhow!(problem))?;
        Ok(stage)
    }

    /// A council of these members, as a person would write it.
    pub(super) fn config(&self) -> anyhow::Result<Config> {
        let mut text = String::from("[council]\nmembers = [\"claude\", \"gemini\", \"grok\"]\npolicy = \"fake\"\n");
        text += &format!("[policies.fake]\nextends = \"council\"\n[policies.fake.on]\n{STEPS}\n");
        for (name, dialect, vendor, model, fallback) in MEMBERS {
            let url = self.fake.endpoint_url(name);
            text += &format!("[council.member.{name}]\nmodel = {model:?}\nfallback = [{fallback:?}]\n");
            text += &format!("[endpoints.{name}]\ndialect = {dialect:?}\nurl = {url:?}\n");
            text += &format!("[models.{model:?}]\nvendor = {vendor:?}\nendpoints = [{name:?}]\n");
            if fallback != model {
                text += &format!("[models.{fallback:?}]\nvendor = {vendor:?}\nendpoints = [{name:?}]\n");
            }
        }
        let file = ConfigFile::from_bytes("fake.toml", text.into_bytes()).map_err(|problems| anyhow!("{problems}"))?;
        let no_secret = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let sources =
            Sources { file: Some(file), environment: Vec::new(), settings: Vec::new(), read_secret: &no_secret };
        let loaded = steadfast_config::load(sources).map_err(|problems| anyhow!("{problems}"))?;
        Ok(loaded.config)
    }

    pub(super) fn chaos(&self) -> Chaos {
        let fake = Arc::clone(&self.fake);
        Chaos {
            labels: FAULTS.iter().map(|(label, _)| (*label).to_owned()).collect(),
            play: Box::new(move |position| play(&fake, position)),
        }
    }
}

/// Plays a fault; whoever it is not about is well.
fn play(fake: &Fake, position: usize) -> Result<(), String> {
    let (_, troubles) = FAULTS[position];
    for (seat, (name, _, _, model, fallback)) in MEMBERS.into_iter().enumerate() {
        for model in [model, fallback] {
            let trouble = troubles.iter().find(|(endpoint, troubled, _)| *endpoint == name && *troubled == model);
            let well = WORDS[seat].map(|words| format!("ok text={words:?} first=150ms delay=40ms")).join("; ");
            let script = match trouble {
                Some((_, _, trouble)) => format!("{trouble}; {well}; loop"),
                None => format!("{well}; loop"),
            };
            // A hiccup is over when it is over.
            let script = if trouble.is_some() { script.replace("; loop", "") } else { script };
            fake.script_model(name, model, &script).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

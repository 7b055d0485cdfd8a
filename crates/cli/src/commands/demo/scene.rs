//! What is on show: the gateway's configuration, and the troubles the fake providers play in turn.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use steadfast_api::Configuration;
use steadfast_config::{ConfigFile, Loaded, Problems, Sources};
use steadfast_fake::{End, Fake, Received};

/// The endpoints, in the order of the screen. Every format has a first and a second.
pub(crate) const ENDPOINTS: [&str; 6] = ["openai-a", "openai-b", "anthropic-a", "anthropic-b", "gemini-a", "gemini-b"];

/// How a provider answers while it is well: about as a quick model would, with a tool call where
/// the request brings tools.
const WELL: &str = "ok answer=text+tool first=60ms delay=12ms";

/// One trouble.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    /// What it is, in words.
    pub(crate) title: &'static str,
    /// Which endpoints suffer, and from what; they are well in between.
    troubles: &'static [(&'static str, &'static str)],
}

/// Troubles that show something within a second come first: a short demo shows them too.
pub(crate) const SCENES: [Scene; 8] = [
    Scene {
        title: "openai-a limits the rate, anthropic-a is overloaded",
        troubles: &[("openai-a", "rate=2/1s"), ("anthropic-a", "60%: overloaded")],
    },
    Scene { title: "gemini-a is down: resets and 503", troubles: &[("gemini-a", "50%: status=503; 100%: reset")] },
    Scene {
        title: "streams of openai-a and anthropic-a are cut in the middle",
        troubles: &[("openai-a", "stream: 60%: cut=6"), ("anthropic-a", "stream: 60%: cut=6")],
    },
    Scene {
        title: "openai-a breaks off inside tool calls",
        troubles: &[("openai-a", "stream: 70%: answer=text+tool cut-in-tool")],
    },
    Scene { title: "openai-a's quota is used up", troubles: &[("openai-a", "100%: quota")] },
    Scene {
        title: "anthropic-a falls silent before the first word",
        troubles: &[("anthropic-a", "stream: 60%: stall=0")],
    },
    Scene {
        title: "gemini-a: broken events, missing ends, errors inside a 200",
        troubles: &[("gemini-a", "stream: 35%: malformed=4; stream: 35%: no-done; 40%: error200")],
    },
    Scene { title: "openai-a is down: every request gets a 500", troubles: &[("openai-a", "100%: status=500")] },
];

/// What the demo calls each fault that it plays; the order is that of asking.
const FAULTS: [(&str, &str); 12] = [
    ("rate", "rate limit"),
    ("overloaded", "overloaded"),
    ("status=503", "status 503"),
    ("reset", "reset"),
    ("cut-in-tool", "cut in tool call"),
    ("cut=", "stream cut"),
    ("quota", "quota"),
    ("stall", "silence"),
    ("malformed", "broken event"),
    ("no-done", "missing end"),
    ("error200", "error in a 200"),
    ("status=500", "status 500"),
];

impl Scene {
    /// Makes the endpoints play it.
    pub(crate) fn play(&self, fake: &Fake) -> anyhow::Result<()> {
        for endpoint in ENDPOINTS {
            let trouble = self.troubles.iter().find(|(name, _)| *name == endpoint);
            let script = trouble.map_or_else(|| WELL.to_owned(), |(_, trouble)| format!("{trouble}; {WELL}"));
            fake.script(endpoint, &script).with_context(|| format!("the script `{script}` of `{}`", self.title))?;
        }
        Ok(())
    }
}

/// Everybody is well.
pub(crate) const CALM: Scene = Scene { title: "all is well", troubles: &[] };

/// How long a scene lasts: long enough to be read, short enough for all of them to be seen.
pub(crate) fn scene_time(whole: Option<Duration>) -> Duration {
    let all = SCENES.len() as u32;
    let least = Duration::from_secs(1);
    let most = Duration::from_secs(10);
    whole.map_or(most, |whole| (whole / all).clamp(least, most))
}

/// What went wrong with a request at the fake, in the demo's words; nothing where it was served.
/// The outer `None`: nobody can say, because the request was given up before its end.
pub(crate) fn judged(request: &Received) -> Option<Option<&'static str>> {
    let known = FAULTS.iter().find(|(spec, _)| request.fault.contains(spec)).map(|(_, words)| *words);
    match (known, request.end) {
        (Some(words), _) => Some(Some(words)),
        (None, End::Answered) => Some(None),
        (None, End::Faulted) => Some(Some("other")),
        (None, End::ClientLeft { .. } | End::Running) => None,
    }
}

/// The gateway's configuration: policy `default` as it is shipped, but for the patience with a
/// silent stream and the rest after an exhausted quota, which nobody has in a demo.
pub(crate) struct Script(String);

impl Script {
    pub(crate) fn of(fake: &Fake, listen: &str, log: &Path) -> Self {
        let mut text = format!("listen = {listen:?}\n");
        let mut ladders = String::from("[ladders]\n");
        for (dialect, endpoints, models) in [
            ("openai", ["openai-a", "openai-b"], ["gpt-5", "gpt-5-mini"]),
            ("anthropic", ["anthropic-a", "anthropic-b"], ["claude-sonnet-4-5", "claude-haiku-4-5"]),
            ("gemini", ["gemini-a", "gemini-b"], ["gemini-2.5-pro", "gemini-2.5-flash"]),
        ] {
            for endpoint in endpoints {
                let url = fake.endpoint_url(endpoint);
                text += &format!("[endpoints.{endpoint}]\ndialect = {dialect:?}\nurl = {url:?}\n");
            }
            let [first, second] = models;
            text += &format!("[models.{first:?}]\nendpoints = [{:?}]\nfallback = [{second:?}]\n", endpoints[0]);
            text += &format!("[models.{second:?}]\nendpoints = [{:?}]\n", endpoints[1]);
            ladders += &format!("{dialect} = [{second:?}, {first:?}]\n");
        }
        text += &ladders;
        text += "[policies.default]\ntimeouts = { first_token = \"1.5s\", idle = \"1.5s\" }\nquota_rest = \"8s\"\n";
        text += &format!("[log]\ndecisions = {{ path = {:?} }}\n", log.display().to_string());
        Self(text)
    }
}

impl Configuration for Script {
    fn load(&self, stored: &Value) -> Result<Loaded, Problems> {
        let file = ConfigFile::from_bytes("demo.toml", self.0.clone().into_bytes())?;
        let no_secret = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let sources =
            Sources { file: Some(file), environment: Vec::new(), settings: Vec::new(), read_secret: &no_secret };
        steadfast_config::load_with(sources, stored)
    }
}

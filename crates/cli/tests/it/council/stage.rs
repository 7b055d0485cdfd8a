//! A folder with a council of three in it, and the fake providers it speaks with.

use std::fmt::Write as _;

use steadfast_fake::Fake;
use tokio::runtime::Runtime;

use crate::{Folder, Transcript};

/// Name, wire format, vendor, model, fallback. Grok has none, as in the seed document.
const MEMBERS: [(&str, &str, &str, &str, &str); 3] = [
    ("claude", "anthropic", "anthropic", "claude-sonnet-4-5", "claude-haiku-4-5"),
    ("gemini", "gemini", "google", "gemini-2.5-pro", "gemini-2.5-flash"),
    ("grok", "openai", "xai", "grok-4", "grok-4"),
];

pub(super) struct Stage {
    pub(super) folder: Folder,
    pub(super) fake: Fake,
    runtime: Runtime,
}

impl Stage {
    /// A council whose failures follow these steps.
    pub(super) fn new(steps: &str) -> Self {
        Self::with(&["claude", "gemini", "grok"], steps, "")
    }

    /// A council of these members; `more` stands below `[council]`.
    pub(super) fn with(members: &[&str], steps: &str, more: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let fake = runtime.block_on(Fake::start()).unwrap();
        let mut config = format!("[council]\nmembers = {members:?}\npolicy = \"quick\"\n{more}\n");
        write!(config, "[policies.quick]\nextends = \"council\"\n[policies.quick.on]\n{steps}\n").unwrap();
        for (name, dialect, vendor, model, fallback) in MEMBERS {
            let url = fake.endpoint_url(name);
            write!(config, "[endpoints.{name}]\ndialect = {dialect:?}\nurl = {url:?}\n").unwrap();
            for model in if model == fallback { vec![model] } else { vec![model, fallback] } {
                write!(config, "[models.{model:?}]\nvendor = {vendor:?}\nendpoints = [{name:?}]\n").unwrap();
            }
            if members.contains(&name) {
                write!(config, "[council.member.{name}]\nmodel = {model:?}\nfallback = [{fallback:?}]\n").unwrap();
            }
            fake.script(name, &format!("ok text=\"I am {name}.\"")).unwrap();
        }
        let folder = Folder::new();
        folder.write("steadfast.toml", &config);
        Self { folder, fake, runtime }
    }

    /// What a member's own model does from now on.
    pub(super) fn script(&self, name: &str, script: &str) {
        let (_, _, _, model, _) = MEMBERS.into_iter().find(|(known, ..)| *known == name).unwrap();
        self.fake.script_model(name, model, script).unwrap();
    }

    /// The lines of every session so far.
    pub(super) fn session(&self) -> String {
        let folder = self.folder.0.join(".local/state/steadfast/council");
        let files = std::fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path());
        let sessions = files.filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        sessions.map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    /// The name of the only session, or of one of them.
    pub(super) fn session_id(&self) -> String {
        let head: serde_json::Value = serde_json::from_str(self.session().lines().next().unwrap()).unwrap();
        head["id"].as_str().unwrap().to_owned()
    }

    /// How often a member's endpoint was asked in this way.
    pub(super) fn asked(&self, name: &str, method: &str) -> usize {
        let requests = self.fake.requests();
        requests.iter().filter(|request| request.endpoint == name && request.method == method).count()
    }

    pub(super) fn network_away(&self) {
        self.runtime.block_on(async {
            self.fake.stop_listening().await;
            self.fake.drop_connections().await;
        });
    }

    pub(super) fn network_back(&self) {
        self.runtime.block_on(self.fake.listen_again()).unwrap();
    }

    /// What the council says to these lines, through pipes.
    pub(super) fn pipe(&self, input: &str) -> Transcript {
        pipe(&self.folder, &["council"], input)
    }
}

/// Runs the binary in this folder, which is its home too.
pub(super) fn pipe(folder: &Folder, arguments: &[&str], input: &str) -> Transcript {
    let (home, path) = (folder.0.display().to_string(), std::env::var("PATH").unwrap());
    folder.command(arguments, &[("HOME", &home), ("PATH", &path)], input)
}

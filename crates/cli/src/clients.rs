//! The clients people run, and what points each of them at the gateway: which file, which key, which value.
//!
//! One table for `setup`, which writes it, and `doctor`, which looks whether it is there. docs/clients.md says where
//! each line comes from. Knows paths and keys; `edit` knows the formats, `file` the disk.

pub(crate) mod edit;
pub(crate) mod file;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use edit::{Entry, Format, Setting};

/// A client that can be pointed at the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    Claude,
    /// OpenAI Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
    /// OpenClaw
    Openclaw,
    /// Cursor
    Cursor,
    /// Programs on the Python SDKs of OpenAI, Anthropic and Google
    Python,
    /// Programs on the JavaScript SDKs of OpenAI, Anthropic and Google, and the Vercel AI SDK
    Node,
}

/// What points a client at the gateway.
#[derive(Debug, Default)]
pub(crate) struct Recipe {
    /// The files to change.
    pub(crate) files: Vec<Change>,
    /// What only a person can do, and what is good to know.
    pub(crate) notes: Vec<String>,
}

/// What to change in one file.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) entries: Vec<Entry>,
}

/// Where the gateway is, as its clients name it: without a version, without a slash at the end.
#[derive(Clone, Debug)]
pub(crate) struct Base(String);

impl Base {
    /// The gateway that listens here, for clients of this project.
    pub(crate) fn new(listen: SocketAddr, project: Option<&str>) -> Self {
        // Nobody can connect to "every address of this machine"; its loopback is one of them.
        let ip = match listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let project = project.map(|name| format!("/p/{name}")).unwrap_or_default();
        Self(format!("http://{}{project}", SocketAddr::new(ip, listen.port())))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this text names the gateway, by its address or as `localhost`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let local =
            ["127.0.0.1", "[::1]"].iter().find_map(|ip| self.0.contains(ip).then(|| self.0.replace(ip, "localhost")));
        let spellings = [Some(self.0.clone()), local];
        spellings.iter().flatten().any(|url| {
            // A longer port is another address.
            let ends = text.match_indices(url).map(|(at, _)| at + url.len());
            ends.into_iter().any(|end| !text[end..].starts_with(|c: char| c.is_ascii_digit()))
        })
    }

    fn with(&self, version: &str) -> Setting {
        Setting::Text(format!("{}{version}", self.0))
    }
}

impl Client {
    /// Those whose configuration is in files that can be looked at.
    pub(crate) const WITH_FILES: [Self; 5] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Openclaw];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Openclaw => "openclaw",
            Self::Cursor => "cursor",
            Self::Python => "python",
            Self::Node => "node",
        }
    }

    /// What points it at the gateway, for the user of this environment.
    pub(crate) fn recipe(self, base: &Base, environment: &[(String, String)]) -> anyhow::Result<Recipe> {
        let places = Places(environment);
        match self {
            Self::Claude => claude(base, &places),
            Self::Codex => codex(base, &places),
            Self::Gemini => gemini(base, &places),
            Self::Opencode => opencode(base, &places),
            Self::Openclaw => openclaw(base, &places),
            Self::Cursor => Ok(cursor(base)),
            Self::Python => Ok(python(base)),
            Self::Node => Ok(node(base)),
        }
    }
}

fn claude(base: &Base, places: &Places<'_>) -> anyhow::Result<Recipe> {
    let folder = places.variable("CLAUDE_CONFIG_DIR").map_or_else(|| places.home(".claude"), Ok)?;
    Ok(Recipe {
        files: vec![Change {
            path: folder.join("settings.json"),
            format: Format::Json,
            entries: vec![Entry::new(&["env", "ANTHROPIC_BASE_URL"], base.with(""))],
        }],
        notes: vec!["your own login or ANTHROPIC_API_KEY passes through, unless the gateway has a key".to_owned()],
    })
}

fn codex(base: &Base, places: &Places<'_>) -> anyhow::Result<Recipe> {
    let folder = places.variable("CODEX_HOME").map_or_else(|| places.home(".codex"), Ok)?;
    let provider = |key: &'static str, setting| Entry::new(&["model_providers", "steadfast", key], setting);
    Ok(Recipe {
        files: vec![Change {
            path: folder.join("config.toml"),
            format: Format::Toml,
            entries: vec![
                Entry::new(&["model_provider"], Setting::text("steadfast")),
                provider("name", Setting::text("Steadfast")),
                provider("base_url", base.with("/v1")),
                provider("env_key", Setting::text("OPENAI_API_KEY")),
                provider("wire_api", Setting::text("responses")),
                // The gateway speaks HTTP; without this the first turn begins with a refused upgrade.
                provider("supports_websockets", Setting::Flag(false)),
                // The gateway has made them. A stream that breaks in the middle is asked for again: only the client can.
                provider("request_max_retries", Setting::Number(0)),
                provider("stream_max_retries", Setting::Number(2)),
            ],
        }],
        notes: vec!["OPENAI_API_KEY must be set for codex; any text will do where the gateway has a key. A ChatGPT login is not an API key and does not pass".to_owned()],
    })
}

fn gemini(base: &Base, places: &Places<'_>) -> anyhow::Result<Recipe> {
    let folder = places.home(".gemini")?;
    let method = &["security", "auth", "selectedType"];
    Ok(Recipe {
        files: vec![
            Change {
                path: folder.join(".env"),
                format: Format::Env,
                entries: vec![Entry::new(&["GOOGLE_GEMINI_BASE_URL"], base.with(""))],
            },
            Change {
                path: folder.join("settings.json"),
                format: Format::Json,
                // With the variable alone it says "Invalid auth method selected" (google-gemini/gemini-cli#27550).
                entries: vec![Entry::new(method, Setting::text("gemini-api-key"))],
            },
        ],
        notes: vec![
            "GEMINI_API_KEY must be set for gemini; any text will do where the gateway has a key. A Google login does not pass".to_owned(),
            "a .env nearer to where gemini is started is read in place of this one".to_owned(),
        ],
    })
}

fn opencode(base: &Base, places: &Places<'_>) -> anyhow::Result<Recipe> {
    let folder = places.config()?.join("opencode");
    // The one that is there; of several, the one read last.
    let found = ["opencode.jsonc", "opencode.json", "config.json"].map(|name| folder.join(name));
    let found = found.into_iter().find(|path| path.exists());
    let path = places.variable("OPENCODE_CONFIG").or(found).unwrap_or_else(|| folder.join("opencode.json"));
    let url =
        |provider: &'static str, version| Entry::new(&["provider", provider, "options", "baseURL"], base.with(version));
    Ok(Recipe {
        files: vec![Change {
            path,
            format: Format::Json,
            entries: vec![url("anthropic", "/v1"), url("openai", "/v1"), url("google", "/v1beta")],
        }],
        notes: vec![
            "models and keys of these three providers stay as they are; other providers are not changed".to_owned(),
        ],
    })
}

fn openclaw(base: &Base, places: &Places<'_>) -> anyhow::Result<Recipe> {
    let path = match (places.variable("OPENCLAW_CONFIG_PATH"), places.variable("OPENCLAW_STATE_DIR")) {
        (Some(path), _) => path,
        (None, Some(folder)) => folder.join("openclaw.json"),
        (None, None) => places.home(".openclaw/openclaw.json")?,
    };
    let provider = |name: &'static str, version| {
        let at = |key| ["models", "providers", name, key];
        // A provider without a list of models is refused; an empty one leaves the catalogue as it is.
        [Entry::new(&at("baseUrl"), base.with(version)), Entry::new(&at("models"), Setting::EmptyList).if_absent()]
    };
    let entries = [provider("anthropic", ""), provider("openai", "/v1"), provider("google", "/v1beta")];
    Ok(Recipe {
        files: vec![Change { path, format: Format::Json, entries: entries.into_iter().flatten().collect() }],
        notes: vec!["restart OpenClaw's gateway afterwards".to_owned()],
    })
}

fn cursor(base: &Base) -> Recipe {
    Recipe {
        files: Vec::new(),
        notes: vec![
            "Cursor keeps this in its own settings: Cursor Settings > Models > API Keys > Override OpenAI Base URL".to_owned(),
            format!("set it to {}/v1 and enter an OpenAI API key", base.0),
            "Cursor's servers call that address, not your machine: it needs a public https name in front of the gateway, and the gateway an [admin] token or project keys".to_owned(),
        ],
    }
}

/// What the SDKs themselves read from the environment.
fn variables(base: &Base) -> Change {
    Change {
        path: ".env".into(),
        format: Format::Env,
        entries: vec![
            Entry::new(&["OPENAI_BASE_URL"], base.with("/v1")),
            Entry::new(&["ANTHROPIC_BASE_URL"], base.with("")),
            Entry::new(&["GOOGLE_GEMINI_BASE_URL"], base.with("")),
        ],
    }
}

fn python(base: &Base) -> Recipe {
    let notes = [
        "the SDKs read these from the environment; a .env file only where the program loads it (`export` them otherwise)",
        "let the gateway retry: OpenAI(max_retries=0), Anthropic(max_retries=0); google-genai does not retry",
    ];
    Recipe { files: vec![variables(base)], notes: notes.map(str::to_owned).to_vec() }
}

fn node(base: &Base) -> Recipe {
    let notes = [
        "the SDKs read these from the environment; a .env file with `node --env-file=.env` or where the program loads it".to_owned(),
        "let the gateway retry: new OpenAI({ maxRetries: 0 }), new Anthropic({ maxRetries: 0 }), generateText({ maxRetries: 0 })".to_owned(),
        format!("the Vercel AI SDK wants the version in every address, and none from the environment for Google: createAnthropic({{ baseURL: \"{0}/v1\" }}), createGoogle({{ baseURL: \"{0}/v1beta\" }})", base.0),
    ];
    Recipe { files: vec![variables(base)], notes: notes.to_vec() }
}

/// Where programs keep their files.
struct Places<'a>(&'a [(String, String)]);

impl Places<'_> {
    fn variable(&self, wanted: &str) -> Option<PathBuf> {
        let found = self.0.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.into())
    }

    fn home(&self, inside: &str) -> anyhow::Result<PathBuf> {
        let home = self.variable("HOME").context("HOME is not set, and the client's files are in it")?;
        Ok(home.join(inside))
    }

    fn config(&self) -> anyhow::Result<PathBuf> {
        self.variable("XDG_CONFIG_HOME").map_or_else(|| self.home(".config"), Ok)
    }
}

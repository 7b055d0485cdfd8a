//! The agents that are known: how each is started, resumed, read and pointed at the gateway.
//!
//! One table, measured against the released programs (docs/supervisor.md says what was seen). A user's `[agents.NAME]`
//! changes a row or adds one.

use std::time::Duration;

/// How to start an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// The same to go on with a conversation; empty where the agent cannot.
    pub resume: Vec<String>,
    /// What it writes.
    pub output: AgentOutput,
    /// Variables it is started with.
    pub environment: Vec<(String, crate::Secret)>,
    /// How it is pointed at the gateway.
    pub gateway: AgentGateway,
    /// The address that answers while it can work, where it does not go to the gateway.
    pub health: Option<String>,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How long it may say nothing.
    pub silence: Duration,
}

/// How an agent is pointed at the gateway; `{gateway}` is its address, `{key}` a key that opens it, where one is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentGateway {
    /// Variables it is started with.
    pub environment: Vec<(String, String)>,
    /// Variables it is started with where nobody has set them: keys that only must be there.
    pub defaults: Vec<(String, String)>,
    /// Arguments it is started with.
    pub arguments: Vec<String>,
}

/// What an agent writes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentOutput {
    /// Anything: its exit status says how it ended.
    #[default]
    Text,
    /// Claude Code's `stream-json`.
    Claude,
    /// The events of `codex exec --json`.
    Codex,
    /// Gemini CLI's `stream-json`.
    Gemini,
    /// The events of `opencode run --format json`.
    Opencode,
    /// The envelope of `openclaw agent exec --json`.
    Openclaw,
}

/// The names that are filled in within a command.
pub const PLACEHOLDERS: &[&str] =
    &["task", "task_file", "model", "label", "session", "project", "attempt", "gateway", "arguments"];

/// How long one attempt may take: agents work for an hour at times, and rarely for more.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);

/// How long an agent may say nothing. Their own retries take three minutes (clients.md 4), and a build or a test
/// that they run may take ten.
pub(crate) const SILENCE: Duration = Duration::from_secs(15 * 60);

struct Row {
    name: &'static str,
    command: &'static [&'static str],
    resume: &'static [&'static str],
    output: AgentOutput,
    environment: &'static [(&'static str, &'static str)],
    gateway: &'static [(&'static str, &'static str)],
    defaults: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
}

/// opencode takes a configuration from a variable; the three providers it knows best are moved.
const OPENCODE_CONFIG: &str = concat!(
    r#"{"provider":{"anthropic":{"options":{"baseURL":"{gateway}/v1","headers":{"x-steadfast-key":"{key}"}}},"#,
    r#""openai":{"options":{"baseURL":"{gateway}/v1","headers":{"x-steadfast-key":"{key}"}}},"#,
    r#""google":{"options":{"baseURL":"{gateway}/v1beta","headers":{"x-steadfast-key":"{key}"}}}}}"#
);

/// As in `steadfast setup codex`: the gateway has made the retries, only a stream that broke is asked for again.
const CODEX_PROVIDER: &str = concat!(
    r#"model_providers.steadfast={name="Steadfast",base_url="{gateway}/v1",env_key="OPENAI_API_KEY","#,
    r#"wire_api="responses",supports_websockets=false,request_max_retries=0,stream_max_retries=2,"#,
    r#"env_http_headers={"x-steadfast-key"="STEADFAST_KEY"}}"#
);

/// The variable that holds the key of a task whose project has keys.
pub const KEY_VARIABLE: &str = "STEADFAST_KEY";

const ROWS: &[Row] = &[
    Row {
        name: "claude",
        command: &[
            "claude",
            "-p",
            "{task}",
            "--model",
            "{model}",
            "--output-format",
            "stream-json",
            "--verbose",
            "--session-id",
            "{session}",
            "{arguments}",
        ],
        resume: &[
            "claude",
            "-p",
            "{task}",
            "--model",
            "{model}",
            "--output-format",
            "stream-json",
            "--verbose",
            "--resume",
            "{session}",
            "{arguments}",
        ],
        output: AgentOutput::Claude,
        environment: &[("DISABLE_AUTOUPDATER", "1")],
        gateway: &[
            ("ANTHROPIC_BASE_URL", "{gateway}"),
            ("CLAUDE_CODE_MAX_RETRIES", "2"),
            ("ANTHROPIC_CUSTOM_HEADERS", "x-steadfast-key: {key}"),
        ],
        defaults: &[],
        arguments: &[],
    },
    Row {
        name: "codex",
        command: &["codex", "exec", "--json", "--skip-git-repo-check", "-m", "{model}", "{arguments}", "{task}"],
        // Some of its options, such as the sandbox, are known before `resume` only.
        resume: &[
            "codex",
            "exec",
            "--json",
            "--skip-git-repo-check",
            "-m",
            "{model}",
            "{arguments}",
            "resume",
            "{session}",
            "{task}",
        ],
        output: AgentOutput::Codex,
        environment: &[],
        gateway: &[],
        defaults: &[("OPENAI_API_KEY", "steadfast")],
        arguments: &["-c", r#"model_provider="steadfast""#, "-c", CODEX_PROVIDER],
    },
    Row {
        name: "gemini",
        command: &[
            "gemini",
            "-p",
            "{task}",
            "-m",
            "{model}",
            "-o",
            "stream-json",
            "--session-id",
            "{session}",
            "--skip-trust",
            "{arguments}",
        ],
        resume: &[
            "gemini",
            "-p",
            "{task}",
            "-m",
            "{model}",
            "-o",
            "stream-json",
            "--resume",
            "{session}",
            "--skip-trust",
            "{arguments}",
        ],
        output: AgentOutput::Gemini,
        environment: &[],
        gateway: &[("GOOGLE_GEMINI_BASE_URL", "{gateway}"), ("GEMINI_CLI_CUSTOM_HEADERS", "x-steadfast-key: {key}")],
        defaults: &[("GEMINI_API_KEY", "steadfast")],
        arguments: &[],
    },
    Row {
        name: "opencode",
        command: &["opencode", "run", "--model", "{model}", "--format", "json", "{arguments}", "{task}"],
        resume: &[
            "opencode",
            "run",
            "--session",
            "{session}",
            "--model",
            "{model}",
            "--format",
            "json",
            "{arguments}",
            "{task}",
        ],
        output: AgentOutput::Opencode,
        environment: &[],
        gateway: &[("OPENCODE_CONFIG_CONTENT", OPENCODE_CONFIG)],
        defaults: &[],
        arguments: &[],
    },
    Row {
        name: "openclaw",
        command: &["openclaw", "agent", "exec", "{task}", "--model", "{model}", "--json", "{arguments}"],
        resume: &[],
        output: AgentOutput::Openclaw,
        environment: &[],
        gateway: &[],
        defaults: &[],
        arguments: &[],
    },
];

/// The agents that need no configuration, by name.
pub(crate) fn built_in() -> impl Iterator<Item = (String, Agent)> {
    ROWS.iter().map(|row| (row.name.to_owned(), row.agent()))
}

/// The built-in agent of this name.
pub(crate) fn built_in_named(name: &str) -> Option<Agent> {
    ROWS.iter().find(|row| row.name == name).map(Row::agent)
}

/// The names of the built-in agents.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

impl Agent {
    /// Any command, whose exit status says how it ended.
    pub fn command(command: Vec<String>) -> Self {
        Self {
            command,
            resume: Vec::new(),
            output: AgentOutput::Text,
            environment: Vec::new(),
            gateway: AgentGateway::default(),
            health: None,
            timeout: TIMEOUT,
            silence: SILENCE,
        }
    }

    /// The built-in agent whose program this is, by the last part of its path.
    pub fn of_program(program: &str) -> Option<Self> {
        let name = program.rsplit('/').next().unwrap_or(program);
        built_in_named(name)
    }
}

impl AgentGateway {
    /// The variables that point an agent there. Without a key, those that would hold nothing but it are not set.
    pub fn variables(&self, has_key: bool) -> impl Iterator<Item = &(String, String)> {
        self.environment
            .iter()
            .filter(move |(_, value)| has_key || !value.contains("{key}") || value.contains("{gateway}"))
    }

    /// Whether an agent can be handed a key. One whose variable somebody else has set cannot: it would be lost.
    pub fn takes_key(&self, is_set: impl Fn(&str) -> bool) -> bool {
        let by_variable = self.environment.iter().any(|(name, value)| value.contains("{key}") && !is_set(name));
        by_variable || self.arguments.iter().any(|part| part.contains(KEY_VARIABLE))
    }
}

impl Row {
    fn agent(&self) -> Agent {
        let texts = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Agent {
            resume: texts(self.resume),
            output: self.output,
            environment: pairs(self.environment)
                .into_iter()
                .map(|(name, value)| (name, crate::Secret::new(value)))
                .collect(),
            gateway: AgentGateway {
                environment: pairs(self.gateway),
                defaults: pairs(self.defaults),
                arguments: texts(self.arguments),
            },
            ..Agent::command(texts(self.command))
        }
    }
}

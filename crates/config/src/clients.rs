//! What is known about the programs that call: how each is recognised, and what it does with a
//! failure, a wait and a heartbeat.
//!
//! Measured on released clients (2026-11): no single answer stops them all from repeating a request
//! whose retries have been made, so a final failure is told to each in the words it stops at. Names
//! that clients send live here and in the configuration, nowhere else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::FailureKind;
use steadfast_core::policy::Trigger;

/// One kind of client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name in the configuration, the log and the path prefix `/c/NAME`.
    pub name: Arc<str>,
    /// Any of these tells it; none: only its name does.
    pub signs: Vec<Sign>,
    /// How final failures are told. `Default` speaks of statuses that clients take for temporary only.
    pub finals: BTreeMap<Trigger, Told>,
    /// Whether it is told when to come back.
    pub retry_after: bool,
    /// Whether a final failure that is told with another status says why. Some clients look for words in it, and ask
    /// again at "rate limit" or "500" whatever the status.
    pub says_why: bool,
    /// How long it waits for a response to begin.
    pub waits: Option<Duration>,
    /// How long the head of a stream is held back, so that a failure still has a status of its own;
    /// none: until the policy's first heartbeat.
    pub head_wait: Option<Duration>,
    /// What keeps it waiting.
    pub heartbeat: Heartbeat,
    /// The headers it names its conversation with, the best first.
    pub session: Vec<String>,
    /// The headers it names the agent within it with.
    pub agent: Vec<String>,
    /// The headers it names its project with; only projects that are configured and open count.
    pub project: Vec<String>,
}

/// What tells a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A header that is there, or one that contains a text.
    Header {
        /// Its name, in small letters.
        name: String,
        /// What it contains.
        text: Option<String>,
    },
    /// A path that begins like this.
    Path(String),
}

/// How a final failure is told; nothing: as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The status in place of the true one.
    pub status: Option<u16>,
    /// The kind in place of the true one.
    pub kind: Option<FailureKind>,
}

/// What keeps a client waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heartbeat {
    /// What the format's clients were measured to stand.
    #[default]
    Format,
    /// An `event: ping`.
    Ping,
    /// A comment line.
    Comment,
    /// An event of its own with data.
    Event,
    /// Blank lines.
    Blank,
    /// Nothing: the head waits as long as the answer takes.
    Never,
}

/// The client that nothing tells.
pub const UNKNOWN_CLIENT: &str = "unknown";

/// A row of the table.
struct Row {
    name: &'static str,
    signs: &'static [&'static str],
    finals: &'static [(Trigger, Told)],
    retry_after: bool,
    says_why: bool,
    waits_s: Option<u64>,
    head_wait_s: Option<u64>,
    heartbeat: Heartbeat,
    session: &'static [&'static str],
    agent: &'static [&'static str],
    project: &'static [&'static str],
}

const fn told(status: u16) -> Told {
    Told { status: Some(status), kind: None }
}

const fn told_as(status: u16, kind: FailureKind) -> Told {
    Told { status: Some(status), kind: Some(kind) }
}

/// Below the minute that proxies and load balancers give a silent connection.
const HEAD_WAIT_S: Option<u64> = Some(50);

/// A plain refusal: these know no other word for "do not come again".
const PLAIN_REFUSAL: &[(Trigger, Told)] = &[(Trigger::Default, told(400))];

/// The same in words that none is found in.
const BARE_REFUSAL: &[(Trigger, Told)] = &[(Trigger::Default, told_as(400, FailureKind::InvalidRequest))];

/// Keeps its status; `x-should-retry: false` does the rest.
const AS_IT_IS: &[(Trigger, Told)] = &[];

const SDK: Row = Row {
    name: "",
    signs: &[],
    finals: AS_IT_IS,
    retry_after: true,
    says_why: true,
    // They announce 600 s, each request its own.
    waits_s: Some(600),
    head_wait_s: HEAD_WAIT_S,
    heartbeat: Heartbeat::Format,
    session: &["x-session-id"],
    agent: &[],
    project: &["openai-project"],
};

/// Who is known, in the order in which they are looked for: programs before the SDKs inside them.
const ROWS: &[Row] = &[
    Row {
        name: "claude-code",
        signs: &["user-agent: claude-cli/", "x-claude-code-session-id"],
        // It repeats whatever has status 529 or says `overloaded_error`, whatever the headers ask for.
        finals: &[
            (Trigger::Status(529), told_as(500, FailureKind::ServerError)),
            (Trigger::Kind(FailureKind::Overloaded), told_as(500, FailureKind::ServerError)),
        ],
        waits_s: Some(360),
        session: &["x-claude-code-session-id"],
        agent: &["x-claude-code-agent-id"],
        project: &[],
        ..SDK
    },
    Row {
        name: "codex",
        signs: &["originator: codex", "user-agent: codex"],
        // 429 is the one status it never repeats, unless it says when to come back. In a stream it
        // goes by the code: `server_is_overloaded` and `insufficient_quota` end the turn. What a
        // quota's own answer says (until when) it shows to the user. 401 stays: it may renew its token.
        finals: &[
            (Trigger::Status(402), told(400)),
            (Trigger::Status(403), told(400)),
            (Trigger::Kind(FailureKind::QuotaExhausted), Told { status: None, kind: None }),
            (Trigger::Default, told_as(429, FailureKind::Overloaded)),
        ],
        retry_after: false,
        says_why: true,
        waits_s: Some(400),
        // An error event ends its turn as well as a status does.
        head_wait_s: None,
        // A comment does not reset its idle timer.
        heartbeat: Heartbeat::Event,
        session: &["session-id", "thread-id", "session_id", "conversation_id"],
        agent: &["x-openai-subagent"],
        project: &[],
    },
    Row {
        name: "gemini-cli",
        signs: &["user-agent: GeminiCLI"],
        // Only a quota counted per day makes it stop.
        finals: &[(Trigger::Default, told_as(429, FailureKind::QuotaExhausted))],
        retry_after: false,
        waits_s: Some(60),
        head_wait_s: Some(45),
        session: &[],
        project: &[],
        ..SDK
    },
    Row {
        name: "qwen-code",
        signs: &["user-agent: QwenCode"],
        finals: PLAIN_REFUSAL,
        waits_s: Some(120),
        session: &[],
        ..SDK
    },
    Row {
        name: "opencode",
        signs: &["user-agent: opencode/", "x-opencode-session", "x-session-affinity"],
        finals: BARE_REFUSAL,
        says_why: false,
        waits_s: Some(300),
        session: &["x-session-id", "x-opencode-session", "x-session-affinity"],
        project: &["x-opencode-project"],
        ..SDK
    },
    // Its requests look like those of the SDK inside it: `/c/openclaw` in its base URL tells it.
    Row { name: "openclaw", signs: &["user-agent: openclaw", "user-agent: OpenClaw"], finals: PLAIN_REFUSAL, ..SDK },
    // They make one attempt, whatever they are told. Their `google-genai-sdk` has the name of the next one in it.
    Row {
        name: "google-python",
        signs: &["x-goog-api-client: gl-python", "user-agent: gl-python"],
        waits_s: None,
        ..SDK
    },
    Row { name: "google-node", signs: &["x-goog-api-client: gl-node", "user-agent: gl-node"], waits_s: None, ..SDK },
    Row {
        name: "ai-sdk",
        signs: &["user-agent: ai-sdk", "user-agent: ai/"],
        finals: PLAIN_REFUSAL,
        waits_s: None,
        ..SDK
    },
    Row { name: "anthropic-python", signs: &["user-agent: Anthropic/Python"], ..SDK },
    Row { name: "anthropic-node", signs: &["user-agent: Anthropic/JS"], ..SDK },
    Row { name: "openai-python", signs: &["user-agent: OpenAI/Python"], ..SDK },
    Row { name: "openai-node", signs: &["user-agent: OpenAI/JS"], ..SDK },
    Row {
        name: UNKNOWN_CLIENT,
        waits_s: None,
        head_wait_s: None,
        session: &["x-claude-code-session-id", "session-id", "x-session-id", "session_id"],
        agent: &["x-claude-code-agent-id"],
        ..SDK
    },
];

/// The table.
pub(crate) fn built_in() -> Vec<Client> {
    ROWS.iter().map(Client::of).collect()
}

impl Client {
    fn of(row: &Row) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            name: row.name.into(),
            signs: row.signs.iter().map(|sign| Sign::parse(sign)).collect(),
            finals: row.finals.iter().copied().collect(),
            retry_after: row.retry_after,
            says_why: row.says_why,
            waits: row.waits_s.map(Duration::from_secs),
            head_wait: row.head_wait_s.map(Duration::from_secs),
            heartbeat: row.heartbeat,
            session: texts(row.session),
            agent: texts(row.agent),
            project: texts(row.project),
        }
    }
}

impl Sign {
    /// `"/path"`, `"header"` or `"header: text"`.
    pub(crate) fn parse(written: &str) -> Self {
        if written.starts_with('/') {
            return Self::Path(written.to_owned());
        }
        let (name, text) = match written.split_once(':') {
            Some((name, text)) => (name, Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            None => (written, None),
        };
        Self::Header { name: name.trim().to_ascii_lowercase(), text }
    }

    /// The same as it is written.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Path(path) => path.clone(),
            Self::Header { name, text: None } => name.clone(),
            Self::Header { name, text: Some(text) } => format!("{name}: {text}"),
        }
    }
}

/// The first client that path and headers tell; the last one is the one that nothing tells.
pub(crate) fn recognise<'a, 'h>(
    clients: &'a [Arc<Client>],
    path: &str,
    header: impl Fn(&str) -> Option<&'h str>,
) -> Option<&'a Arc<Client>> {
    // Nearly every sign is about this one, and most have a letter that it lacks.
    let agent = header("user-agent");
    let mut letters = [false; 256];
    agent.unwrap_or_default().bytes().for_each(|letter| letters[usize::from(letter)] = true);
    let may_hold = |text: &str| text.bytes().all(|letter| letters[usize::from(letter)]);
    let shows = |sign: &Sign| match sign {
        Sign::Path(start) => path.starts_with(start.as_str()),
        Sign::Header { name, text: Some(text) } if name == "user-agent" => {
            may_hold(text) && agent.is_some_and(|agent| agent.contains(text.as_str()))
        }
        Sign::Header { name, text } => {
            let holds = |sent: &str| text.as_ref().is_none_or(|text| sent.contains(text.as_str()));
            header(name).is_some_and(holds)
        }
    };
    clients.iter().find(|client| client.signs.iter().any(shows)).or(clients.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who sends these headers.
    fn who(headers: &[(&str, &str)]) -> String {
        let clients: Vec<_> = built_in().into_iter().map(Arc::new).collect();
        let find = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        recognise(&clients, "/v1/messages", find).unwrap().name.to_string()
    }

    #[test]
    fn clients_are_told_by_what_they_send() {
        let agents = [
            ("claude-cli/2.1.325 (external, sdk-cli)", "claude-code"),
            ("codex_exec/0.166.0 (Debian 12; x86_64)", "codex"),
            ("GeminiCLI-tui/0.61.0 (linux; x64)", "gemini-cli"),
            ("QwenCode/0.24.4 (linux; x64)", "qwen-code"),
            ("opencode/1.18.33 ai-sdk/provider-utils/4.0", "opencode"),
            ("ai/7.0.169 ai-sdk/openai/4.0.114 runtime/node.js/24", "ai-sdk"),
            ("AsyncAnthropic/Python 2.8.0", "anthropic-python"),
            ("Anthropic/JS 1.8.0", "anthropic-node"),
            ("OpenAI/Python 2.54.0", "openai-python"),
            ("OpenAI/JS 7.53.0", "openai-node"),
            ("curl/8.5.0", "unknown"),
            ("", "unknown"),
        ];
        for (agent, name) in agents {
            assert_eq!(who(&[("user-agent", agent)]), name, "{agent}");
        }
        assert_eq!(who(&[("originator", "codex_vscode")]), "codex");
        assert_eq!(who(&[("x-session-affinity", "ses_1"), ("user-agent", "ai-sdk/anthropic/4.0")]), "opencode");
        for (sdk, name) in [
            ("google-genai-sdk/3.1.0 gl-python/3.12", "google-python"),
            ("google-genai-sdk/2.1.0 gl-node/v24.21.0", "google-node"),
        ] {
            assert_eq!(who(&[("x-goog-api-client", sdk), ("user-agent", sdk)]), name);
            assert_eq!(who(&[("user-agent", sdk)]), name);
        }
        assert_eq!(who(&[]), "unknown");
    }

    #[test]
    fn the_table_is_sound() {
        let rows = built_in();
        assert_eq!(&*rows.last().unwrap().name, UNKNOWN_CLIENT);
        for row in &rows {
            let within = row.head_wait.zip(row.waits).is_none_or(|(head, waits)| head < waits);
            assert!(within, "{}: the head must come before the client leaves", row.name);
            let one = rows.iter().filter(|other| other.name == row.name).count();
            assert_eq!(one, 1, "{}", row.name);
            for sign in &row.signs {
                assert_eq!(Sign::parse(&sign.written()), *sign);
            }
        }
    }
}

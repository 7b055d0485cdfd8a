//! Clients as they are written.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use steadfast_core::FailureKind;

use super::policy::trigger_names;
use crate::clients::Heartbeat;
use crate::node::{Node, Path, Value};
use crate::problem::Report;
use crate::read::{Named, Read, Word, Words, section};
use crate::value::{Count, Wait, inline_schema};

section! {
    /// A program that calls: how it is recognised, and how it is told things. Those that Steadfast
    /// knows are changed under their names; every other name is a client of your own.
    RawClient {
        /// What tells it, any of: `"header"`, `"header: text it contains"`, or the beginning of a path, `"/v1/…"`.
        /// Your own clients are looked for first, in file order. Without it the client is told by its name alone:
        /// the header `x-steadfast-client` or `/c/NAME` in its base URL.
        r#match: Vec<String>,
        /// The client it behaves like, for everything that is not said here. Default `"unknown"`.
        like: String,
        /// How a final failure is told, by trigger: `http_529`, a kind, a category, `default` (whatever has a status
        /// that clients take for temporary: 408, 409, 425, 429 and 5xx). A status, `{ status = 429, kind =
        /// "overloaded" }`, or `"as_it_is"`. Merged trigger by trigger. 400 and 422 always pass untouched.
        r#final: RawFinals,
        /// Whether it is told when to come back, with `retry-after`. Default `true`.
        retry_after: bool,
        /// Whether a final failure that is told with another status says why. Default: as with `like`, and `true` with most;
        /// `false` for clients that look for words such as "rate limit" in it and ask again whatever the status.
        says_why: bool,
        /// How long it waits for a response to begin. Default: what it says itself.
        waits: Wait,
        /// How long the head of a stream is held back, so that a failure still has a status of its own. Default: until
        /// the policy's first heartbeat.
        head_wait: Wait,
        /// What keeps it waiting: `format` (what the format's clients stand), `ping`, `comment`, `event`, `blank` or
        /// `never`. Default `"format"`.
        heartbeat: Word<Heartbeat>,
        /// The headers it names its conversation with, the best first.
        session: Vec<String>,
        /// The headers it names the agent within it with, the best first.
        agent: Vec<String>,
        /// The headers it names its project with. They count only where such a project is configured and has no keys.
        project: Vec<String>,
    }
}

section! {
    /// How a final failure is told.
    RawToldTable {
        /// The status in place of the true one.
        status: ToldStatus,
        /// The kind in place of the true one.
        kind: Word<FailureKind>,
    }
}

/// How final failures are told, by trigger as written.
#[derive(Clone, Debug)]
pub(crate) struct RawFinals(pub(crate) Vec<(String, RawTold)>);

/// How one is told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawTold {
    pub(crate) status: Option<ToldStatus>,
    pub(crate) kind: Option<FailureKind>,
}

/// A failure's status.
pub(crate) type ToldStatus = Count<400, 599>;

/// The word for a failure that is told as it is.
pub(crate) const AS_IT_IS: &str = "as_it_is";

impl Read for RawFinals {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        Named::read(node, at, report).map(|named| Self(named.0))
    }
}

impl Read for RawTold {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        match &node.value {
            Value::Integer(_) => Some(Self { status: Some(ToldStatus::read(node, at, report)?), kind: None }),
            Value::Text(word) if word == AS_IT_IS => Some(Self::default()),
            Value::Table(_) => {
                let table = RawToldTable::read(node, at, report)?;
                Some(Self { status: table.status, kind: table.kind.map(|kind| kind.0) })
            }
            _ => {
                let help = "a status such as 400, { status = 429, kind = \"overloaded\" }, or \"as_it_is\"";
                report.refuse(at, format!("`{}` does not say how it is told", at.last_name()), help);
                None
            }
        }
    }
}

inline_schema!(RawFinals, "finals", |generator| json_schema!({
    "type": "object",
    "propertyNames": { "anyOf": [{ "enum": trigger_names() }, { "pattern": "^http_[1-9][0-9]{2}$" }] },
    "additionalProperties": RawTold::json_schema(generator),
}));
inline_schema!(RawTold, "told", |generator| json_schema!({
    "anyOf": [
        { "type": "integer", "minimum": 400, "maximum": 599 },
        { "const": AS_IT_IS },
        generator.subschema_for::<RawToldTable>(),
    ],
}));

impl Words for Heartbeat {
    const NOUN: &'static str = "heartbeat";

    fn all() -> Vec<(&'static str, Self)> {
        vec![
            ("format", Self::Format),
            ("ping", Self::Ping),
            ("comment", Self::Comment),
            ("event", Self::Event),
            ("blank", Self::Blank),
            ("never", Self::Never),
        ]
    }
}

//! Endpoints and models as they are written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::project::PerMinute;
use crate::config::Dialect;
use crate::node::{Node, Path, Value};
use crate::problem::Report;
use crate::read::{Named, Read, Word, Words, section};
use crate::value::{Count, SecretRef, TextOrRef, Usd, Wait, WebUrl, inline_schema};

section! {
    /// A base URL plus a credential at which models are served. Breakers and health belong to it.
    RawEndpoint {
        /// The wire format spoken there: `anthropic`, `openai` or `gemini`. Needed, except for
        /// providers that Steadfast knows by name.
        dialect: Word<Dialect>,
        /// The provider's base URL as people know it, with or without the version segment
        /// (`…/v1`, `…/v1beta`). Needed, except for providers that Steadfast knows by name.
        url: WebUrl,
        /// Where the key is kept: `{ env = "NAME" }` or `{ file = "path" }`. Default: none, the
        /// client's own key passes through.
        key: SecretRef,
        /// Headers added to every call. Default: none. A value is text, or `{ env = "NAME" }` for secrets.
        headers: Named<TextOrRef>,
        /// A question asked on a timer, to notice an outage before a user does. Default: none, because
        /// not every provider has a free path to ask.
        health: RawHealth,
        /// How fast it may be asked. Default: no limit but the one it tells itself.
        rate: RawEndpointRate,
        /// Speak HTTP/2. Default `false`: a stream with a connection of its own dies alone.
        http2: bool,
        /// Whether an endpoint that speaks `openai` knows the responses API. Default `true`; with `false`, clients
        /// of that API are translated to chat completions.
        responses: bool,
    }
}

section! {
    /// A health check.
    RawHealth {
        /// The path asked, such as `"/v1/models"`. Needed.
        path: String,
        /// How often. Default `"30s"`: noticed within a minute, and no load to speak of.
        every: Wait,
    }
}

section! {
    /// Attempts, sent elsewhere or waited for before the call when there are too many.
    RawEndpointRate {
        /// Attempts per minute, of all projects together: never more in any sixty seconds. Default: no limit.
        requests_per_minute: PerMinute,
        /// Whether what the provider says about its own limits counts too (`x-ratelimit-remaining-*`,
        /// `anthropic-ratelimit-*-remaining` and their resets). Default `true`; `false` for one that says it wrongly.
        learn: bool,
    }
}

section! {
    /// A model by the name users ask for.
    RawModel {
        /// Who makes it, such as `"anthropic"`. Default: told from the name of well-known families.
        /// A chain under a strict boundary never leaves it.
        vendor: String,
        /// Where it is served, in order of preference: endpoint names, or
        /// `{ endpoint = "…", as = "…" }` where it has another name there. Default: the vendor's own
        /// endpoint, or else all endpoints of its dialect, in file order.
        endpoints: Vec<RawServed>,
        /// The models to fall back to, in order. Default: none. Its own name alone means never, even
        /// where the project has a chain.
        fallback: Vec<String>,
        /// How many tokens it holds. Default: the built-in table; unknown means unchecked.
        context_window: Count<1, { u32::MAX }>,
        /// USD per million tokens. Default: the built-in table; unknown means no cost estimate, never zero.
        price: RawPrice,
        /// Whether it calls tools. Default `true`: a wrong `false` would lose a healthy target.
        tools: bool,
        /// Whether it reads images. Default `true`, for the same reason.
        images: bool,
        /// Whether it thinks aloud. Default `true`, for the same reason.
        thinking: bool,
    }
}

section! {
    /// What a model costs.
    RawPrice {
        /// USD per million input tokens. Needed.
        input: Usd,
        /// USD per million output tokens. Needed.
        output: Usd,
    }
}

section! {
    /// One place where a model is served under another name.
    RawServedTable {
        /// The endpoint's name. Needed.
        endpoint: String,
        /// The model's name there. Default: the same.
        r#as: String,
    }
}

/// One place where a model is served.
#[derive(Clone, Debug)]
pub(crate) struct RawServed {
    pub(crate) endpoint: String,
    pub(crate) alias: Option<String>,
}

impl Read for RawServed {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            return Some(Self { endpoint: String::read(node, at, report)?, alias: None });
        }
        let table = RawServedTable::read(node, at, report)?;
        if table.endpoint.is_none() && !report.refused_below(at) {
            report.refuse(at, "`endpoint` is missing", "{ endpoint = \"…\", as = \"the model's name there\" }");
        }
        Some(Self { endpoint: table.endpoint?, alias: table.r#as })
    }
}

inline_schema!(RawServed, "served", |generator| json_schema!({
    "anyOf": [{ "type": "string" }, generator.subschema_for::<RawServedTable>()],
}));

impl Words for Dialect {
    const NOUN: &'static str = "dialect";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("anthropic", Self::Anthropic), ("openai", Self::OpenAi), ("gemini", Self::Gemini)]
    }
}

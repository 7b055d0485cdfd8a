//! What was written: every table and key of `steadfast.toml`, with its default and its reason.
//!
//! This is the one definition: the reader, the "did you mean" lists and the JSON schema follow
//! from it. Nothing here is checked beyond the form of single values; `resolve` does the rest.

mod client;
pub(crate) mod faces;
mod policy;
mod project;
mod target;

use crate::read::{Named, section};

use faces::{RawAdmin, RawAlerts, RawCouncil, RawLog, RawProxy, RawService, RawShared, RawStore, RawTraces};

pub(crate) use client::{AS_IT_IS, RawClient};
pub(crate) use faces::RawAgent;
pub(crate) use policy::{JitterWord, RawBreaker, RawJitter, RawPolicy, RawStep, RawStepTable, StepWord, trigger_help};
pub(crate) use project::{PerMinute, RawMatch, RawProject, RawRule};
pub(crate) use target::{RawEndpoint, RawModel};

section! {
    /// The configuration of Steadfast: `steadfast.toml`.
    ///
    /// Layers, later ones win: built-in defaults, this file, environment variables
    /// (`STEADFAST_LISTEN`, `STEADFAST_PROJECTS__ACME__POLICY`), flags (`--set key.path=value`).
    RawConfig {
        /// The address the gateway listens on, `"host:port"`. Default `"127.0.0.1:4141"`: only this
        /// machine. Any other address needs `admin.token`.
        listen: String,
        /// Whether Steadfast recovers at all. Default `true`; `false` makes it a plain proxy, for a
        /// gradual roll-out. A project can be switched off by itself.
        enabled: bool,
        /// Base URLs at which models are served, by name, in order of preference. Default: `anthropic`,
        /// `openai` and `gemini` with their public addresses, so that no file is needed.
        endpoints: Named<RawEndpoint>,
        /// Models by the name users ask for. Default: none; a model that is not listed goes to the
        /// endpoints of the client's own dialect under its own name.
        models: Named<RawModel>,
        /// Where every request may fall back to, in order, where nothing nearer says: neither itself, nor its project,
        /// nor its model. Default: none, so it can only be retried.
        chain: Vec<String>,
        /// Models to escalate to, from the cheapest to the most capable, by a name of your choice.
        /// Default: none, so nothing escalates.
        ladders: Named<Vec<String>>,
        /// What to do about each kind of failure, by name. The templates `default`, `hardened`,
        /// `escalating`, `patterns`, `council` and `session-manager` are always there.
        policies: Named<RawPolicy>,
        /// Who owns policies, budgets and keys. Requests without a project belong to `default`, which
        /// always exists.
        projects: Named<RawProject>,
        /// Programs that call, by name: how each is recognised, and how it is told of a final failure. Default: a
        /// table of those that were measured (docs/gateway.md).
        clients: Named<RawClient>,
        /// Your own classification of failures, asked before the built-in one; the first match wins.
        rules: Vec<RawRule>,
        /// How the supervisor starts an agent, by name. Default: `claude`, `codex`, `gemini`, `opencode` and
        /// `openclaw` as they were measured (docs/supervisor.md).
        agents: Named<RawAgent>,
        /// Local services that agents need, by name: watched, restarted, registered again.
        services: Named<RawService>,
        /// The council: several models in one terminal.
        council: RawCouncil,
        /// Where events, sessions and tasks are kept.
        store: RawStore,
        /// What replicas share.
        shared: RawShared,
        /// What is logged.
        log: RawLog,
        /// The proxy through which providers are reached.
        proxy: RawProxy,
        /// Where OpenTelemetry traces are sent.
        traces: RawTraces,
        /// Who is told when things go wrong.
        alerts: RawAlerts,
        /// The control API and the dashboard.
        admin: RawAdmin,
    }
}

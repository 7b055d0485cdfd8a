//! What is true: the configuration after all layers, defaults and checks.
//!
//! Whoever holds a [`Config`] may rely on it: every name it mentions exists, every chain can be
//! walked, every number is within its bounds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::breaker;
use steadfast_core::classify::UserRule;
use steadfast_core::policy::{Policy, VendorBoundary};
use steadfast_core::route::{Abilities, Catalogue, EndpointId, Model, Route, Served};

use crate::agents::Agent;
use crate::clients::{self, Client};
use crate::models;
use crate::secret::Secret;
use crate::url::BaseUrl;

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the gateway listens.
    pub listen: SocketAddr,
    /// Whether anything is recovered at all.
    pub enabled: bool,
    /// Every endpoint, in order of preference. An [`EndpointId`] is a position in it.
    pub endpoints: Vec<Endpoint>,
    /// Every model that is listed, or named by a chain or ladder and known by name.
    pub catalogue: Catalogue,
    /// The chain of models that have none, in projects that have none; empty where nobody wrote one.
    pub chain: Vec<Arc<str>>,
    /// The ladders by name, in file order.
    pub ladders: Vec<(String, Vec<Arc<str>>)>,
    /// Every policy: the templates, and what the file makes of them.
    pub policies: BTreeMap<String, Arc<Policy>>,
    /// Every project; `default` is always there.
    pub projects: BTreeMap<String, Project>,
    /// Every client that is known, in the order in which they are looked for; the last is `unknown`.
    pub clients: Vec<Arc<Client>>,
    /// The user's own classification, in order.
    pub rules: Vec<UserRule>,
    /// How to start agents: the known ones and the file's own.
    pub agents: BTreeMap<String, Agent>,
    /// Services to look after.
    pub services: BTreeMap<String, Service>,
    /// The council, where it has members.
    pub council: Option<Council>,
    /// Where events, sessions and tasks are kept, where anybody says.
    pub store: Option<Store>,
    /// Whether requests are kept at all.
    pub keep_requests: bool,
    /// For how many days requests are kept one by one.
    pub keep_days: u32,
    /// For how long the last turn of a session is held in memory.
    pub keep_turns: Duration,
    /// What replicas share, where they share anything.
    pub shared: Option<Shared>,
    /// The decision log, where there is one.
    pub decision_log: Option<DecisionLog>,
    /// What stands between here and the providers, where something does.
    pub proxy: Option<Proxy>,
    /// Where traces are sent, where they are.
    pub traces: Option<Traces>,
    /// Who is told of alerts.
    pub alerts: Alerts,
    /// What the control API asks for.
    pub admin_token: Option<Secret>,
    /// The template at the root of each policy.
    pub(crate) roots: BTreeMap<String, String>,
}

/// The wire format an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic messages.
    Anthropic,
    /// OpenAI chat completions and responses, and all who imitate them.
    OpenAi,
    /// Gemini generateContent.
    Gemini,
}

/// A base URL plus a credential.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name.
    pub name: Arc<str>,
    /// The wire format spoken there.
    pub dialect: Dialect,
    /// Where it is.
    pub url: BaseUrl,
    /// Whose key is sent.
    pub credential: Credential,
    /// Headers added to every call.
    pub headers: Vec<(String, Secret)>,
    /// The health check, where there is one.
    pub health: Option<Health>,
    /// Attempts per minute.
    pub requests_per_minute: Option<u32>,
    /// Whether what the provider says about its own limits counts.
    pub learns_limits: bool,
    /// Whether HTTP/2 is spoken there.
    pub http2: bool,
    /// Whether OpenAI's responses API is known there.
    pub responses: bool,
    /// The strictest breaker of all policies in use.
    pub breaker: breaker::Settings,
    /// The smallest retry share of all policies in use.
    pub retry_share: f64,
}

/// Whose key is sent to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The client's own passes through.
    Client,
    /// This one.
    Own(Secret),
    /// One is configured but was not found: nothing can be sent, least of all the client's own.
    Missing {
        /// Where it was looked for.
        wanted: String,
    },
}

/// A health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The path asked.
    pub path: String,
    /// How often.
    pub every: Duration,
}

/// What owns policies, budgets and sessions.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// What to do about failures.
    pub policy: Arc<Policy>,
    /// The keys its clients send.
    pub keys: Vec<Secret>,
    /// The SHA-256 of further keys, of which nothing else is kept.
    pub key_hashes: Vec<[u8; 32]>,
    /// Money per day.
    pub usd_micros_per_day: Option<u64>,
    /// Money per session.
    pub usd_micros_per_session: Option<u64>,
    /// Requests per minute.
    pub requests_per_minute: Option<u32>,
    /// Requests per minute of each agent.
    pub requests_per_minute_per_agent: Option<u32>,
    /// The chain in place of each model's own.
    pub chain: Option<Vec<Arc<str>>>,
    /// Whether its requests are recovered.
    pub enabled: bool,
}

/// A service to look after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The address that answers while it is well.
    pub health: Option<String>,
    /// The program that starts it; empty where it is only watched.
    pub start: Vec<String>,
    /// The rest between two restarts.
    pub cooldown: Duration,
    /// How long it may take to be well after a start.
    pub settle: Duration,
    /// Run after every start; may be empty.
    pub register: Vec<String>,
}

/// The council.
#[derive(Clone, Debug)]
pub struct Council {
    /// Who speaks, in order.
    pub members: Vec<Member>,
    /// What to do about failures.
    pub policy: Arc<Policy>,
    /// Where metrics are written, where they are.
    pub metrics: Option<String>,
    /// MCP servers by name, each with its command, which is never empty.
    pub tools: Vec<(String, Vec<String>)>,
    /// How long a tool may take.
    pub tool_timeout: Duration,
}

/// One voice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its model, which is in the catalogue.
    pub model: Arc<str>,
    /// The chain in place of the model's own; its models are in the catalogue.
    pub fallback: Option<Vec<Arc<str>>>,
    /// What it is told about itself.
    pub prompt: Option<String>,
}

/// Where events, sessions and tasks are kept. Addresses may hold passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// A file, or `:memory:`.
    Sqlite {
        /// Its path.
        path: String,
    },
    /// A server.
    Postgres {
        /// Its address.
        url: Secret,
    },
}

/// What replicas share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// A `redis://` address, which may hold a password.
    pub url: Secret,
    /// What every key there begins with.
    pub prefix: String,
}

/// Who is told of alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alerts {
    /// An address that is sent each of them.
    pub webhook: Option<Secret>,
    /// What the sent ones are signed with.
    pub secret: Option<Secret>,
    /// A program that is run for each; may be empty.
    pub command: Vec<String>,
}

/// The decision log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionLog {
    /// Its path.
    pub path: String,
    /// A new file is begun at this size.
    pub rotate_bytes: u64,
    /// How many old files are kept.
    pub keep: u32,
}

/// A proxy that tunnels to providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// `http://`, perhaps a user and a password, host and port.
    pub url: Secret,
    /// Hosts that are reached without it, besides this machine's own.
    pub except: Vec<String>,
}

/// Where OpenTelemetry traces are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// The address they are posted to: without a user, a query or a fragment.
    pub url: String,
    /// What they carry as `service.name`.
    pub service: String,
    /// Headers for the collector.
    pub headers: Vec<(String, Secret)>,
}

/// The project of requests that name none.
pub const DEFAULT_PROJECT: &str = "default";

impl Config {
    /// The project of this name, or `default`, which always exists.
    pub fn project(&self, name: Option<&str>) -> &Project {
        let named = name.and_then(|name| self.projects.get(name));
        named.unwrap_or_else(|| &self.projects[DEFAULT_PROJECT])
    }

    /// The endpoint with this id.
    pub fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.endpoints.get(usize::from(id.0))
    }

    /// The client of this name.
    pub fn client(&self, name: &str) -> Option<&Arc<Client>> {
        self.clients.iter().find(|client| &*client.name == name)
    }

    /// The client that sends such a path and such headers.
    pub fn recognise<'h>(&self, path: &str, header: impl Fn(&str) -> Option<&'h str>) -> Option<&Arc<Client>> {
        clients::recognise(&self.clients, path, header)
    }

    /// The way of a request for the model `name` that came in `dialect`.
    ///
    /// A model that is not listed goes under its own name to the endpoints of the client's own
    /// dialect, in order. A project's chain stands in place of the model's own, and everybody's chain where there
    /// is neither; entries that this model cannot use (itself, another vendor under a strict boundary) are left out.
    pub fn route(&self, project: &Project, name: &str, dialect: Dialect) -> Route {
        let boundary = project.policy.vendor_boundary;
        let model = match self.catalogue.model(name) {
            Some(model) => Arc::clone(model),
            None => Arc::new(self.unlisted(name, dialect)),
        };
        let chain = self.chain_of(project, &model, boundary);
        let route = self.catalogue.route(&model, chain.as_deref(), boundary);
        route.unwrap_or_else(|_| Route::single(Model::clone(&model)))
    }

    /// What is known about a model that nobody listed.
    pub fn unlisted(&self, name: &str, dialect: Dialect) -> Model {
        let served = |(id, _): (EndpointId, &Endpoint)| Served { endpoint: id, alias: None };
        let vendor = models::vendor_of(name).unwrap_or(dialect.vendor());
        Model {
            name: name.into(),
            vendor: vendor.into(),
            endpoints: self
                .endpoints_with_ids()
                .filter(|(_, endpoint)| endpoint.dialect == dialect)
                .map(served)
                .collect(),
            fallback: Vec::new(),
            context_window: models::context_window(vendor, name),
            abilities: Abilities::ALL,
            price: models::price(vendor, name),
        }
    }

    fn endpoints_with_ids(&self) -> impl Iterator<Item = (EndpointId, &Endpoint)> {
        (0..).map(EndpointId).zip(&self.endpoints)
    }

    fn chain_of(&self, project: &Project, model: &Model, boundary: VendorBoundary) -> Option<Vec<Arc<str>>> {
        let never = matches!(model.fallback.as_slice(), [only] if *only == model.name);
        let everybodys = || model.fallback.is_empty().then_some(&self.chain);
        let chain = project.chain.as_ref().or_else(everybodys).filter(|_| !never)?;
        let usable = |entry: &&Arc<str>| {
            let vendor = self.catalogue.model(entry).map(|model| &model.vendor);
            **entry != model.name && (boundary == VendorBoundary::Open || vendor == Some(&model.vendor))
        };
        Some(chain.iter().filter(usable).map(Arc::clone).collect())
    }
}

impl Project {
    /// Whether its clients must send a key.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty() || !self.key_hashes.is_empty()
    }
}

impl Dialect {
    /// Whose own format it is.
    pub const fn vendor(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "google",
        }
    }

    /// The name config and logs use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }
}

impl Credential {
    /// The configured key, where there is one.
    pub const fn own(&self) -> Option<&Secret> {
        match self {
            Self::Own(secret) => Some(secret),
            Self::Client | Self::Missing { .. } => None,
        }
    }
}

impl Store {
    /// Ten years.
    pub(crate) const KEEP_DAYS_MAX: u32 = 3650;
}

impl DecisionLog {
    /// 64 GiB: no editor opens it.
    pub(crate) const ROTATE_MB_MAX: u32 = 65_536;
    /// More files than anyone looks through.
    pub(crate) const KEEP_MAX: u32 = 1000;
}

impl Health {
    /// Noticed within a minute, and no load to speak of.
    pub(crate) const EVERY: Duration = Duration::from_secs(30);
    pub(crate) const EVERY_MIN: Duration = Duration::from_secs(1);
    pub(crate) const EVERY_MAX: Duration = Duration::from_secs(24 * 60 * 60);
}

//! One typed configuration: file, environment and flags in, a checked [`Config`] out.
//!
//! [`load()`] merges the layers, reads them all (`raw`: what was written), and resolves them
//! (`config`: what is true). It reports every problem at once, with its place and its fix, and
//! never panics, whatever it is given. Only [`Config`] leaves this crate, with the problems.
//!
//! Reads files, never the environment: variables are handed in.

mod agents;
mod clients;
mod config;
mod file;
mod layers;
mod load;
mod models;
mod node;
mod problem;
mod raw;
mod read;
mod resolve;
mod schema;
mod secret;
mod show;
mod starter;
mod suggest;
mod url;
mod value;

pub use agents::{Agent, AgentGateway, AgentOutput, KEY_VARIABLE, PLACEHOLDERS};
pub use clients::{Client, Heartbeat, Sign, Told, UNKNOWN_CLIENT};
pub use config::{
    Alerts, Config, Council, Credential, DEFAULT_PROJECT, DecisionLog, Dialect, Endpoint, Health, Member, Project,
    Proxy, Service, Shared, Store, Traces,
};
pub use file::{ConfigFile, candidates};
pub use layers::Setting;
pub use load::{Loaded, Sources, load, load_with};
pub use problem::{Line, Place, Problem, Problems, Severity};
pub use schema::schema;
pub use secret::{MASK, Secret};
pub use show::{policy_json, policy_toml, template_json};
pub use starter::STARTER;
pub use url::BaseUrl;
pub use value::parse_duration;

//! The table of rules, grouped by who speaks.
//!
//! Every group is a file of the same shape: a `RULES` table of name, kind, codes, phrases, an
//! example that the rule must decide and, where it is easily confused, texts that it must not.
//! Families of phrases that many providers share are in `families/`; a provider's own file holds
//! only what is its own. In each family the rules named `general` hold words that are broad on
//! purpose and weigh one degree less than the exact ones, so that they cover messages nobody has
//! seen and never overrule one that somebody has. To add a rule, add it with an example: the tests do the rest.

mod agents;
mod anthropic;
mod azure;
mod bedrock;
mod chinese;
mod chinese_codes;
mod cloudflare;
mod cluster;
mod cohere;
mod curl;
mod database;
mod deepseek;
mod dotnet;
mod editing;
mod families;
mod github;
mod go;
mod google;
mod groq;
mod grpc;
mod huggingface;
mod java;
mod langchain;
mod languages;
mod litellm;
mod llamacpp;
mod lmstudio;
mod mcp;
mod mistral;
mod node;
mod ollama;
mod openai;
mod openrouter;
mod posix;
mod process;
mod proxy;
mod python;
mod rust;
mod together;
mod vercel;
mod vllm;
mod websocket;
mod xai;

use super::rule::Rule;

/// Grows with every change of meaning, so that a log tells which table decided.
pub const RULES_VERSION: u32 = 11;

/// The rule about words that say no more than that something failed.
pub(super) const VAGUE: &str = "server.vague";

const GROUPS: &[&[Rule]] = &[
    openai::RULES,
    anthropic::RULES,
    google::RULES,
    azure::RULES,
    bedrock::RULES,
    openrouter::RULES,
    groq::RULES,
    mistral::RULES,
    xai::RULES,
    deepseek::RULES,
    cohere::RULES,
    together::RULES,
    huggingface::RULES,
    chinese::RULES,
    chinese_codes::RULES,
    languages::RULES,
    github::RULES,
    litellm::RULES,
    ollama::RULES,
    vllm::RULES,
    llamacpp::RULES,
    lmstudio::RULES,
    agents::RULES,
    mcp::RULES,
    vercel::RULES,
    langchain::RULES,
    cloudflare::RULES,
    proxy::RULES,
    posix::RULES,
    curl::RULES,
    node::RULES,
    python::RULES,
    go::RULES,
    rust::RULES,
    java::RULES,
    dotnet::RULES,
    grpc::RULES,
    websocket::RULES,
    database::RULES,
    cluster::RULES,
    editing::RULES,
    process::RULES,
    families::quota::RULES,
    families::rate::RULES,
    families::overload::RULES,
    families::context::RULES,
    families::safety::RULES,
    families::model::RULES,
    families::auth::RULES,
    families::request::RULES,
    families::state::RULES,
    families::stream::RULES,
    families::network::RULES,
    families::timeout::RULES,
    families::output::RULES,
    families::cancel::RULES,
    families::server::RULES,
    families::exceptions::RULES,
];

/// Every rule, group by group.
pub(super) fn all() -> Vec<&'static Rule> {
    GROUPS.iter().flat_map(|group| group.iter()).collect()
}

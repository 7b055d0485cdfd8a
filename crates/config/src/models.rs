//! What is known about models nobody described: who makes them, where they are served, how much
//! they hold and what they cost.
//!
//! Vendors and providers are the small tables below. Prices and context windows come from the
//! `genai-prices` crate (0.2.1, data of 2026-10-30). What is unknown stays unknown: a model
//! without a price is never free.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};
use steadfast_core::cost::Price;

use crate::config::Dialect;

/// A provider that can be named without being described.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) url: &'static str,
    /// Where its key is kept by custom.
    pub(crate) variable: &'static str,
}

/// Providers by the names people give them; base URLs from their own documentation, 2026-11.
pub(crate) const PROVIDERS: [Provider; 9] = [
    provider("anthropic", Dialect::Anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    provider("openai", Dialect::OpenAi, "https://api.openai.com", "OPENAI_API_KEY"),
    provider("gemini", Dialect::Gemini, "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    provider("openrouter", Dialect::OpenAi, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    provider("groq", Dialect::OpenAi, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    provider("mistral", Dialect::OpenAi, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    provider("xai", Dialect::OpenAi, "https://api.x.ai/v1", "XAI_API_KEY"),
    provider("deepseek", Dialect::OpenAi, "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    provider("ollama", Dialect::OpenAi, "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"),
];

/// The endpoints that exist without any file.
pub(crate) const WITHOUT_FILE: [&str; 3] = ["anthropic", "openai", "gemini"];

/// Names of model families: how a name begins, who makes it, and where `genai-prices` lists it.
const FAMILIES: [(&str, &str, Option<&str>); 24] = [
    ("claude-", "anthropic", Some("anthropic")),
    ("gpt-", "openai", Some("openai")),
    ("chatgpt-", "openai", Some("openai")),
    ("o1", "openai", Some("openai")),
    ("o3", "openai", Some("openai")),
    ("o4", "openai", Some("openai")),
    ("text-embedding-", "openai", Some("openai")),
    ("codex-", "openai", Some("openai")),
    ("gemini-", "google", Some("google")),
    ("gemma-", "google", Some("google")),
    ("grok-", "xai", Some("x-ai")),
    ("mistral-", "mistral", Some("mistral")),
    ("magistral-", "mistral", Some("mistral")),
    ("ministral-", "mistral", Some("mistral")),
    ("codestral", "mistral", Some("mistral")),
    ("devstral-", "mistral", Some("mistral")),
    ("deepseek-", "deepseek", Some("deepseek")),
    ("kimi-", "moonshot", Some("moonshotai")),
    ("glm-", "zhipu", Some("zai")),
    ("command-", "cohere", Some("cohere")),
    // Open weights are served by many at many prices: none is the model's own.
    ("llama-", "meta", None),
    ("qwen", "alibaba", None),
    ("phi-", "microsoft", None),
    ("minimax-", "minimax", Some("minimax")),
];

/// The provider of this name.
pub(crate) fn provider_named(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// Who makes a model, told from its name; `vendor/model` as routers write it counts too.
pub(crate) fn vendor_of(name: &str) -> Option<&'static str> {
    family(name).map(|(_, vendor, _)| *vendor)
}

/// The dialect a vendor's own endpoints speak.
pub(crate) fn native_dialect(vendor: &str) -> Dialect {
    match vendor {
        "anthropic" => Dialect::Anthropic,
        "google" => Dialect::Gemini,
        _ => Dialect::OpenAi,
    }
}

/// The name of the vendor's own endpoint, as [`PROVIDERS`] has it.
pub(crate) fn own_endpoint(vendor: &str) -> &str {
    if vendor == "google" { "gemini" } else { vendor }
}

/// Whether this is the exact name of a model that its vendor sells.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.contains(name)
}

/// Every name [`is_known`] answers to.
pub(crate) fn known_names<'a>() -> impl Iterator<Item = &'a str> {
    KNOWN.iter().copied()
}

/// What a model costs at its vendor, for prompts of ordinary length.
pub(crate) fn price(vendor: &str, name: &str) -> Option<Price> {
    let (model, listed) = listed(vendor, name)?;
    // A thousand tokens lie below every long-context tier.
    let usd_per_million = |key: UsageKey| {
        let usage = Usage::from([(key, 1_000.0)]);
        let request = PriceRequest::new(model, &usage).with_provider_id(listed);
        let found = Calculator::bundled().calculate(&request).ok()?;
        // Without a provider's own entry the crate looks elsewhere, where the price is another's.
        (found.provider_id == listed).then_some(found.total_price * 1_000.0)
    };
    let price = Price::from_usd_per_million(
        usd_per_million(UsageKey::INPUT_TOKENS)?,
        usd_per_million(UsageKey::OUTPUT_TOKENS)?,
    )?;
    // The data lists a few models without prices; nothing is free.
    (price.input_usd_micros > 0 || price.output_usd_micros > 0).then_some(price)
}

/// How many tokens a model holds, by its exact name or the name before its date.
pub(crate) fn context_window(vendor: &str, name: &str) -> Option<u32> {
    let (model, listed) = listed(vendor, name)?;
    let provider = Calculator::bundled().providers().find(|provider| provider.id() == listed)?;
    let named = |wanted: &str| provider.models().find(|known| known.id() == wanted);
    let found = named(model).or_else(|| named(undated(model)))?;
    u32::try_from(found.context_window()?).ok()
}

const fn provider(name: &'static str, dialect: Dialect, url: &'static str, variable: &'static str) -> Provider {
    Provider { name, dialect, url, variable }
}

fn family(name: &str) -> Option<&'static (&'static str, &'static str, Option<&'static str>)> {
    let bare = name.rsplit('/').next().unwrap_or(name);
    FAMILIES.iter().find(|(prefix, _, _)| bare.starts_with(prefix))
}

/// The model's bare name and where `genai-prices` lists it, if its family is the vendor's.
fn listed<'a>(vendor: &str, name: &'a str) -> Option<(&'a str, &'static str)> {
    let (_, maker, listed) = family(name)?;
    let bare = name.rsplit('/').next().unwrap_or(name);
    (*maker == vendor).then_some((bare, (*listed)?))
}

/// The name without a date such as `-20251001` at its end.
fn undated(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((head, tail)) if tail.len() == 8 && tail.bytes().all(|byte| byte.is_ascii_digit()) => head,
        _ => name,
    }
}

static KNOWN: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let vendors: BTreeSet<&str> = FAMILIES.iter().filter_map(|(_, _, listed)| *listed).collect();
    let providers = Calculator::bundled().providers().filter(|provider| vendors.contains(provider.id()));
    let models = providers.flat_map(|provider| provider.models().map(move |model| (provider.id(), model.id())));
    let own = models.filter(|(provider, model)| family(model).is_some_and(|(_, _, listed)| *listed == Some(*provider)));
    own.map(|(_, model)| model).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_models_have_a_vendor_a_price_and_a_window() {
        let sonnet = Price::from_usd_per_million(3.0, 15.0);
        assert_eq!(price("anthropic", "claude-sonnet-4-5"), sonnet);
        assert_eq!(price("anthropic", "anthropic/claude-sonnet-4-5"), sonnet);
        assert_eq!(context_window("anthropic", "claude-sonnet-4-5"), Some(200_000));
        assert_eq!(context_window("anthropic", "claude-haiku-4-5-20251001"), Some(200_000));
        assert_eq!(price("openai", "gpt-5.2"), Price::from_usd_per_million(1.75, 14.0));
        for (name, vendor) in
            [("o3-mini", "openai"), ("gemini-2.5-pro", "google"), ("grok-4", "xai"), ("qwen3", "alibaba")]
        {
            assert_eq!(vendor_of(name), Some(vendor), "{name}");
        }
        assert!(is_known("claude-haiku-4-5") && is_known("claude-opus-4-5") && is_known("gpt-4o"));
        assert!(!is_known("claude-haiku-4-55") && !is_known("claude-sonet-4-5"));
    }

    #[test]
    fn what_is_unknown_is_never_free() {
        assert_eq!(price("me", "my-model"), None);
        assert_eq!(price("me", "claude-sonnet-4-5"), None);
        assert_eq!(price("anthropic", "claude-nosuch-9"), None);
        assert_eq!(price("meta", "llama-3.1-8b"), None);
        assert_eq!(vendor_of("my-model"), None);
        assert_eq!(context_window("openai", "gpt-nosuch"), None);
    }
}

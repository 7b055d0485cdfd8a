//! Answers in which no model speaks: embeddings, lists of models, token counts.

use super::{CREATED, put, quoted};
use crate::call::Vendor;

/// The models a list names.
const MODELS: &[(Vendor, &[&str])] = &[
    (Vendor::OpenAi, &["gpt-5", "gpt-5-mini", "gpt-4o", "text-embedding-3-small"]),
    (Vendor::Anthropic, &["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"]),
    (Vendor::Gemini, &["gemini-3-pro", "gemini-2.5-pro", "gemini-2.5-flash"]),
];

/// What an embedding has by default: `text-embedding-3-small` has 1536, which would drown every log.
const DIMENSIONS: u32 = 8;

/// Longer vectors than any model has.
const DIMENSIONS_MAX: u32 = 8192;

/// How many embeddings one request may ask for, as with OpenAI.
const INPUTS_MAX: usize = 2048;

/// Embeddings of so many inputs: the same for everyone, told apart by their first number.
pub(crate) fn embeddings(model: &str, inputs: usize, dimensions: Option<u32>, base64: bool, tokens: usize) -> String {
    let mut out = String::from("{\"object\":\"list\",\"data\":[");
    let dimensions = dimensions.unwrap_or(DIMENSIONS).clamp(1, DIMENSIONS_MAX);
    for index in 0..inputs.min(INPUTS_MAX) {
        out.push_str(if index == 0 { "" } else { "," });
        put!(out, "{{\"object\":\"embedding\",\"index\":{index},\"embedding\":");
        let numbers = (0..dimensions).map(|place| {
            // Exact in binary, so that every client prints the same.
            let number = if place == 0 { u32::try_from(index % 64).unwrap_or(0) + 1 } else { place % 64 };
            f64::from(number) / 64.0
        });
        if base64 {
            let bytes: Vec<u8> = numbers.flat_map(|number| (number as f32).to_le_bytes()).collect();
            put!(out, "\"{}\"", base64_of(&bytes));
        } else {
            let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
            put!(out, "[{}]", numbers.join(","));
        }
        out.push('}');
    }
    put!(out, "],\"model\":{},\"usage\":{{\"prompt_tokens\":{tokens},\"total_tokens\":{tokens}}}}}", quoted(model));
    out
}

/// All models of a vendor.
pub(crate) fn model_list(vendor: Vendor) -> String {
    let names = MODELS.iter().find(|(of, _)| *of == vendor).map_or(&[][..], |(_, names)| names);
    let models: Vec<String> = names.iter().map(|name| one_model(vendor, name)).collect();
    let models = models.join(",");
    match vendor {
        Vendor::OpenAi => format!("{{\"object\":\"list\",\"data\":[{models}]}}"),
        Vendor::Anthropic => {
            let (first, last) = (names.first().unwrap_or(&""), names.last().unwrap_or(&""));
            format!("{{\"data\":[{models}],\"has_more\":false,\"first_id\":\"{first}\",\"last_id\":\"{last}\"}}")
        }
        Vendor::Gemini => format!("{{\"models\":[{models}]}}"),
    }
}

/// One model, known or not.
pub(crate) fn one_model(vendor: Vendor, name: &str) -> String {
    let quoted_name = quoted(name);
    match vendor {
        Vendor::OpenAi => {
            format!("{{\"id\":{quoted_name},\"object\":\"model\",\"created\":{CREATED},\"owned_by\":\"fake\"}}")
        }
        Vendor::Anthropic => format!(
            "{{\"type\":\"model\",\"id\":{quoted_name},\"display_name\":{quoted_name},\"created_at\":\"2026-02-02T02:40:00Z\"}}"
        ),
        Vendor::Gemini => format!(
            "{{\"name\":{},\"displayName\":{quoted_name},\"inputTokenLimit\":1048576,\"outputTokenLimit\":65536,\
             \"supportedGenerationMethods\":[\"generateContent\",\"countTokens\"]}}",
            quoted(&format!("models/{name}"))
        ),
    }
}

/// The answer of a token counter.
pub(crate) fn count_tokens(vendor: Vendor, tokens: usize) -> String {
    match vendor {
        Vendor::Gemini => format!(
            "{{\"totalTokens\":{tokens},\"promptTokensDetails\":[{{\"modality\":\"TEXT\",\"tokenCount\":{tokens}}}]}}"
        ),
        Vendor::OpenAi | Vendor::Anthropic => format!("{{\"input_tokens\":{tokens}}}"),
    }
}

fn base64_of(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let index = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
            out.push(if place <= three.len() { char::from(ALPHABET[index]) } else { '=' });
        }
    }
    out
}

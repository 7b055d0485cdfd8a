//! What a provider says back of what it was asked: words of a prompt, or the client's own key. Neither is kept.

use std::collections::HashSet;
use std::sync::LazyLock;

use http::HeaderMap;
use memchr::memmem::Finder;
use steadfast_core::classify::Classifier;

/// Shorter words tell nothing.
const LETTERS_MIN: usize = 4;

/// The words that failures are told in, whoever tells them.
static VOCABULARY: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let rules = Classifier::builtin().rules();
    let texts = rules.flat_map(|rule| rule.texts.iter().chain(rule.codes).copied().chain([rule.example]));
    texts.flat_map(words).map(str::to_lowercase).collect()
});

/// The message without words that were asked, but for those in which failures are told.
pub(crate) fn without_echo(message: &str, body: &[u8], credential: &HeaderMap) -> String {
    let asked = |word: &str| {
        let finder = Finder::new(word);
        finder.find(body).is_some() || credential.values().any(|value| finder.find(value.as_bytes()).is_some())
    };
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    for word in words(message) {
        let Some(at) = rest.find(word) else { continue };
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let is_told = word.chars().count() < LETTERS_MIN || VOCABULARY.contains(&word.to_lowercase()) || !asked(word);
        out.push_str(if is_told { word } else { "…" });
        rest = &from[word.len()..];
    }
    out.push_str(rest);
    out
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::AUTHORIZATION;

    use super::*;

    #[test]
    fn what_was_asked_is_not_said_again() {
        let body = br#"{"model":"claude-one","messages":[{"content":"my dachshund is ill, the request is invalid"}]}"#;
        let credential = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer lettersonly"))]);
        let told = |message| without_echo(message, body, &credential);
        assert_eq!(told("invalid request: you said my dachshund is ill"), "invalid request: you said my … is ill");
        assert_eq!(told("Incorrect API key provided: lettersonly."), "Incorrect API key provided: ….");
        assert_eq!(told("Overloaded, please try again later"), "Overloaded, please try again later");
        assert_eq!(told("a word nobody asked: ornithology"), "a word nobody asked: ornithology");
    }
}

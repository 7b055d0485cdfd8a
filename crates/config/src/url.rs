//! A provider's base URL, with or without its version segment.

use std::fmt;

/// Where an endpoint is. Joining a path never doubles the version segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseUrl {
    /// Without a slash at the end.
    text: String,
    versioned: bool,
}

impl BaseUrl {
    /// Takes an address that is known to be one; says what is wrong with it otherwise.
    pub(crate) fn new(text: &str) -> Result<Self, &'static str> {
        let Some((_, rest)) = text.split_once("://") else { return Err("has no scheme") };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if text.contains(['?', '#']) {
            return Err("has a query or a fragment");
        }
        if authority.contains('@') {
            return Err("holds a user or a password");
        }
        if !authority.is_ascii() {
            return Err("has a host that is not plain ASCII");
        }
        let versioned = path.split('/').any(is_version);
        Ok(Self { text: text.trim_end_matches('/').to_owned(), versioned })
    }

    /// The address of a path such as `/v1/messages`: where the base names a version already, the
    /// path's own is left out.
    pub fn join(&self, path: &str) -> String {
        let path = path.trim_start_matches('/');
        let path = match path.split_once('/') {
            Some((first, rest)) if self.versioned && is_version(first) => rest,
            _ => path,
        };
        format!("{}/{path}", self.text)
    }

    /// As it was written, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `v1`, `v4`, `v1beta`, `v2alpha3`.
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix('v') else { return false };
    rest.starts_with(|letter: char| letter.is_ascii_digit()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_never_doubled() {
        for (base, path, url) in [
            ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1/", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://openrouter.ai/api/v1", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
            ("https://api.z.ai/api/paas/v4", "v1/chat/completions", "https://api.z.ai/api/paas/v4/chat/completions"),
            ("http://127.0.0.1:8000", "/v1/models", "http://127.0.0.1:8000/v1/models"),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "/v1/chat/completions",
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            ("https://vllm.example/views", "/v1/models", "https://vllm.example/views/v1/models"),
        ] {
            assert_eq!(BaseUrl::new(base).unwrap().join(path), url);
        }
    }

    #[test]
    fn what_is_no_base_is_refused() {
        assert_eq!(BaseUrl::new("https://u:p@host"), Err("holds a user or a password"));
        assert_eq!(BaseUrl::new("https://host/v1?key=1"), Err("has a query or a fragment"));
        assert_eq!(BaseUrl::new("https://…"), Err("has a host that is not plain ASCII"));
    }
}

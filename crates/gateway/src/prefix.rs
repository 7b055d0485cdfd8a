//! Who is calling, in the path: `/p/PROJECT/s/SESSION/a/AGENT/c/CLIENT/v1/…`.
//!
//! A base URL is the one thing every client lets people set, so all of it can be said there: any of
//! the four, in any order. Names are percent-decoded.

use steadfast_dialect::path::percent_decode;

use crate::edge::Refusal;

/// Ids are names, not storage.
pub(crate) const NAME_BYTES_MAX: usize = 256;

/// What a path says about its caller.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) project: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) client: Option<String>,
}

/// Takes a path apart: what it says about its caller, and what a provider knows of it.
pub(crate) fn split(path: &str) -> Result<(Prefix, &str), Refusal> {
    let mut prefix = Prefix::default();
    let mut rest = path;
    while let Some((letter, name, after)) = segment(rest) {
        let (slot, what) = match letter {
            "p" => (&mut prefix.project, "project"),
            "s" => (&mut prefix.session, "session"),
            "a" => (&mut prefix.agent, "agent"),
            "c" => (&mut prefix.client, "client"),
            _ => break,
        };
        let name = percent_decode(name);
        if name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            let message = format!("the {what} in the path must be plain text of at most {NAME_BYTES_MAX} bytes");
            return Err(Refusal::bad_request(message));
        }
        *slot = Some(name);
        rest = after;
    }
    Ok((prefix, rest))
}

/// `/letter/name` and what follows it.
fn segment(path: &str) -> Option<(&str, &str, &str)> {
    let (letter, rest) = path.strip_prefix('/')?.split_once('/')?;
    let (name, after) = rest.split_at(rest.find('/')?);
    (!name.is_empty()).then_some((letter, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `project session agent client path`.
    fn told(path: &str) -> String {
        let (prefix, rest) = split(path).unwrap();
        let Prefix { project, session, agent, client } = prefix;
        let words = [project, session, agent, client].map(|word| word.unwrap_or_else(|| "-".to_owned()));
        format!("{} {rest}", words.join(" "))
    }

    #[test]
    fn any_of_them_in_any_order() {
        assert_eq!(told("/p/acme/v1/messages"), "acme - - - /v1/messages");
        assert_eq!(told("/p/acme/s/one/a/two/c/codex/v1/responses"), "acme one two codex /v1/responses");
        assert_eq!(told("/a/two/s/one/v1/models"), "- one two - /v1/models");
        assert_eq!(told("/s/a%2Fb%20%C3%BC/v1/models"), "- a/b ü - - /v1/models");
        for path in ["/v1/messages", "/p/acme", "/p//v1/messages", "/x/y/v1/messages", "/", ""] {
            assert_eq!(told(path), format!("- - - - {path}"));
        }
    }

    #[test]
    fn names_that_are_no_names_are_refused() {
        assert!(split(&format!("/s/{}/v1/models", "x".repeat(300))).is_err());
        assert!(split("/p/a%0Ab/v1/models").unwrap_err().message.contains("the project in the path"));
    }
}

//! Who is calling, and what the caller may see.
//!
//! The admin token opens everything, a project's key its project. On a loopback address without a
//! configured token everybody on this machine is the admin, as long as no web page asks: a page
//! elsewhere must not read or change anything through the browser of whoever looks at it.

use axum::extract::FromRequestParts;
use http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use steadfast_engine::Snapshot;

use crate::problem::Problem;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether anybody who reaches us may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Only this machine does.
    Open,
    /// The network does: a project's key or the admin token is needed.
    Locked,
}

/// Who is calling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Whoever runs the gateway.
    Admin,
    /// Somebody with a key of this project.
    Project(String),
}

impl Caller {
    /// Tells who is calling.
    pub(crate) fn identify(headers: &HeaderMap, snapshot: &Snapshot, door: Door) -> Result<Self, Problem> {
        let token = snapshot.config.admin_token.as_ref();
        let open = door == Door::Open && token.is_none();
        refuse_strangers(headers, open)?;
        let sent = [AUTHORIZATION, X_API_KEY].into_iter().filter_map(|name| headers.get(name)?.to_str().ok());
        let keys: Vec<&str> = sent.map(without_scheme).collect();
        if keys.iter().any(|key| token.is_some_and(|token| same(token.expose(), key))) {
            return Ok(Self::Admin);
        }
        if let Some(project) = keys.iter().find_map(|key| snapshot.project_of_key(key)) {
            return Ok(Self::Project(project.to_owned()));
        }
        // Any other key is a client's own for its provider: it says nothing to us, and is not needed either.
        if open {
            return Ok(Self::Admin);
        }
        let message = "send the admin token or a project's key: `authorization: Bearer …`";
        Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message))
    }

    /// Whether the caller may see what belongs to this project.
    pub fn sees(&self, project: &str) -> bool {
        match self {
            Self::Admin => true,
            Self::Project(own) => own == project,
        }
    }

    /// The only project the caller sees, where there is but one.
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::Admin => None,
            Self::Project(own) => Some(own),
        }
    }

    /// Refuses everybody but the admin.
    pub fn must_be_admin(&self) -> Result<(), Problem> {
        match self {
            Self::Admin => Ok(()),
            Self::Project(_) => Err(Problem::forbidden("this needs the admin token: a project's key is not enough")),
        }
    }

    /// The project to look at: the one asked for, or the caller's own; another's is refused.
    pub fn narrowed(&self, asked: Option<String>) -> Result<Option<String>, Problem> {
        match (self, asked) {
            (Self::Admin, asked) => Ok(asked),
            (Self::Project(own), Some(asked)) if asked != *own => {
                Err(Problem::forbidden(format!("this key sees the project `{own}` only")).about("project"))
            }
            (Self::Project(own), _) => Ok(Some(own.clone())),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let nobody = || Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "nobody said who is calling");
        parts.extensions.get::<Self>().cloned().ok_or_else(nobody)
    }
}

/// Refuses web pages that are not ours. Where no token is asked for, the machine must also be called by
/// its own name: a page can point a name of its own at it.
fn refuse_strangers(headers: &HeaderMap, open: bool) -> Result<(), Problem> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let refused = || {
        let message = "requests from other web pages are refused";
        Problem::new(StatusCode::FORBIDDEN, "stranger", message)
    };
    let host = text(&HOST).unwrap_or("");
    if text(&SEC_FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(refused());
    }
    if text(&ORIGIN).is_some_and(|origin| origin.split_once("://").is_none_or(|(_, from)| from != host)) {
        return Err(refused());
    }
    if open && !host.is_empty() && !is_loopback(host) {
        let message = format!("`{host}` is not a name of this machine: use localhost, or set [admin] token");
        return Err(Problem::new(StatusCode::FORBIDDEN, "stranger", message));
    }
    Ok(())
}

/// Whether an authority such as `localhost:3000` or `[::1]:3000` names this machine.
pub fn is_loopback(authority: &str) -> bool {
    let name = match authority.find(']') {
        Some(bracket) => &authority[..=bracket],
        None => authority.split(':').next().unwrap_or(authority),
    };
    name == "[::1]"
        || name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// A key without the word that stands before it.
pub fn without_scheme(sent: &str) -> &str {
    match sent.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim(),
        _ => sent.trim(),
    }
}

/// Compares secrets in a time that does not tell how much of them agrees.
pub fn same(left: &str, right: &str) -> bool {
    let differs = left.bytes().zip(right.bytes()).fold(0, |differs, (left, right)| differs | (left ^ right));
    left.len() == right.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn may(open: bool, headers: &[(&'static str, &'static str)]) -> bool {
        let named =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        refuse_strangers(&named.collect(), open).is_ok()
    }

    #[test]
    fn pages_of_others_may_not_ask() {
        let ours = ("host", "localhost:4141");
        for open in [true, false] {
            assert!(may(open, &[ours]), "a program that is no browser");
            assert!(may(open, &[ours, ("sec-fetch-site", "same-origin"), ("origin", "http://localhost:4141")]));
            assert!(may(open, &[ours, ("sec-fetch-site", "none")]), "typed into the address bar");
            assert!(!may(open, &[ours, ("sec-fetch-site", "cross-site")]));
            assert!(!may(open, &[ours, ("sec-fetch-site", "same-site")]), "another port of this machine");
            assert!(!may(open, &[ours, ("origin", "http://localhost:3000")]));
            assert!(!may(open, &[ours, ("origin", "null")]));
        }
    }

    #[test]
    fn a_name_that_somebody_points_at_this_machine_is_refused_where_no_token_is_asked_for() {
        let theirs = ("host", "evil.example:4141");
        assert!(!may(true, &[theirs]) && !may(true, &[theirs, ("origin", "http://evil.example:4141")]));
        assert!(may(false, &[("host", "steadfast.internal")]), "with a token the name does not matter");
        for host in ["localhost", "127.0.0.1:1", "127.9.9.9", "[::1]:4141", "LOCALHOST:80"] {
            assert!(is_loopback(host), "{host}");
        }
        assert!(!is_loopback("127.0.0.1.evil.example") && !is_loopback("localhost.evil.example"));
    }
}

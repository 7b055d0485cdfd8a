//! Optimistic concurrency: versions as `etag` and `if-match`.

use axum::response::Response;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};
use steadfast_store::Expected;

use crate::problem::Problem;

/// What must be there for a change to be made: the version in `if-match`, nothing with `if-none-match: *`, anything
/// where neither is sent.
pub(crate) fn expected(headers: &HeaderMap) -> Result<Expected, Problem> {
    if headers.get(IF_NONE_MATCH).is_some_and(|value| value == "*") {
        return Ok(Expected::Nothing);
    }
    let Some(sent) = headers.get(IF_MATCH) else { return Ok(Expected::Anything) };
    let text = sent.to_str().unwrap_or("").trim();
    if text == "*" {
        return Ok(Expected::Anything);
    }
    match text.trim_matches('"').parse::<i64>() {
        Ok(0) => Ok(Expected::Nothing),
        Ok(version) if version > 0 => Ok(Expected::Version(version)),
        _ => Err(Problem::invalid("if-match", "the version that was read, as the answer's `etag` says it")),
    }
}

/// The answer with its version.
pub(crate) fn with_version(mut response: Response, version: i64) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_sent() {
        let with = |value: &'static str| HeaderMap::from_iter([(IF_MATCH, HeaderValue::from_static(value))]);
        assert_eq!(expected(&HeaderMap::new()).unwrap(), Expected::Anything);
        assert_eq!(expected(&with("\"3\"")).unwrap(), Expected::Version(3));
        assert_eq!(expected(&with("0")).unwrap(), Expected::Nothing);
        assert!(expected(&with("\"soon\"")).is_err() && expected(&with("-1")).is_err());
    }
}

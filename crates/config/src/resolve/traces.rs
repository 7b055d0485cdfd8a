//! Where traces are sent.

use super::{Vault, endpoints};
use crate::config::Traces;
use crate::node::Path;
use crate::problem::Report;
use crate::raw::RawConfig;
use crate::secret::Secret;
use crate::url::BaseUrl;

const SERVICE: &str = "steadfast";

/// Where collectors listen for traces.
const PATH: &str = "/v1/traces";

pub(super) fn resolve(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Traces> {
    let raw = raw.traces.as_ref()?;
    let at = Path::of("traces");
    let says = |name, word: &str| vault.variable(name).is_some_and(|text| text.eq_ignore_ascii_case(word));
    if says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let mut headers = endpoints::headers(raw.headers.as_ref(), &at, report, vault);
    for name in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"] {
        for (header, value) in vault.variable(name).into_iter().flat_map(pairs) {
            headers.retain(|(known, _)| *known != header);
            headers.push((header, Secret::new(value)));
        }
    }
    let written = &raw.endpoint.as_ref()?.0;
    let url = match BaseUrl::new(written) {
        Ok(url) => url.as_str().to_owned(),
        Err(what) => {
            let help = "scheme, host, port and path only; a password belongs into `headers`";
            report.refuse(&at.key("endpoint"), format!("`endpoint` {what}"), help);
            return None;
        }
    };
    if says("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") {
        let help = "give it the collector's HTTP port, usually 4318";
        report.warn(&at.key("endpoint"), "traces are sent over HTTP, not gRPC", help);
    }
    let has_path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    let url = if has_path { url } else { format!("{url}{PATH}") };
    let service = raw.service.clone().filter(|service| !service.trim().is_empty());
    Some(Traces { url, service: service.unwrap_or_else(|| SERVICE.to_owned()), headers })
}

/// `name=value,name=value`; values may be percent-encoded, and what is no header is left out.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim().to_ascii_lowercase(), decoded(value.trim()));
        let sound = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        (sound && !value.chars().any(char::is_control)).then_some((name, value))
    })
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_standard_writes_them() {
        let read: Vec<_> = pairs("Authorization=Basic%20abc%3D=, x-team = a ,nonsense,=x,a b=c,x=%0a,y=%zz").collect();
        let expected = [("authorization", "Basic abc=="), ("x-team", "a"), ("y", "%zz")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

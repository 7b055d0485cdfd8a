//! The dashboard's files, embedded.
//!
//! `build.rs` builds `web/` and writes the table of its files; this answers for them. Pages keep a strict content
//! security policy: nothing is loaded from elsewhere, no script or style stands in a page, nobody frames it.
//!
//! *Invariant:* no I/O. *Boundary:* it knows paths, headers and bytes, and nothing of what the dashboard shows.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A file and its compressed twins.
struct File {
    name: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// What a page may load and where it may send something.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The folder of files that have a hash of their bytes in their name.
const HASHED: &str = "assets/";

/// Answers for a path of the dashboard; `None` where it is not one. `/` is its page for whoever accepts HTML.
pub fn answer<B>(request: &Request<B>) -> Option<Response<&'static [u8]>> {
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    if path == "/" && !accepts(request.headers(), &ACCEPT, "text/html") {
        return None;
    }
    match (path, MISSING) {
        ("/", Some(_)) => Some(page(MISSING_PAGE.as_bytes())),
        ("/", None) => file("index.html").map(|file| file.response(request.headers())),
        _ => file(path.strip_prefix('/')?).map(|file| file.response(request.headers())),
    }
}

fn file(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    fn response(&self, headers: &HeaderMap) -> Response<&'static [u8]> {
        let (coding, bytes) = self.coded(headers);
        let tag = format!("\"{}\"", fingerprint(self.plain));
        let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut response = page(if known { &[] } else { bytes });
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(self.name)));
        headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        if self.name.starts_with(HASHED) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
        }
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(ETAG, tag);
        }
        if let Some(coding) = coding.filter(|_| !known) {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        response
    }

    /// The smallest form that the client takes.
    fn coded(&self, headers: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
        let twins = [("br", self.brotli), ("gzip", self.gzip)];
        let taken = twins.into_iter().find_map(|(coding, bytes)| {
            let bytes = bytes.filter(|bytes| bytes.len() < self.plain.len())?;
            accepts(headers, &ACCEPT_ENCODING, coding).then_some((Some(coding), bytes))
        });
        taken.unwrap_or((None, self.plain))
    }
}

/// A page with what every file of ours is sent with.
fn page(body: &'static [u8]) -> Response<&'static [u8]> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
    response
}

/// Whether a header lists a value that is not excluded with `q=0`.
fn accepts(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let listed = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    listed.map(|one| one.split(';').map(str::trim)).any(|mut parts| {
        parts.next().is_some_and(|value| value.eq_ignore_ascii_case(wanted))
            && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

/// A short name for bytes (FNV-1a): a new build has a new one.
fn fingerprint(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// What stands in the dashboard's place where it could not be built.
const MISSING_PAGE: &str = include_str!("missing.html");

#[cfg(test)]
mod tests;

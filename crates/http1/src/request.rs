//! The head of a request, as bytes.

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Method};

/// Writes the head of a request with a body of so many bytes. `target` is path and query; `host`
/// is named unless the headers name one.
pub fn head(method: &Method, target: &str, host: &str, headers: &HeaderMap, body_bytes: usize) -> Bytes {
    let names = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let bytes = names.sum::<usize>() + method.as_str().len() + target.len() + host.len() + 64;
    let mut out = BytesMut::with_capacity(bytes);
    for part in [method.as_str(), " ", target, " HTTP/1.1\r\n"] {
        out.put_slice(part.as_bytes());
    }
    if !headers.contains_key(HOST) {
        line(&mut out, HOST.as_str(), host.as_bytes());
    }
    for (name, value) in headers {
        // Where the body ends is ours to say.
        if name != CONTENT_LENGTH && name != TRANSFER_ENCODING {
            line(&mut out, name.as_str(), value.as_bytes());
        }
    }
    // A method that usually has a body says that there is none.
    if body_bytes > 0 || matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        let mut digits = [0; 20];
        line(&mut out, CONTENT_LENGTH.as_str(), decimal(body_bytes, &mut digits));
    }
    out.put_slice(b"\r\n");
    out.freeze()
}

fn line(out: &mut BytesMut, name: &str, value: &[u8]) {
    out.put_slice(name.as_bytes());
    out.put_slice(b": ");
    out.put_slice(value);
    out.put_slice(b"\r\n");
}

/// A number in digits, without an allocation.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn written(method: &Method, headers: &[(&'static str, &'static str)], body_bytes: usize) -> String {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let headers = HeaderMap::from_iter(headers);
        String::from_utf8(head(method, "/v1/x?y=1", "example.com:8080", &headers, body_bytes).to_vec()).unwrap()
    }

    #[test]
    fn a_head_says_where_it_goes_and_how_long_its_body_is() {
        assert_eq!(
            written(&Method::POST, &[("x-a", "b"), ("content-length", "7"), ("transfer-encoding", "chunked")], 1203),
            "POST /v1/x?y=1 HTTP/1.1\r\nhost: example.com:8080\r\nx-a: b\r\ncontent-length: 1203\r\n\r\n"
        );
        assert_eq!(written(&Method::GET, &[("host", "other")], 0), "GET /v1/x?y=1 HTTP/1.1\r\nhost: other\r\n\r\n");
        assert!(written(&Method::POST, &[], 0).contains("content-length: 0\r\n"));
    }

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 9, 10, 99, 100, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}

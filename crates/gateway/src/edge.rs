//! Errors of our own at the edge: in the caller's format, naming what was expected and what to do.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::MapErr;
use http_body_util::{BodyExt as _, Either, Full};
use steadfast_core::FailureKind;
use steadfast_dialect::{Family, Final, error};
use steadfast_engine::{BrokeOff, REQUEST_ID, Relay};

/// The body of every response: in one piece, as a provider sends it, or of the control API.
pub(crate) type Body = Either<Whole, Either<Relay, steadfast_api::Body>>;

/// A body in one piece, whose error is never made.
pub(crate) type Whole = MapErr<Full<Bytes>, fn(Infallible) -> BrokeOff>;

/// Takes a body in one piece.
pub(crate) fn whole(body: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(body.into()).map_err((|never| match never {}) as fn(Infallible) -> BrokeOff))
}

/// A request that does not get as far as the engine.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, kind: FailureKind, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    /// A request that is wrong in itself.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, FailureKind::InvalidRequest, message)
    }

    /// The response, in the format of this family.
    pub(crate) fn response(&self, family: Family, request_id: &str) -> Response<Body> {
        let words = Final {
            status: self.status.as_u16(),
            kind: self.kind.as_str(),
            message: &self.message,
            retry_after_s: None,
            request_id,
            limit: None,
        };
        let mut response = json(self.status, error::body(family, &words));
        if let Ok(id) = HeaderValue::from_str(request_id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        response
    }
}

/// A response of JSON.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    with_type(status, "application/json", body)
}

/// A response with a body in one piece.
pub(crate) fn with_type(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

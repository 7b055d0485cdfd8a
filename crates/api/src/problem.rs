//! What is wrong with a request, in the one shape every error of this API has.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error: a stable code, words for people, and the field it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// What is wrong.
    pub error: ProblemDetail,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemDetail {
    /// A stable word for programs, such as `not_found`.
    pub code: String,
    /// What is wrong and what to do, for people.
    pub message: String,
    /// The field it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Every field that is wrong, where several may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FieldProblem>,
}

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldProblem {
    /// Its path, such as `on.rate_limit[0].retry`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// `error`, or `warning` where it may stay.
    pub severity: String,
}

/// A refusal.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    detail: Box<ProblemDetail>,
}

impl Problem {
    /// A refusal with this status and code.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let detail =
            ProblemDetail { code: code.to_owned(), message: message.into(), field: None, problems: Vec::new() };
        Self { status, detail: Box::new(detail) }
    }

    /// There is no such thing, or it is not the caller's.
    pub fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", what)
    }

    /// A value cannot be.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message).about(field)
    }

    /// The caller may not.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// It would contradict what is.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// It cannot be done at the moment.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// The store did not do what it was asked.
    pub fn of_store(error: &steadfast_store::Error) -> Self {
        match error {
            steadfast_store::Error::Away(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_away", error.to_string())
            }
            steadfast_store::Error::Refused(_) => Self::new(StatusCode::BAD_REQUEST, "invalid", error.to_string()),
            steadfast_store::Error::Unreadable(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable", error.to_string())
            }
        }
    }

    /// The same, about a field.
    #[must_use]
    pub fn about(mut self, field: &str) -> Self {
        self.detail.field = Some(field.to_owned());
        self
    }

    /// The same with every field that is wrong.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<FieldProblem>) -> Self {
        self.detail.field = problems.first().map(|problem| problem.field.clone());
        self.detail.problems = problems;
        self
    }

    /// Its status.
    pub const fn status(&self) -> StatusCode {
        self.status
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail.message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(ProblemBody { error: *self.detail })).into_response()
    }
}

/// The query of a request, refused in our shape.
#[derive(Debug)]
pub struct Params<T>(pub T);

/// The names in a path, refused in our shape.
#[derive(Debug)]
pub struct Segment<T>(pub T);

/// The body of a request, refused in our shape.
#[derive(Debug)]
pub struct Sent<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |error: QueryRejection| {
            let text = error.body_text();
            let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text).to_owned();
            let field = text.split_once(": ").map_or("query", |(field, _)| field).to_owned();
            Problem::invalid(&field, format!("the query cannot be read: {text}"))
        };
        read.map(|read| Self(read.0)).map_err(refused)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segment<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|read| Self(read.0)).map_err(|error: PathRejection| Problem::invalid("path", error.body_text()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Json::<T>::from_request(request, state).await;
        let refused = |error: JsonRejection| match error {
            JsonRejection::MissingJsonContentType(_) => {
                let message = "send JSON, with `content-type: application/json`";
                Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
            }
            JsonRejection::BytesRejection(error) => {
                let code = if error.status() == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "invalid" };
                Problem::new(error.status(), code, format!("the body cannot be read: {}", error.body_text()))
            }
            error => {
                let text = error.body_text();
                let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
                let field = text.split_once(": ").map_or("body", |(field, _)| field);
                let field = if field.contains(' ') { "body" } else { field };
                Problem::invalid(field, format!("the body cannot be read: {text}"))
            }
        };
        read.map(|read| Self(read.0)).map_err(refused)
    }
}

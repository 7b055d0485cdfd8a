//! From a request to a response: who calls, then the router, in a runtime of its own.

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, Request, StatusCode};
use tokio::runtime::Handle;
use tower_service::Service as _;
use utoipa_axum::router::OpenApiRouter;

use crate::caller::{Caller, Door};
use crate::control::Control;
use crate::openapi;
use crate::problem::Problem;

/// The largest body of a request: a policy is a few kilobytes, an edited turn a few megabytes.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The one path that needs no token.
const HEALTH: &str = "/api/health";

/// The control API.
#[derive(Clone, Debug)]
pub struct Api {
    router: Router,
    control: Control,
    runtime: Handle,
}

impl Api {
    /// The API over what `control` knows, with the routes that others add. Must be called in the runtime that is
    /// to answer.
    pub fn new(control: Control, more: impl IntoIterator<Item = OpenApiRouter>) -> Self {
        let (router, document) =
            more.into_iter().fold(openapi::routes(control.clone()), OpenApiRouter::merge).split_for_parts();
        let router = router
            .merge(openapi::serve(&document))
            .fallback(|| async { Problem::not_found("there is no such path; GET /api/openapi.json lists all") })
            .method_not_allowed_fallback(|| async {
                let message = "this path knows other methods; GET /api/openapi.json lists them";
                Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
            })
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
        Self { router, control, runtime: Handle::current() }
    }

    /// Whether a path is this API's.
    pub fn serves(path: &str) -> bool {
        path == "/api" || path.starts_with("/api/")
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>, door: Door) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let mut response = match self.admit(&request, door) {
            Ok(caller) => self.route(request.map(Body::new), caller).await,
            Err(problem) => problem.into_response(),
        };
        // What is true now may not be a moment later, and none of it is for a proxy to keep.
        response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        response
    }

    fn admit<B>(&self, request: &Request<B>, door: Door) -> Result<Option<Caller>, Problem> {
        if request.uri().path() == HEALTH {
            return Ok(None);
        }
        Caller::identify(request.headers(), &self.control.snapshot(), door).map(Some)
    }

    async fn route(&self, mut request: Request<Body>, caller: Option<Caller>) -> Response<Body> {
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller);
        }
        let mut router = self.router.clone();
        let answered = self.runtime.spawn(async move { router.call(request).await }).await;
        match answered {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(error) => {
                tracing::error!(%error, "a request of the control API broke off");
                let message = "this request broke off; the log says why";
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message).into_response()
            }
        }
    }
}

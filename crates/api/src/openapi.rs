//! All routes, and the document that describes them.

use axum::Router;
use axum::response::IntoResponse as _;
use axum::routing::get;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder, SecurityRequirement};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::control::Control;
use crate::problem::{ProblemBody, ProblemDetail};
use crate::{endpoints, events, live, requests};

/// Every route of this crate.
pub(crate) fn routes(control: Control) -> OpenApiRouter {
    described().with_state(control)
}

/// The document, without the routes that others add.
pub fn document() -> OpenApi {
    finished(described().into_openapi())
}

/// The route that serves the document.
pub(crate) fn serve(document: &OpenApi) -> Router {
    let text = finished(document.clone()).to_json().unwrap_or_default();
    let text = Bytes::from(text);
    let answer = move || async move { ([(CONTENT_TYPE, "application/json")], text.clone()).into_response() };
    Router::new().route("/api/openapi.json", get(answer))
}

fn described() -> OpenApiRouter<Control> {
    let mut info = Info::new("Steadfast control API", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "What Steadfast is doing, and the means to step in. Send the admin token, or a project's key to see that \
         project alone, as `authorization: Bearer …`; on a loopback address without a configured token none is needed."
            .to_owned(),
    );
    OpenApiRouter::with_openapi(OpenApiBuilder::new().info(info).build())
        .routes(routes!(live::health))
        .routes(routes!(live::whoami))
        .routes(routes!(live::now))
        .routes(routes!(endpoints::list))
        .routes(routes!(endpoints::one))
        .routes(routes!(endpoints::force, endpoints::release))
        .routes(routes!(events::follow))
        .routes(routes!(requests::one))
}

/// The document with what all routes have in common.
fn finished(mut document: OpenApi) -> OpenApi {
    let components = document.components.get_or_insert_default();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert("token".to_owned(), bearer.into());
    for (name, schema) in problem_schemas() {
        components.schemas.entry(name).or_insert(schema);
    }
    document.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>("token", [])]);
    document
}

fn problem_schemas() -> Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)> {
    use utoipa::{PartialSchema as _, ToSchema as _};
    let mut schemas = vec![(ProblemBody::name().into_owned(), ProblemBody::schema())];
    schemas.push((ProblemDetail::name().into_owned(), ProblemDetail::schema()));
    ProblemBody::schemas(&mut schemas);
    schemas
}

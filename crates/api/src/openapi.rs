//! All routes, and the document that describes them.

use axum::Router;
use axum::response::IntoResponse as _;
use axum::routing::get;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use utoipa::ToSchema as _;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder, RefOr, SecurityRequirement};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::control::Control;
use crate::problem::{ProblemBody, ProblemDetail};
use crate::{
    again, alerts, analytics, climb, endpoints, events, explain, export, keys, limits, live, models, policies,
    projects, requests, retry_policy, sessions, settings, standing, turn,
};

/// Every route of this crate.
pub(crate) fn routes(control: Control) -> OpenApiRouter {
    described().with_state(control)
}

/// The document, with the routes that others add.
pub fn document(more: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let mut document = described().into_openapi();
    more.into_iter().for_each(|other| document.merge(other));
    finished(document)
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
        .routes(routes!(endpoints::history))
        .routes(routes!(endpoints::force, endpoints::release))
        .routes(routes!(events::follow))
        .routes(routes!(requests::list))
        .routes(routes!(requests::one))
        .routes(routes!(export::export))
        .routes(routes!(explain::explain))
        .routes(routes!(models::list))
        .routes(routes!(limits::list))
        .routes(routes!(policies::list))
        .routes(routes!(policies::templates))
        .routes(routes!(policies::one, policies::put, policies::delete))
        .routes(routes!(policies::preview))
        .routes(routes!(policies::simulate))
        .routes(routes!(policies::scenarios))
        .routes(routes!(retry_policy::get, retry_policy::put))
        .routes(routes!(retry_policy::get_of_project, retry_policy::put_of_project))
        .routes(routes!(projects::list))
        .routes(routes!(projects::one, projects::put, projects::delete))
        .routes(routes!(projects::budgets))
        .routes(routes!(projects::set_budget))
        .routes(routes!(settings::settings))
        .routes(routes!(keys::list, keys::make))
        .routes(routes!(keys::revoke))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::one))
        .routes(routes!(sessions::events))
        .routes(routes!(sessions::attempts))
        .routes(routes!(sessions::escalations))
        .routes(routes!(standing::standing))
        .routes(routes!(turn::turn))
        .routes(routes!(turn::text))
        .routes(routes!(again::retry))
        .routes(routes!(climb::escalate, climb::roll_back))
        .routes(routes!(alerts::list))
        .routes(routes!(alerts::acknowledge))
        .routes(routes!(analytics::full))
        .routes(routes!(analytics::failures))
}

/// The document with what all routes have in common.
fn finished(mut document: OpenApi) -> OpenApi {
    let components = document.components.get_or_insert_default();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.security_schemes.insert("token".to_owned(), bearer.into());
    for (name, schema) in problem_schemas() {
        components.schemas.entry(name).or_insert(schema);
    }
    for (path, item) in &mut document.paths.paths {
        let operations =
            [("get", &mut item.get), ("put", &mut item.put), ("post", &mut item.post), ("delete", &mut item.delete)];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                complete(operation, method, path);
                add_errors(operation);
            }
        }
    }
    document.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>("token", [])]);
    document
}

/// Gives an operation a name of its own and each of its answers a description: generators need both.
fn complete(operation: &mut Operation, method: &str, path: &str) {
    let words: Vec<&str> = path.split(['/', '-', '{', '}']).filter(|word| !word.is_empty() && *word != "api").collect();
    operation.operation_id = Some(format!("{method}_{}", words.join("_")));
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = "what was asked for".to_owned();
        }
    }
}

/// The errors that any route may answer with, all in one shape.
fn add_errors(operation: &mut Operation) {
    let taken = operation.parameters.as_ref().is_some_and(|parameters| !parameters.is_empty());
    let body = operation.request_body.is_some();
    let errors = [
        ("400", true, "a value cannot be; `field` names it"),
        ("401", true, "no token, or one that opens nothing"),
        ("403", true, "the caller may not see or do this, or a web page asks"),
        ("404", taken, "there is no such thing, or it is not the caller's"),
        ("409", body, "it contradicts what is"),
        ("412", taken || body, "somebody else changed it in between"),
        ("413", body, "the body is too large"),
        ("415", body, "the body is not JSON"),
        ("503", true, "the store is away, or something else passes by itself"),
        ("default", true, "anything else that went wrong"),
    ];
    for (status, _, description) in errors.into_iter().filter(|(_, possible, _)| *possible) {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ProblemBody::name()))).build();
        let response = ResponseBuilder::new().description(description).content("application/json", content).build();
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| response.into());
    }
}

fn problem_schemas() -> Vec<(String, RefOr<utoipa::openapi::schema::Schema>)> {
    use utoipa::PartialSchema as _;
    let mut schemas = vec![(ProblemBody::name().into_owned(), ProblemBody::schema())];
    schemas.push((ProblemDetail::name().into_owned(), ProblemDetail::schema()));
    ProblemBody::schemas(&mut schemas);
    schemas
}

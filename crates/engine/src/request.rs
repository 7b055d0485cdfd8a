//! The request an attempt sends: the client's own, with the target's address, name and credential.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use steadfast_config::{Credential, Dialect, Endpoint};
use steadfast_core::route::{Model, Served};

use steadfast_dialect::translate::{self, Target, Translation};
use steadfast_dialect::{Envelope, Format};

use crate::call::Call;
use crate::trouble::Trouble;

/// Where each dialect expects its key.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// Builds the request for one target; what cannot be sent is trouble of our own making.
pub(crate) fn build(
    call: &Call,
    endpoint: &Endpoint,
    model: &Model,
    served: &Served,
    body: &Bytes,
) -> Result<Request<Bytes>, Trouble> {
    let name = served.alias.as_ref().unwrap_or(&model.name);
    let names_model = call.envelope.model.is_some();
    let path = if names_model { call.route.path_with_model(&call.path, name) } else { call.path.clone() };
    let mut address = endpoint.url.join(&path);
    if let Some(query) = &call.query {
        address.push('?');
        address.push_str(query);
    }
    let uri = Uri::try_from(address).map_err(|error| unusable(&error))?;
    let body = if names_model { renamed(call, body, name) } else { body.clone() };
    let mut request = Request::new(body);
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers(&call.headers, &call.credential, endpoint)?;
    Ok(request)
}

/// Builds the request for a target that speaks another format than the client, and the way back for its answer.
pub(crate) fn build_translated(
    call: &Call,
    client: Format,
    provider: Format,
    endpoint: &Endpoint,
    model: &Model,
    served: &Served,
    body: &Bytes,
) -> Result<(Request<Bytes>, Box<Translation>), Trouble> {
    let name = served.alias.as_ref().unwrap_or(&model.name);
    let target = Target { format: provider, model: name, thinks: model.abilities.thinking };
    let mut translation = translate::request(client, body, call.envelope.stream, target)
        .map_err(|error| Trouble::unfit(&error.to_string()))?;
    let stream = call.envelope.stream;
    let address = endpoint.url.join(&provider.address(name, stream));
    let mut request = Request::new(Bytes::from(std::mem::take(&mut translation.body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::try_from(address).map_err(|error| unusable(&error))?;
    // Neither the client's credentials nor what its headers say to its own vendor are for this one.
    let mut said = HeaderMap::with_capacity(8);
    said.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    said.insert(ACCEPT, HeaderValue::from_static(if stream { "text/event-stream" } else { "application/json" }));
    if let Some(agent) = call.headers.get(USER_AGENT) {
        said.insert(USER_AGENT, agent.clone());
    }
    if provider == Format::Messages {
        said.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
    }
    *request.headers_mut() = headers(&said, &HeaderMap::new(), endpoint)?;
    Ok((request, Box::new(translation)))
}

/// A question of our own, with the endpoint's own credential: clients' are theirs.
pub(crate) fn question(endpoint: &Endpoint, path: &str) -> Result<Request<Bytes>, Trouble> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = Uri::try_from(endpoint.url.join(path)).map_err(|error| unusable(&error))?;
    *request.headers_mut() = headers(&HeaderMap::new(), &HeaderMap::new(), endpoint)?;
    Ok(request)
}

/// The body with the model's name at this target. The envelope knows where the name stands in the
/// client's own body; one that was changed since is looked at anew.
fn renamed(call: &Call, body: &Bytes, name: &str) -> Bytes {
    if body.as_ptr() == call.body.as_ptr() {
        return call.envelope.body_with_model(body, name);
    }
    let (method, path, query) = (call.method.as_str(), call.path.as_str(), call.query.as_deref());
    match Envelope::peek(&call.route, steadfast_dialect::Request { method, path, query }, body) {
        Ok(envelope) => envelope.body_with_model(body, name),
        Err(_) => body.clone(),
    }
}

fn headers(said: &HeaderMap, credential: &HeaderMap, endpoint: &Endpoint) -> Result<HeaderMap, Trouble> {
    let mut headers = said.clone();
    // Answers are read on their way through; what is not compressed need not be unpacked.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    match &endpoint.credential {
        Credential::Client => {
            for (name, value) in credential {
                headers.insert(name, value.clone());
            }
        }
        Credential::Own(key) => {
            let (name, text) = match endpoint.dialect {
                Dialect::Anthropic => (X_API_KEY, key.expose().to_owned()),
                Dialect::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.expose())),
                Dialect::Gemini => (X_GOOG_API_KEY, key.expose().to_owned()),
            };
            headers.insert(name, secret(&text).ok_or_else(|| no_key(endpoint, "is not plain text"))?);
        }
        Credential::Missing { wanted } => return Err(no_key(endpoint, &format!("was not found in {wanted}"))),
    }
    for (name, value) in &endpoint.headers {
        let name = HeaderName::try_from(name.as_str()).map_err(|error| unusable(&error))?;
        headers.insert(name, secret(value.expose()).ok_or_else(|| no_key(endpoint, "has a header that is not text"))?);
    }
    Ok(headers)
}

/// A header value that no log shows.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A target without its key: said in the words the classifier knows for it.
fn no_key(endpoint: &Endpoint, what: &str) -> Trouble {
    let body = format!("authentication_error: the API key of the endpoint `{}` {what}", endpoint.name);
    Trouble { body: body.into(), ..Trouble::response(http::StatusCode::UNAUTHORIZED, HeaderMap::new(), Bytes::new()) }
        .unsent()
}

/// A request that cannot be put into HTTP would fail everywhere.
fn unusable(error: &dyn std::error::Error) -> Trouble {
    let body = format!("invalid_request_error: the request cannot be sent: {error}");
    Trouble::response(http::StatusCode::BAD_REQUEST, HeaderMap::new(), body.into()).unsent()
}

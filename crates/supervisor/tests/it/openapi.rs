//! The document on disk, from which others generate their types, is the one that is served: all routes, also ours.

fn document() -> utoipa::openapi::OpenApi {
    steadfast_api::document([steadfast_supervisor::api::document()])
}

#[test]
fn the_document_on_disk_is_the_one_that_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let document = document().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &document).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert!(known == document, "docs/openapi.json is out of date: UPDATE=1 cargo test -p steadfast-supervisor openapi");
}

#[test]
fn every_route_says_what_it_is_for_and_how_it_fails() {
    let document = serde_json::to_value(document()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let about = operation["summary"].as_str().or(operation["description"].as_str()).unwrap_or_default();
            assert!(!about.is_empty(), "{method} {path} says nothing");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.contains_key("default") && responses.contains_key("401"), "{method} {path}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{method} {path}: {}", parameter["name"]);
            }
        }
    }
}

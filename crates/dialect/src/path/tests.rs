use super::*;

fn route(method: &str, path: &str, anthropic: bool) -> Option<(Family, Operation)> {
    Route::of(Request { method, path, query: None }, anthropic).map(|route| (route.family, route.operation))
}

#[test]
fn paths() {
    use Family::{Anthropic, Gemini, OpenAi};
    use Operation::{CountTokens, Embed, Generate, ListModels, Other};
    #[rustfmt::skip]
    let cases = [
        ("POST", "/v1/chat/completions", OpenAi, Generate(Format::Chat)),
        ("POST", "/v1/chat/completions/", OpenAi, Generate(Format::Chat)),
        ("GET",  "/v1/chat/completions", OpenAi, Other),
        ("POST", "/v1/chat/completions/chatcmpl-1", OpenAi, Other),
        ("POST", "/v1/responses", OpenAi, Generate(Format::Responses)),
        ("GET",  "/v1/responses", OpenAi, Other),
        ("GET",  "/v1/responses/resp_1", OpenAi, Other),
        ("POST", "/v1/responses/resp_1/cancel", OpenAi, Other),
        ("POST", "/v1/responses/input_tokens", OpenAi, CountTokens),
        ("POST", "/v1/embeddings", OpenAi, Embed),
        ("GET",  "/v1/models", OpenAi, ListModels),
        ("GET",  "/v1/models/ft:gpt-4o:acme::x", OpenAi, Other),
        ("POST", "/v1/audio/speech", OpenAi, Other),
        ("POST", "/v1/messages", Anthropic, Generate(Format::Messages)),
        ("POST", "/v1/messages/count_tokens", Anthropic, CountTokens),
        ("POST", "/v1/messages/batches", Anthropic, Other),
        ("GET",  "/v1/messages/batches/b1/results", Anthropic, Other),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent", Gemini, Generate(Format::Gemini)),
        ("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", Gemini, Generate(Format::Gemini)),
        ("POST", "/v1/models/gemini-2.5-pro:streamGenerateContent", Gemini, Generate(Format::Gemini)),
        ("POST", "/v1beta/models/g:countTokens", Gemini, CountTokens),
        ("POST", "/v1beta/models/g:embedContent", Gemini, Embed),
        ("POST", "/v1beta/models/g:batchEmbedContents", Gemini, Embed),
        ("POST", "/v1beta/models/imagen:predict", Gemini, Other),
        ("GET",  "/v1beta/models/g:generateContent", Gemini, Other),
        ("GET",  "/v1beta/models", Gemini, ListModels),
        ("GET",  "/v1beta/models/g", Gemini, Other),
        ("POST", "/v1beta/cachedContents", Gemini, Other),
        ("POST", "/v1beta/tunedModels/t:generateContent", Gemini, Generate(Format::Gemini)),
        ("POST", "/v1/projects/p/locations/l/publishers/google/models/g:generateContent", Gemini, Generate(Format::Gemini)),
    ];
    for (method, path, family, operation) in cases {
        assert_eq!(route(method, path, false), Some((family, operation)), "{method} {path}");
    }
    assert_eq!(route("GET", "/v1/models", true), Some((Anthropic, ListModels)));
    assert_eq!(route("GET", "/v1/files", true), Some((Anthropic, Other)));
    for path in ["/", "", "/v1", "/v1/", "/v2/models", "/api/hello", "/v1beta/", "v1/models"] {
        assert_eq!(route("GET", path, true), None, "{path}");
    }
}

#[test]
fn the_model_in_a_path() {
    let cases = [
        ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", "/v1beta/models/a%20b:generateContent"),
        ("/v1/models/a%2Fb:countTokens", "a/b", "/v1/models/a%20b:countTokens"),
        ("/v1beta/models/%zz%:countTokens", "%zz%", "/v1beta/models/a%20b:countTokens"),
        ("/v1beta/tunedModels/t:generateContent", "tunedModels/t", "/v1beta/models/a%20b:generateContent"),
    ];
    for (path, model, changed) in cases {
        let route = Route::of(Request { method: "POST", path, query: None }, false).unwrap();
        assert_eq!(route.model(path).as_deref(), Some(model));
        assert_eq!(route.path_with_model(path, "a b"), changed);
    }
    let path = "/v1beta/models/g:generateContent";
    let route = Route::of(Request { method: "POST", path, query: None }, false).unwrap();
    assert_eq!(route.path_with_model(path, "tunedModels/t"), "/v1beta/tunedModels/t:generateContent");
    let route = Route::of(Request { method: "POST", path: "/v1/responses", query: None }, false).unwrap();
    assert_eq!(route.model("/v1/responses"), None);
    assert_eq!(route.path_with_model("/v1/responses", "x"), "/v1/responses");
}

#[test]
fn what_may_be_repeated() {
    let repeatable = |method, path| Route::of(Request { method, path, query: None }, false).unwrap().repeatable(method);
    assert!(repeatable("POST", "/v1/responses"));
    assert!(repeatable("GET", "/v1/responses/resp_1"));
    assert!(!repeatable("POST", "/v1/files"));
    assert!(!repeatable("DELETE", "/v1/files/f"));
}

proptest::proptest! {
    #[test]
    fn a_path_keeps_all_but_the_model(path in "/(v1|v1beta)/(models/|tunedModels/|x/models/)?[a-zé%:/]{0,12}(:generateContent)?", model in ".{0,8}") {
        let Some(route) = Route::of(Request { method: "POST", path: &path, query: None }, false) else { return Ok(()) };
        let changed = route.path_with_model(&path, &model);
        match route.model(&path) {
            None => proptest::prop_assert_eq!(changed, path),
            Some(_) if !model.is_empty() && !model.contains("models/") => {
                let again = Route::of(Request { method: "POST", path: &changed, query: None }, false).unwrap();
                proptest::prop_assert_eq!(again.model(&changed), Some(model));
            }
            Some(_) => {}
        }
    }
}

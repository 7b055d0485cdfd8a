use super::*;

fn ask(path: &str, headers: &[(HeaderName, &'static str)]) -> Option<Response<&'static [u8]>> {
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    answer(&request.body(()).unwrap())
}

#[test]
fn browsers_get_the_page_and_programs_do_not() {
    let page = ask("/", &[(ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")]).unwrap();
    assert_eq!(page.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
    assert!(page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().contains("script-src 'self'"));
    assert!(ask("/", &[(ACCEPT, "*/*")]).is_none(), "curl");
    assert!(ask("/", &[(ACCEPT, "text/html;q=0")]).is_none());
    assert!(ask("/v1/models", &[(ACCEPT, "text/html")]).is_none(), "a path of a model API");
    assert!(ask("/../Cargo.toml", &[]).is_none());
}

#[test]
fn a_page_that_is_known_is_not_sent_again() {
    if MISSING.is_some() {
        return assert!(MISSING_PAGE.contains("nodejs.org"), "without Node the page says what to install");
    }
    let html = || (ACCEPT, "text/html");
    let first = ask("/", &[html()]).unwrap();
    let tag: &'static str = String::from_utf8(first.headers()[ETAG].as_bytes().to_vec()).unwrap().leak();
    let again = ask("/", &[html(), (IF_NONE_MATCH, tag)]).unwrap();
    assert_eq!((again.status(), again.body().len()), (StatusCode::NOT_MODIFIED, 0));
}

#[test]
fn files_are_sent_as_small_as_the_client_takes_them_and_kept_for_good() {
    for file in FILES.iter().filter(|file| file.name.starts_with(HASHED)) {
        let path = format!("/{}", file.name);
        let (plain, small) = (ask(&path, &[]).unwrap(), ask(&path, &[(ACCEPT_ENCODING, "gzip, br")]).unwrap());
        assert_eq!(*plain.body(), file.plain);
        assert!(small.body().len() <= plain.body().len());
        assert!(small.headers()[CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        let text = std::str::from_utf8(file.plain).unwrap();
        assert!(!text.contains("https://") || !text.contains("import(\"https"), "{path} loads from elsewhere");
    }
}

/// What the build script decides, without a build.
#[expect(dead_code, reason = "its other half builds the dashboard")]
#[path = "../build.rs"]
mod build_script;

#[test]
fn without_node_the_build_goes_on_and_says_what_to_install() {
    use build_script::{can_be_built, version};
    assert_eq!(can_be_built(Some("off"), "node"), Err("STEADFAST_WEB=off said so".to_owned()));
    let missing = can_be_built(None, "there-is-no-such-node").unwrap_err();
    assert!(missing.starts_with("Node was not found; install Node 20.19 or later with npm"), "{missing}");
    // A program that is no Node says no version.
    let other = can_be_built(Some("on"), "true").unwrap_err();
    assert!(other.contains("install Node"), "{other}");
    assert!(version("v18.20.4") < version("v20.19.0") && version("v22.1.0") > version("v20.19.0"));
    assert_eq!(version("what?"), (0, 0));
}

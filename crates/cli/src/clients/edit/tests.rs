use super::*;

fn url() -> Vec<Entry> {
    vec![Entry::new(&["env", "URL"], Setting::text("http://x"))]
}

#[track_caller]
fn check(format: Format, before: &str, entries: &[Entry], after: &str) {
    let once = edited(format, before, entries).unwrap();
    assert_eq!(once, after, "from:\n{before}");
    assert_eq!(edited(format, &once, entries).unwrap(), once, "twice is as once");
}

#[test]
fn json_keeps_every_byte_it_does_not_change() {
    let check = |before, after| check(Format::Json, before, &url(), after);
    check("", "{\n  \"env\": {\n    \"URL\": \"http://x\"\n  }\n}\n");
    check("{}\n", "{\n  \"env\": {\n    \"URL\": \"http://x\"\n  }\n}\n");
    // Comments, odd indentation, trailing commas, no newline at the end, members in their order.
    check(
        "// mine\n{\n\t\"z\": [1,2 , 3], /* why */\n\t\"env\": {\n\t\t\"A\": \"b\", // last\n\t},\n\t\"a\": 1e3\n}",
        "// mine\n{\n\t\"z\": [1,2 , 3], /* why */\n\t\"env\": {\n\t\t\"A\": \"b\", // last\n\t\t\"URL\": \"http://x\",\n\t},\n\t\"a\": 1e3\n}",
    );
    check("{\"env\":{\"URL\":\"http://old\"/*!*/,\"B\":1}}", "{\"env\":{\"URL\":\"http://x\"/*!*/,\"B\":1}}");
    check("{\"env\":{\"URL\":\"http:\\/\\/x\"}}", "{\"env\":{\"URL\":\"http:\\/\\/x\"}}");
    check("{ env: { URL: 'http://x' } }", "{ env: { URL: 'http://x' } }");
    check(
        "{\r\n  \"env\": {\r\n    \"A\": 1\r\n  }\r\n}\r\n",
        "{\r\n  \"env\": {\r\n    \"A\": 1,\r\n    \"URL\": \"http://x\"\r\n  }\r\n}\r\n",
    );
}

#[test]
fn what_cannot_be_edited_is_told_with_its_field() {
    let field = |format, before: &str| edited(format, before, &url()).unwrap_err().to_string();
    assert_eq!(field(Format::Json, "[1]"), "the whole of it is not an object");
    assert_eq!(field(Format::Json, "{\"env\": \"text\"}"), "`env` is there and is not an object or table");
    assert_eq!(field(Format::Toml, "env = 1"), "`env` is there and is not an object or table");
    assert!(field(Format::Json, "{\"env\": ").contains("line 1"), "{}", field(Format::Json, "{\"env\": "));
    assert!(field(Format::Json, "{\"a\": 1 \"b\": 2}").contains("line 1"));
    assert!(field(Format::Toml, "a = \n").contains("line 1"), "{}", field(Format::Toml, "a = \n"));
}

#[test]
fn toml_keeps_comments_and_order() {
    let entries = [
        Entry::new(&["provider"], Setting::text("s")),
        Entry::new(&["providers", "s", "url"], Setting::text("http://x")),
        Entry::new(&["providers", "s", "tries"], Setting::Number(0)),
        Entry::new(&["providers", "s", "ws"], Setting::Flag(false)),
        Entry::new(&["providers", "s", "list"], Setting::EmptyList).if_absent(),
    ];
    let check = |before, after| check(Format::Toml, before, &entries, after);
    check("", "provider = \"s\"\n\n[providers.s]\nurl = \"http://x\"\ntries = 0\nws = false\nlist = []\n");
    check(
        "# mine\nprovider = \"other\" # why\nmodel = 'm'\n\n[providers.other]\nurl = \"http://o\"\n\n[tools] # t\nx = [1, 2]\n",
        "# mine\nprovider = \"s\" # why\nmodel = 'm'\n\n[providers.other]\nurl = \"http://o\"\n\n[providers.s]\nurl = \"http://x\"\ntries = 0\nws = false\nlist = []\n\n[tools] # t\nx = [1, 2]\n",
    );
    check(
        "provider = 's'\nproviders = { s = { url = \"http://old\", tries = 4, ws = true, list = [1] } }\n",
        "provider = 's'\nproviders = { s = { url = \"http://x\", tries = 0, ws = false, list = [1] } }\n",
    );
}

#[test]
fn env_files_keep_their_lines() {
    let entries = [Entry::new(&["URL"], Setting::text("http://x")), Entry::new(&["B"], Setting::text("2"))];
    let check = |before, after| check(Format::Env, before, &entries, after);
    check("", "URL=http://x\nB=2\n");
    check("# URL=no\nKEY=a=b\nexport URL='http://old'", "# URL=no\nKEY=a=b\nexport URL=http://x\nB=2\n");
    check("URL=\"http://x\"\nB = 2\n", "URL=\"http://x\"\nB = 2\n");
    check("URL=http://first\nURL=http://last\nB=2", "URL=http://first\nURL=http://x\nB=2");
}

#[test]
fn no_text_makes_it_panic() {
    let parts = [
        "{", "}", "\"env\"", ":", "\"URL\"", "[", "]", ",", "=", "\n", "#", "//", "/*", "env", ".", "1", "'", "ö", "\\",
    ];
    // Every text of four such parts.
    for number in 0..parts.len().pow(4) {
        let text: String = (0..4).map(|place| parts[number / parts.len().pow(place) % parts.len()]).collect();
        for format in [Format::Json, Format::Toml, Format::Env] {
            if let Ok(after) = edited(format, &text, &url()) {
                assert_eq!(edited(format, &after, &url()).as_ref(), Ok(&after), "{format:?}: {text:?}");
            }
        }
    }
}

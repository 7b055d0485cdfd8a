//! Nothing that can be written makes the loader panic: the fuzz target `config`, run briefly. `PROPTEST_CASES=100000` looks harder.

#[path = "../../../../fuzz/any_config.rs"]
mod any_config;

use any_config::any_config;
use proptest::prelude::*;

use super::{CONTRACT, load_text, load_with};

/// Pieces of configuration, put together at random.
const PIECES: &[&str] = &[
    "[policies.a]\n",
    "[policies.a.on]\n",
    "extends = \"a\"\n",
    "extends = \"b\"\n",
    "[policies.b]\n",
    "[endpoints.x]\n",
    "[models.\"\"]\n",
    "[models.m]\n",
    "fallback = [\"m\", \"n\"]\n",
    "endpoints = [{ endpoint = \"x\", as = \"y\" }]\n",
    "key = { env = \"A\" }\n",
    "key = \"sk-abcdefgh\"\n",
    "timeout = [{ retry = 3 }]\n",
    "on = 3\n",
    "[[rules]]\n",
    "match = {}\n",
    "[projects.default]\n",
    "policy = \"a\"\n",
    "chain = []\n",
    "[council]\n",
    "members = [\"m\", \"m\"]\n",
    "[council.member.m]\n",
    "model = \"m\"\n",
    "deadline = \"1d1d\"\n",
    "deadline = 1e999\n",
    "rate = { requests_per_minute = -0 }\n",
    "listen = \"[::]:0\"\n",
    "[[endpoints]]\n",
    "x.y.z = 1\n",
    "[",
    "]",
    "\"",
    "'''",
    "\u{0}",
    "\u{feff}",
    "é…",
    "\r\n",
    "= 1\n",
    "{",
    "}",
    ",",
    "1979-05-27\n",
];

proptest! {
    #[test]
    fn noise(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        any_config(bytes);
    }

    #[test]
    fn any_text(text in "[\\[\\]{}=.,\"'#a-z0-9_ \n…é-]{0,200}") {
        any_config(text.into_bytes());
    }

    #[test]
    fn any_order_of_pieces(picks in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        any_config(picks.into_iter().map(|pick| PIECES[pick]).collect::<String>().into_bytes());
    }

    #[test]
    fn the_contract_with_anything_in_it(at in 0..4000usize, cut in 0..60usize, with in 0..PIECES.len()) {
        let mut bytes = CONTRACT.as_bytes().to_vec();
        let start = at.min(bytes.len());
        let end = (start + cut).min(bytes.len());
        bytes.splice(start..end, PIECES[with].bytes());
        any_config(bytes);
    }

    #[test]
    fn any_variable_and_any_flag(
        name in "(LISTEN|MODELS__[A-Z_]{0,20}|[A-Z_]{0,30})", value in "\\PC{0,40}", setting in "[a-z.\"=\\[\\]{} 0-9]{0,40}",
    ) {
        let name = format!("STEADFAST_{name}");
        let _ = load_with(None, &[(&name, &value)], &[&setting]).map(|loaded| loaded.show());
    }
}

#[test]
fn a_deep_path_does_not_overflow_the_stack() {
    let name = format!("STEADFAST_{}", "MODELS__".repeat(50_000));
    let _ = load_with(None, &[(&name, "1")], &[]);
    let setting = format!("{}=1", "a.".repeat(50_000));
    let _ = load_with(None, &[], &[&setting]);
    let _ = load_text(&format!("x = {}", "[".repeat(100_000)));
    let _ = load_text(&format!("{} = 1", vec!["a"; 50_000].join(".")));
}

#[test]
fn a_file_full_of_mistakes_is_answered_at_once_and_briefly() {
    let many = |count: u32, piece: &dyn Fn(u32) -> String| (0..count).map(piece).collect::<String>();
    for text in [
        many(20_000, &|number| format!("[policies.p{number}]\nx = 1\n")),
        many(60_000, &|number| format!("k{number} = 1\n")),
        many(30_000, &|number| format!("[endpoints.e{number}]\n")),
        many(20_000, &|number| format!("[policies.p{number}]\nextends = \"p{}\"\n", number + 1)),
        many(15_000, &|number| format!("[projects.p{number}]\nchain = [\"a\"]\npolicy = \"p{number}\"\n")),
        format!("[ladders]\nx = [{}]\n", many(60_000, &|number| format!("\"m{number}\","))),
        format!("x = {{ {} }}\n", many(50_000, &|number| format!("key{number} = \"a\","))),
        "\"\"\"\n".repeat(200_000),
        "a = [".repeat(150_000),
    ] {
        let begun = std::time::Instant::now();
        let problems = load_text(&text).unwrap_err();
        assert!(problems.errors() <= 100 && problems.warnings() <= 100);
        assert!(problems.to_string().len() < 200_000);
        // Anything quadratic takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}: {}", begun.elapsed(), &text[..40]);
    }
}

#[test]
fn errors_are_found_behind_any_number_of_warnings() {
    let endpoint = |number| {
        format!("[endpoints.e{number}]\ndialect = \"openai\"\nurl = \"https://h\"\nkey = {{ env = \"E{number}\" }}\n")
    };
    let mut text: String = (0..150).map(endpoint).collect();
    assert_eq!(load_text(&text).unwrap().warnings.list.len(), 100);
    text.push_str("[[rules]]\n");
    assert_eq!(load_text(&text).unwrap_err().errors(), 2);
}

#[test]
fn a_value_of_a_megabyte_makes_a_short_message() {
    let text = format!("[projects.x]\npolicy = \"{}\"\n", "p ".repeat(400_000));
    assert!(load_text(&text).unwrap_err().to_string().len() < 5_000);
}

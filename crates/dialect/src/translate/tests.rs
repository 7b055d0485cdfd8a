//! Golden files: each request, answer and stream of a format, and what becomes of it in every other.
//!
//! `GOLDEN=write cargo test -p steadfast-dialect golden` writes them anew; read the difference before it is
//! committed.

mod any;
mod meaning;
mod responses;
mod there_and_back;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::*;
use crate::{Frames, Framing, Seen, Watch};

/// Models that stand for each format.
const PROVIDERS: [(Format, &str); 3] =
    [(Format::Chat, "gpt-5.2"), (Format::Messages, "claude-sonnet-4-5"), (Format::Gemini, "gemini-3-pro")];

const STAMP: Stamp = Stamp { seed: 7, unix_seconds: 1_763_000_000 };

fn target((format, model): (Format, &str)) -> Target<'_> {
    Target { format, model, thinks: true }
}

/// `fixtures/translate/requests/chat/tools.json` and the like: the file's name and text.
fn cases(folder: &str, format: Format, ending: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder).join(format.as_str());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut cases: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .filter(|path| !path.to_string_lossy().contains(".to-"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    cases.sort();
    cases
}

#[track_caller]
fn golden(case: &Path, to: Format, is: &str) {
    let extension = case.extension().unwrap().to_string_lossy();
    let path = case.with_extension(format!("to-{}.{extension}", to.as_str()));
    if std::env::var_os("GOLDEN").is_some() {
        std::fs::write(&path, is).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(is, expected, "{}; GOLDEN=write writes it anew", path.display());
}

fn pretty(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

/// Gemini's clients say it in the path.
fn asks_stream(client: Format, body: &str) -> bool {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    client == Format::Gemini || body["stream"] == true
}

fn request_of(client: Format, body: &str, provider: (Format, &str)) -> String {
    match request(client, body.as_bytes(), asks_stream(client, body), target(provider)) {
        Ok(translation) => format!("{}# {}\n", pretty(&translation.body), translation.notes),
        Err(Untranslatable::Refused(refused)) => format!("# refused: {refused}\n"),
        Err(Untranslatable::Malformed(malformed)) => panic!("{client:?}: {malformed}"),
    }
}

#[test]
fn golden_requests() {
    for client in Format::ALL {
        for (path, body) in cases("translate/requests", client, "json") {
            for provider in PROVIDERS.into_iter().filter(|(format, _)| *format != client) {
                golden(&path, provider.0, &request_of(client, &body, provider));
            }
        }
    }
}

fn way_back(client: Format, provider: Format) -> Translation {
    Translation {
        body: String::new(),
        notes: Notes::default(),
        client,
        provider,
        names: Names::default(),
        json_tool: None,
        usage_asked: true,
    }
}

#[test]
fn golden_answers() {
    for (provider, _) in PROVIDERS {
        for (path, body) in cases("translate/answers", provider, "json") {
            for client in Format::ALL.into_iter().filter(|client| *client != provider) {
                let answer = way_back(client, provider).answer(body.as_bytes(), STAMP).unwrap();
                assert_eq!(crate::whole::check(client, answer.as_bytes()).problem, None, "{client:?} {answer}");
                golden(&path, client, &pretty(&answer));
            }
        }
    }
}

/// The client's stream for a provider's; an error names the frame that cannot be read.
fn stream_of(client: Format, provider: Format, chunks: &[&[u8]]) -> Result<String, String> {
    framed_stream_of((client, Framing::Sse), (provider, Framing::Sse), chunks)
}

fn framed_stream_of(
    client: (Format, Framing),
    provider: (Format, Framing),
    chunks: &[&[u8]],
) -> Result<String, String> {
    let mut stream = way_back(client.0, provider.0).stream(client.1, STAMP);
    let (mut frames, mut watch) = (Frames::new(provider.1), Watch::new(provider.0));
    let mut out = String::new();
    for chunk in chunks {
        frames.feed(Bytes::copy_from_slice(chunk)).unwrap();
        while let Some(frame) = frames.next() {
            let seen = watch.see(&frame);
            if matches!(seen, Seen::Error | Seen::Malformed) {
                return Err(format!("{out}# {seen:?}\n"));
            }
            let bytes = stream.feed(&frame).map_err(|malformed| malformed.to_string())?;
            out.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
    if watch.is_whole() {
        out.push_str(std::str::from_utf8(&stream.finish()).unwrap());
        return Ok(out);
    }
    Err(out)
}

#[test]
fn golden_streams() {
    for (provider, _) in PROVIDERS {
        for (path, body) in cases(".", provider, "sse") {
            for client in Format::ALL.into_iter().filter(|client| *client != provider) {
                let whole = stream_of(client, provider, &[body.as_bytes()]);
                let (text, is_whole) = match &whole {
                    Ok(text) => (text, true),
                    Err(text) => (text, false),
                };
                assert_eq!(watched(client, text), is_whole, "{} to {client:?}", path.display());
                let mut told = text.clone();
                if !is_whole {
                    let _ = writeln!(told, "# not whole");
                }
                golden(&translated(&path), client, &told);
            }
        }
    }
}

/// Translated streams stand beside the other translations.
fn translated(path: &Path) -> PathBuf {
    let format = path.parent().unwrap().file_name().unwrap();
    let fixtures = path.parent().unwrap().parent().unwrap();
    let folder = fixtures.join("translate/streams").join(format);
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(path.file_name().unwrap())
}

/// Whether a stream in the client's format is whole; nothing in it may be malformed.
#[track_caller]
fn watched(client: Format, text: &str) -> bool {
    let (mut frames, mut watch) = (Frames::new(Framing::Sse), Watch::new(client));
    let end = text.find("# ").unwrap_or(text.len());
    frames.feed(Bytes::copy_from_slice(&text.as_bytes()[..end])).unwrap();
    while let Some(frame) = frames.next() {
        let seen = watch.see(&frame);
        assert!(!matches!(seen, Seen::Error | Seen::Malformed), "{client:?} {seen:?}: {frame:?}");
    }
    watch.is_whole()
}

#[test]
fn where_chunks_end_changes_nothing() {
    let is_asked = |format: Format| PROVIDERS.iter().any(|(provider, _)| *provider == format);
    for fixture in crate::fixture::all().into_iter().filter(|fixture| is_asked(fixture.format)) {
        for client in Format::ALL.into_iter().filter(|client| *client != fixture.format) {
            let told =
                |chunks: &[&[u8]]| framed_stream_of((client, Framing::Sse), (fixture.format, fixture.framing), chunks);
            let whole = told(&[&fixture.bytes]);
            for at in 0..fixture.bytes.len() {
                let (first, second) = fixture.bytes.split_at(at);
                assert_eq!(told(&[first, second]), whole, "{} at {at}", fixture.name);
            }
            assert_eq!(told(&fixture.bytes.chunks(1).collect::<Vec<_>>()), whole, "{} byte by byte", fixture.name);
        }
    }
}

/// Gemini's streams are cut in two ways, which say the same.
#[test]
fn framing_changes_nothing() {
    let array = (Format::Gemini, Framing::JsonArray);
    for client in Format::ALL.into_iter().filter(|client| *client != Format::Gemini) {
        for (path, body) in cases(".", Format::Gemini, "json") {
            let sse = std::fs::read_to_string(path.with_extension("sse")).unwrap();
            let is = framed_stream_of((client, Framing::Sse), array, &[body.as_bytes()]);
            assert_eq!(is, stream_of(client, Format::Gemini, &[sse.as_bytes()]), "{}", path.display());
        }
    }
    for (provider, _) in PROVIDERS.into_iter().filter(|(provider, _)| *provider != Format::Gemini) {
        for (path, body) in cases(".", provider, "sse") {
            let sse = stream_of(Format::Gemini, provider, &[body.as_bytes()]);
            let is = framed_stream_of(array, (provider, Framing::Sse), &[body.as_bytes()]);
            assert_eq!(is.is_ok(), sse.is_ok(), "{}", path.display());
            if let Ok(text) = &is {
                serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap();
            }
            assert_eq!(data(Framing::JsonArray, is), data(Framing::Sse, sse), "{}", path.display());
        }
    }
}

/// What the frames of a stream say.
fn data(framing: Framing, stream: Result<String, String>) -> Vec<String> {
    let text = stream.unwrap_or_else(|text| text);
    let end = text.find("# ").unwrap_or(text.len());
    let frames = crate::fixture::frames(framing, &Bytes::from(text[..end].to_owned()));
    let data = frames.iter().map(|frame| String::from_utf8(frame.data().into_owned()).unwrap());
    data.filter(|data| !data.is_empty()).collect()
}

#[test]
fn a_text_that_is_a_file_is_said_to_anthropic_as_a_text() {
    let asked = |url: &str| {
        let file = serde_json::json!({"type": "file", "file": {"filename": "notes", "file_data": url}});
        let body = serde_json::json!({"messages": [{"role": "user", "content": [file]}]}).to_string();
        let sent = request(Format::Chat, body.as_bytes(), false, target((Format::Messages, "claude-sonnet-4-5")));
        let sent: serde_json::Value = serde_json::from_str(&sent.unwrap().body).unwrap();
        sent["messages"][0]["content"][0].clone()
    };
    let text = asked("data:text/plain;base64,aGVsbG8=");
    assert_eq!(
        text["source"],
        serde_json::json!({"type": "text", "media_type": "text/plain", "data": "hello"}),
        "{text}"
    );
    let pdf = asked("data:application/pdf;base64,aGVsbG8=");
    assert_eq!(pdf["source"]["type"], "base64", "{pdf}");
}

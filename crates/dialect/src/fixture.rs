//! Streams for the tests: `fixtures/<format>/<case>.sse`, and `.json` where the framing is an array. Written after
//! the vendors' documents, not recorded.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::{Format, Frame, Frames, Framing, Seen, Watch};

/// One stream.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) framing: Framing,
    pub(crate) bytes: Bytes,
}

/// Every stream.
pub(crate) fn all() -> Vec<Fixture> {
    let mut fixtures: Vec<Fixture> = Format::ALL.into_iter().flat_map(of_format).collect();
    fixtures.sort_by(|a, b| a.name.cmp(&b.name));
    fixtures
}

/// The stream of this name, such as `chat/text`.
pub(crate) fn load(name: &str) -> Fixture {
    let wanted = if name.contains('.') { name.to_owned() } else { format!("{name}.sse") };
    all().into_iter().find(|fixture| fixture.name == wanted).unwrap_or_else(|| panic!("no fixture {name}"))
}

/// Every frame of a stream that arrives in chunks of this size, and the rest.
pub(crate) fn cut(framing: Framing, bytes: &Bytes, sizes: impl IntoIterator<Item = usize>) -> (Vec<Frame>, Bytes) {
    let mut frames = Frames::new(framing);
    let mut found = Vec::new();
    let mut left = bytes.clone();
    let mut feed = |chunk: Bytes| {
        frames.feed(chunk).unwrap();
        while let Some(frame) = frames.next() {
            found.push(frame);
        }
    };
    for size in sizes {
        feed(left.split_to(size.min(left.len())));
    }
    feed(left);
    let rest = frames.rest();
    (found, rest)
}

/// The frames of a stream that arrives at once.
pub(crate) fn frames(framing: Framing, bytes: &Bytes) -> Vec<Frame> {
    cut(framing, bytes, []).0
}

/// What a watch sees, one letter a frame, and the watch.
pub(crate) fn watch(format: Format, frames: &[Frame]) -> (String, Watch) {
    let mut watch = Watch::keeping_text(format);
    let seen = frames.iter().map(|frame| letter(watch.see(frame))).collect();
    (seen, watch)
}

/// `p`reamble, `c`ontent, tool `t`, tool `W`hole, `E`nd, `X` error, `M`alformed.
pub(crate) const fn letter(seen: Seen) -> char {
    match seen {
        Seen::Preamble => 'p',
        Seen::Content => 'c',
        Seen::ToolPart => 't',
        Seen::ToolWhole => 'W',
        Seen::End => 'E',
        Seen::Error => 'X',
        Seen::Malformed => 'M',
    }
}

fn of_format(format: Format) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format.as_str());
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| of_file(format, &path)).collect()
}

fn of_file(format: Format, path: &PathBuf) -> Fixture {
    let framing = if path.extension().is_some_and(|end| end == "json") { Framing::JsonArray } else { Framing::Sse };
    let name = format!("{}/{}", format.as_str(), path.file_name().unwrap().to_str().unwrap());
    Fixture { name, format, framing, bytes: std::fs::read(path).unwrap().into() }
}

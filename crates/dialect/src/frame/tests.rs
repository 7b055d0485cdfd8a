use proptest::prelude::*;

use super::*;
use crate::fixture::{cut, frames};

fn sse(text: &str) -> Vec<(Option<String>, Option<String>)> {
    let frames = frames(Framing::Sse, &Bytes::copy_from_slice(text.as_bytes()));
    frames.iter().map(read).collect()
}

fn read(frame: &Frame) -> (Option<String>, Option<String>) {
    let data = String::from_utf8(frame.data().into_owned()).unwrap();
    (frame.event().map(str::to_owned), (!frame.is_comment()).then_some(data))
}

fn data(text: &str) -> (Option<String>, Option<String>) {
    (None, Some(text.to_owned()))
}

#[test]
fn events_and_their_data() {
    let named = |event: &str, data: &str| (Some(event.to_owned()), Some(data.to_owned()));
    assert_eq!(sse("data: a\n\n"), [data("a")]);
    assert_eq!(sse("data:{}\n\n"), [data("{}")]);
    assert_eq!(sse("data:  a \n\n"), [data(" a ")]);
    assert_eq!(sse("event: ping\ndata: {}\n\n"), [named("ping", "{}")]);
    assert_eq!(sse("data: {}\nevent: ping\nid: 7\nretry: 10\n\n"), [named("ping", "{}")]);
    assert_eq!(sse("data: a\ndata\ndata: b\n\n"), [data("a\n\nb")]);
    assert_eq!(sse("\u{feff}data: a\n\n"), [data("a")]);
    assert_eq!(sse(": comment\n\ndata: a\n\n"), [(None, None), data("a")]);
    assert_eq!(sse(": comment\ndata: a\n\n"), [data("a")]);
    assert_eq!(sse("dataset: a\n\n"), [(None, None)]);
    assert_eq!(sse("data: a\n"), []);
    assert_eq!(sse("\n\n"), [(None, None), (None, None)]);
    assert_eq!(sse("{\n \"error\": 1\n}\n\n"), [data("{\n \"error\": 1\n}")]);
}

#[test]
fn every_kind_of_line_end() {
    for end in ["\n\n", "\r\n\r\n", "\r\n\n", "\n\r\n"] {
        let text = format!("event: x\r\ndata: a{end}data: b{end}");
        assert_eq!(sse(&text).len(), 2, "{end:?}");
    }
    assert_eq!(sse("data: a\r\rdata: b\r\r"), [data("a"), data("b")]);
    assert_eq!(sse("event: x\rdata: a\r\r"), [(Some("x".into()), Some("a".into()))]);
}

#[test]
fn an_event_does_not_wait_for_the_next() {
    for text in ["data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"] {
        let (frames, rest) = cut(Framing::Sse, &Bytes::from_static(text.as_bytes()), vec![1; text.len()]);
        assert_eq!((frames.len(), rest.len()), (1, 0), "{text:?}");
    }
}

#[test]
fn a_frame_within_a_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"data: a\n\ndata: b\n\n");
    for frame in frames(Framing::Sse, &chunk) {
        assert!(chunk.as_ptr_range().contains(&frame.raw.as_ptr()));
    }
}

#[test]
fn elements_of_an_array() {
    let read_all = |text: &'static str| {
        let (frames, rest) = cut(Framing::JsonArray, &Bytes::from_static(text.as_bytes()), []);
        let parts = frames
            .iter()
            .map(|frame| (std::str::from_utf8(&frame.raw).unwrap().to_owned(), read(frame).1.unwrap_or_default()));
        (parts.collect::<Vec<_>>(), String::from_utf8(rest.to_vec()).unwrap())
    };
    let part = |raw: &str, data: &str| (raw.to_owned(), data.to_owned());
    let (parts, rest) = read_all("[{\"a\":\"}\\\"]\"}\n,\r\n{\"b\":[1,{}]}\n]\n");
    assert_eq!(
        parts,
        [
            part("[{\"a\":\"}\\\"]\"}", "{\"a\":\"}\\\"]\"}"),
            part("\n,\r\n{\"b\":[1,{}]}", "{\"b\":[1,{}]}"),
            part("\n]", "")
        ]
    );
    assert_eq!(rest, "\n");
    assert_eq!(read_all("[{}, {\"a\":").1, ", {\"a\":");
    assert_eq!(read_all("{\"error\":{}}").0, [part("{\"error\":{}}", "{\"error\":{}}")]);
    assert_eq!(read_all("[1,\"x\",[2]]").0.len(), 4);
}

#[test]
fn a_frame_without_end_is_an_error() {
    for framing in [Framing::Sse, Framing::JsonArray] {
        let mut frames = Frames::new(framing);
        frames.feed(Bytes::from_static(b"data: a\n\n")).unwrap();
        let chunk = Bytes::from(vec![b'x'; 1024 * 1024]);
        let fed = (0..8).take_while(|_| frames.feed(chunk.clone()).is_ok()).count();
        assert!(fed <= 4);
        assert_eq!(frames.feed(Bytes::from_static(b"\n\n")), Err(TooLong));
        assert!(frames.rest().len() <= FRAME_BYTES_MAX + chunk.len());
    }
    let mut frames = Frames::new(Framing::Sse);
    let long = [b"data: a\n\ndata: ", &vec![b'x'; FRAME_BYTES_MAX][..], b"\n\n"].concat();
    assert_eq!(frames.feed(long.into()), Err(TooLong));
    assert!(frames.next().is_some() && frames.next().is_none());
}

proptest! {
    #[test]
    fn nothing_is_lost_however_it_is_cut(
        text in "(data: ?|event: |:|\\{|\\}|\\[|\\]|,|\"|\\\\|a|ü|\n|\r|\n\n|\r\n|\u{feff}){0,60}",
        sizes in proptest::collection::vec(0..9_usize, 0..30),
    ) {
        let bytes = Bytes::from(text);
        for framing in [Framing::Sse, Framing::JsonArray] {
            let (whole, rest) = cut(framing, &bytes, []);
            let joined = [whole.iter().map(|frame| &frame.raw[..]).collect::<Vec<_>>().concat(), rest.to_vec()].concat();
            prop_assert_eq!(&joined[..], &bytes[..]);
            prop_assert!(whole.iter().all(|frame| !frame.raw.is_empty()));
            prop_assert_eq!(&cut(framing, &bytes, sizes.clone()), &(whole, rest));
        }
    }
}

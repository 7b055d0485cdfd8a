use proptest::prelude::*;

use super::*;

/// How an answer is read: its status, its body, whether that was all of it, and what is left over.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    status: u16,
    body: String,
    whole: bool,
    keeps_alive: bool,
    left: usize,
}

/// Reads bytes that come in these pieces, and then the end of the connection.
fn read(method: &Method, pieces: &[&[u8]]) -> Result<Read, Malformed> {
    let mut buffer = BytesMut::new();
    let mut awaited = Awaited::new(method);
    let mut answer: Option<Answer> = None;
    let mut body = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        if answer.is_none() {
            answer = awaited.read(&mut buffer)?;
        }
        if let Some(answer) = &mut answer {
            while let Some(piece) = answer.body.take(&mut buffer)? {
                assert!(!piece.is_empty());
                body.extend_from_slice(&piece);
            }
        }
    }
    let mut answer = answer.ok_or(Malformed::Head(httparse::Error::Status))?;
    let whole = answer.body.closed();
    let body = String::from_utf8(body).unwrap();
    Ok(Read { status: answer.status.as_u16(), body, whole, keeps_alive: answer.keeps_alive, left: buffer.len() })
}

fn get(text: &str) -> Result<Read, Malformed> {
    read(&Method::GET, &[text.as_bytes()])
}

fn whole(status: u16, body: &str) -> Result<Read, Malformed> {
    Ok(Read { status, body: body.to_owned(), whole: true, keeps_alive: true, left: 0 })
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn chunks_count_before_a_length_and_the_connection_is_not_kept() {
    let read = get("HTTP/1.1 200 OK\r\ncontent-length: 99\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(read, whole(200, "abc").map(|read| Read { keeps_alive: false, ..read }));
}

#[test]
fn a_body_ends_where_its_head_says() {
    assert_eq!(get("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"), whole(200, "abc"));
    assert_eq!(get("HTTP/1.1 200 OK\r\ncontent-length: 3, 3\r\nContent-Length: 3\r\n\r\nabc"), whole(200, "abc"));
    assert_eq!(get("HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n"), whole(500, ""));
    assert_eq!(get("HTTP/1.1 200 OK\r\n\r\nabc"), whole(200, "abc"), "until the end of the connection");
    assert_eq!(
        get(&format!("{CHUNKED}3\r\nabc\r\n0A ;x=\"y\"\r\n0123456789\r\n0\r\nx-t: 1\r\n\r\n")),
        whole(200, "abc0123456789")
    );
}

#[test]
fn some_answers_have_no_body_whatever_they_say() {
    assert_eq!(get("HTTP/1.1 204 No Content\r\n\r\n"), whole(204, ""));
    assert_eq!(get("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n"), whole(304, ""));
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n";
    assert_eq!(read(&Method::HEAD, &[head]), whole(200, ""));
}

#[test]
fn announcements_are_passed_over() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na";
    assert_eq!(get(text), whole(200, "a"));
    assert_eq!(get("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"), Err(Malformed::Switched));
}

#[test]
fn a_body_that_breaks_off_is_not_whole() {
    for text in [
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc".to_owned(),
        format!("{CHUNKED}4\r\nabc"),
        format!("{CHUNKED}3\r\nabc\r\n"),
        format!("{CHUNKED}3\r\nabc\r\n0\r\n"),
    ] {
        let read = get(&text).unwrap();
        assert_eq!((read.body.as_str(), read.whole), ("abc", false), "{text}");
    }
}

#[test]
fn what_two_readers_could_read_differently_is_refused() {
    for head in [
        "content-length: 3\r\ncontent-length: 4\r\n",
        "content-length: 3, 4\r\n",
        "content-length: +3\r\n",
        "content-length: \r\n",
        "content-length: 0x3\r\n",
        "content-length: 99999999999999999999\r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: xchunked\r\n",
    ] {
        let read = get(&format!("HTTP/1.1 200 OK\r\n{head}\r\nabc"));
        assert!(matches!(read, Err(Malformed::Length(_))), "{head}: {read:?}");
    }
    assert!(matches!(get("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), Err(Malformed::Length(_))));
    for chunks in [
        "3\nabc\r\n",
        "3\r\nabcd\r\n",
        "\r\nabc",
        "g\r\n",
        "-3\r\nabc",
        "1111111111111111\r\n",
        "3 x\r\nabc",
        "3;a\rb\r\nabc",
        "3\r\nabc\n0\r\n\r\n",
    ] {
        let read = get(&format!("{CHUNKED}{chunks}"));
        assert!(matches!(read, Err(Malformed::Chunk(_))), "{chunks:?}: {read:?}");
    }
}

#[test]
fn nothing_has_no_end() {
    let endless = |start: &str, more: &str| read(&Method::GET, &[start.as_bytes(), more.repeat(300_000).as_bytes()]);
    assert_eq!(endless("HTTP/1.1 200 OK\r\nx-a: ", "a"), Err(Malformed::HeadTooLarge));
    assert_eq!(endless("HTTP/1.1 200 OK\r\n", "a: b\r\n"), Err(Malformed::HeadTooLarge));
    assert!(matches!(endless("", "x"), Err(Malformed::HeadTooLarge | Malformed::Head(_))));
    assert!(matches!(endless(&format!("{CHUNKED}3;"), "x"), Err(Malformed::Chunk(_))));
    assert!(matches!(endless(&format!("{CHUNKED}0\r\n"), "a: b\r\n"), Err(Malformed::Chunk(_))));
}

#[test]
fn a_connection_is_kept_where_both_want_it() {
    let kept = |text: &str| get(text).unwrap().keeps_alive;
    assert!(kept("HTTP/1.1 204 x\r\n\r\n") && !kept("HTTP/1.1 204 x\r\nConnection: x, Close\r\n\r\n"));
    assert!(!kept("HTTP/1.0 204 x\r\n\r\n") && kept("HTTP/1.0 204 x\r\nconnection: keep-alive\r\n\r\n"));
}

#[test]
fn what_follows_an_answer_stays_where_it_is() {
    assert_eq!(get("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\naHTTP/1.1").unwrap().left, 8);
    assert_eq!(get(&format!("{CHUNKED}1\r\na\r\n0\r\n\r\nx")).unwrap().left, 1);
}

#[test]
fn headers_come_as_they_were_sent() {
    let mut buffer = BytesMut::from("HTTP/1.1 200 OK\r\nX-A:  b \r\nx-empty:\r\nx-a: c\r\ncontent-length: 0\r\n\r\n");
    let answer = Awaited::new(&Method::GET).read(&mut buffer).unwrap().unwrap();
    let values: Vec<_> = answer.headers.get_all("x-a").iter().collect();
    assert_eq!(values, ["b", "c"]);
    assert_eq!(answer.headers["x-empty"], "");
}

#[test]
fn the_end_is_known_with_the_last_piece() {
    let mut buffer = BytesMut::from(&*format!("{CHUNKED}1\r\na\r\n0\r\n\r\n"));
    let mut answer = Awaited::new(&Method::GET).read(&mut buffer).unwrap().unwrap();
    assert_eq!(answer.body.take(&mut buffer).unwrap().unwrap(), "a");
    assert!(answer.body.is_over());
}

/// Answers that are well, and answers with something wrong in them.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let head = prop_oneof![
        Just("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
        Just("HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 12\r\n\r\n"),
        Just("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
        Just("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n"),
    ];
    let part = prop_oneof![
        Just("5\r\nhello\r\n"),
        Just("a;ext\r\n0123456789\r\n"),
        Just("0\r\n"),
        Just("x-trailer: 1\r\n"),
        Just("\r\n"),
        Just("z"),
        Just("3\nabc"),
    ];
    (head, prop::collection::vec(part, 0..6)).prop_map(|(head, parts)| (head.to_owned() + &parts.concat()).into_bytes())
}

proptest! {
    #[test]
    fn wherever_the_network_cuts_the_answer_is_the_same(
        bytes in bytes(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(&Method::GET, &pieces), read(&Method::GET, &[&bytes]));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), chunked in any::<bool>()) {
        let head = if chunked { CHUNKED.as_bytes() } else { b"" };
        let _ = read(&Method::GET, &[head, &bytes]);
    }
}

#[test]
fn names_are_remembered_whatever_their_letters() {
    let read = |written: &str| name(written).map(|name| name.as_str().to_owned());
    for written in ["x-request-id", "X-Request-Id", "x-request-id", "content-type", "Content-Type"] {
        assert_eq!(read(written).unwrap(), written.to_ascii_lowercase());
    }
    // More of them than are kept, each twice.
    for number in (0..2 * NAMES_KEPT).chain(0..2 * NAMES_KEPT) {
        let written = format!("X-Header-{number}");
        assert_eq!(read(&written).unwrap(), written.to_ascii_lowercase());
    }
    let long = "x".repeat(NAME_BYTES_KEPT + 1);
    assert_eq!(read(&long).unwrap(), long);
    assert!(read("no name").is_err() && read("").is_err());
}

//! The smallest HTTP client there is: one GET over a plain connection, for our own gateway.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// A machine that does not answer by then is not there.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked for is a page or two.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header.
    pub(super) fn header(&self, wanted: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(':'));
        headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    }
}

/// Asks for a path; `headers` are whole lines.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &str, patience: Duration) -> io::Result<Answer> {
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nuser-agent: steadfast-doctor\r\nconnection: close\r\n{headers}\r\n"
    );
    socket.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    socket.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "what answers there is not HTTP"))?;
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// Whether a connection to the host of this URL stands; what was tried, or why it does not.
pub(super) fn connects(url: &str) -> Result<String, String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let host = match (has_port, scheme) {
        (true, _) => authority.to_owned(),
        (false, "http") => format!("{authority}:80"),
        (false, _) => format!("{authority}:443"),
    };
    let addresses = host.to_socket_addrs().map_err(|error| format!("{host} has no address: {error}"))?;
    let mut last = format!("{host} has no address");
    for address in addresses.take(4) {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(host),
            Err(error) => last = format!("no connection to {host} ({address}): {error}"),
        }
    }
    Err(last)
}

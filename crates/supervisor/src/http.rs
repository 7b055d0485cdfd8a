//! Questions over plain HTTP: is anybody well there, and what do they say?

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use steadfast_core::health::Ping;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A service on this machine answers at once; on another, soon.
const PATIENCE: Duration = Duration::from_secs(3);

/// The status line is what counts.
const HEAD_BYTES_MAX: usize = 1024;

/// No answer that is read whole is longer.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Asks an address; what cannot be asked is not made.
pub(crate) async fn ask(url: Option<&str>) -> Ping {
    // A service with a certificate is asked by others; its process is watched here.
    let Some((authority, path)) = url.and_then(|url| url.strip_prefix("http://")).map(split) else {
        return Ping::NotMade;
    };
    let address = with_port(authority);
    let began = Instant::now();
    match timeout(PATIENCE, status(&address, authority, &path)).await {
        Ok(Ok(status)) if (200..400).contains(&status) => Ping::Answered(began.elapsed()),
        Ok(Ok(_)) => Ping::Failed,
        Ok(Err(error)) => match error.kind() {
            ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::UnexpectedEof
            | ErrorKind::BrokenPipe
            | ErrorKind::InvalidData => Ping::Failed,
            // No name, no network, no file handles: that is this machine's trouble.
            _ => Ping::NotMade,
        },
        Err(_) => Ping::Failed,
    }
}

/// The body of an answer with status 200; nothing where there is none, whatever the reason.
pub(crate) async fn get(url: &str, key: Option<&str>) -> Option<Vec<u8>> {
    let (authority, path) = split(url.strip_prefix("http://")?);
    timeout(PATIENCE, whole(&with_port(authority), authority, &path, key)).await.ok()?.ok()?
}

fn with_port(authority: &str) -> String {
    if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") }
}

fn split(rest: &str) -> (&str, String) {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let path = &rest[end..];
    (&rest[..end], if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

fn has_port(authority: &str) -> bool {
    let after = authority.rsplit_once(':').map(|(_, port)| port);
    after.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

async fn status(address: &str, host: &str, path: &str) -> std::io::Result<u16> {
    let mut socket = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: steadfast\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while head.len() < HEAD_BYTES_MAX && !head.contains(&b'\n') {
        if socket.read_buf(&mut head).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    let line = String::from_utf8_lossy(&head);
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
    status.ok_or_else(|| ErrorKind::InvalidData.into())
}

/// HTTP/1.0, so that the answer is all that comes.
async fn whole(address: &str, host: &str, path: &str, key: Option<&str>) -> std::io::Result<Option<Vec<u8>>> {
    let mut socket = TcpStream::connect(address).await?;
    let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.0\r\nhost: {host}\r\nuser-agent: steadfast\r\n{key}\r\n");
    socket.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    socket.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    let is_ok = answer.get(8..12) == Some(&b" 200"[..]);
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n").map(|end| answer.split_off(end + 4));
    Ok(body.filter(|_| is_ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(split("127.0.0.1:8765/health?x=1"), ("127.0.0.1:8765", "/health?x=1".to_owned()));
        assert_eq!(split("host"), ("host", "/".to_owned()));
        assert!(has_port("[::1]:80") && !has_port("[::1]") && !has_port("host"));
    }

    #[tokio::test]
    async fn what_cannot_be_asked_is_not_made() {
        assert_eq!(ask(Some("https://localhost/health")).await, Ping::NotMade);
        assert_eq!(ask(None).await, Ping::NotMade);
        assert_eq!(ask(Some("http://127.0.0.1:1/")).await, Ping::Failed);
    }
}

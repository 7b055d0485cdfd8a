//! One question over plain HTTP: is anybody well there?

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

/// Asks an address; what cannot be asked is not made.
pub(super) async fn ask(url: Option<&str>) -> Ping {
    // A service with a certificate is asked by others; its process is watched here.
    let Some((authority, path)) = url.and_then(|url| url.strip_prefix("http://")).map(split) else {
        return Ping::NotMade;
    };
    let address = if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") };
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

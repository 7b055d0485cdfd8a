//! The raw facts an attempt leaves behind when it ends badly.

use crate::time::Timestamp;

/// What is known about how an attempt ended. Every part may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// Who answered or which library spoke, as a hint; never needed.
    pub provider: Option<&'a str>,
    /// Where the failure was seen.
    pub surface: Surface,
    /// HTTP status.
    pub status: Option<u16>,
    /// Response headers; names compare without case.
    pub headers: &'a [(&'a str, &'a str)],
    /// Response body, stream tail, error message or process output, as it came.
    pub body: &'a [u8],
    /// The transport error, where the caller has it as a type and not as text.
    pub transport: Option<Transport>,
    /// How a process ended.
    pub exit: Option<Exit>,
    /// Wall clock when the failure was seen: turns absolute reset times into waits.
    pub now: Option<Timestamp>,
}

/// Where a failure was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Surface {
    /// A whole HTTP response.
    Http,
    /// A transport error before any response began.
    Network,
    /// Inside or at the end of a streamed answer: the response had begun.
    Stream,
    /// A local process.
    Process,
    /// A message whose origin is only text.
    #[default]
    Text,
}

/// A transport error the caller knows by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Nobody listens there, or the handshake was cut.
    Refused,
    /// The connection was reset or closed before a response began.
    Reset,
    /// Host or network unreachable.
    Unreachable,
    /// The name does not exist.
    DnsNotFound,
    /// The resolver failed; the name may exist.
    DnsTemporary,
    /// The certificate was not accepted.
    Certificate,
    /// The other side does not speak the protocol.
    Protocol,
    /// The address cannot be used: scheme, syntax, redirect loop.
    Address,
    /// Connecting took too long.
    ConnectTimeout,
    /// The response took too long to begin.
    ResponseTimeout,
    /// The stream fell silent for too long.
    IdleTimeout,
    /// The body ended before it was complete.
    BodyCut,
    /// Our side gave up because the caller left.
    Cancelled,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It ended by itself with this status.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// The kernel killed it for want of memory.
    OutOfMemory,
}

impl<'a> Evidence<'a> {
    /// Evidence that is nothing but a message.
    pub fn text(body: &'a str) -> Self {
        Self { body: body.as_bytes(), ..Self::default() }
    }

    /// Evidence from a whole HTTP response.
    pub fn http(status: u16, headers: &'a [(&'a str, &'a str)], body: &'a [u8]) -> Self {
        Self { surface: Surface::Http, status: Some(status), headers, body, ..Self::default() }
    }

    /// Evidence from a typed transport error; stream errors mean the response had begun.
    pub fn transport(transport: Transport) -> Self {
        let surface = match transport {
            Transport::IdleTimeout | Transport::BodyCut => Surface::Stream,
            _ => Surface::Network,
        };
        Self { surface, transport: Some(transport), ..Self::default() }
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        // Most names are in lower case already, and to compare them as they are takes one step.
        let is_same = |known: &str| known == name || known.eq_ignore_ascii_case(name);
        self.headers.iter().find(|(known, _)| is_same(known)).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_says_where_it_was_seen() {
        for begun in [Transport::IdleTimeout, Transport::BodyCut] {
            assert_eq!(Evidence::transport(begun).surface, Surface::Stream, "{begun:?}: the response had begun");
        }
        for before in [Transport::Refused, Transport::ConnectTimeout, Transport::ResponseTimeout] {
            assert_eq!(Evidence::transport(before).surface, Surface::Network, "{before:?}");
        }
        assert_eq!(Evidence::transport(Transport::Reset).transport, Some(Transport::Reset));
        assert_eq!(Evidence::http(500, &[], b"").surface, Surface::Http);
        assert_eq!(Evidence::text("no").surface, Surface::Text);
    }
}

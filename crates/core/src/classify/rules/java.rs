//! Java and Kotlin: java.net, OkHttp, Netty, Spring.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{
    BadOutput, Cancelled, InvalidRequest, NetworkPermanent, NetworkTransient, ProcessDied, StreamInterrupted, Timeout,
    Unknown,
};

pub(super) const RULES: &[Rule] = &[
    rule("java.unknown_host", NetworkPermanent)
        .code(&["UnknownHostException", "UnresolvedAddressException"])
        .example("java.net.UnknownHostException: api.x.test"),
    connection("java.connect", NetworkTransient)
        .class()
        .code(&[
            "ConnectException",
            "NoRouteToHostException",
            "HttpHostConnectException",
            "AnnotatedConnectException",
            "ClosedChannelException",
            "NoHttpResponseException",
            "SocketException",
            "ResourceAccessException",
            "WebClientRequestException",
            "PortUnreachableException",
        ])
        .example("java.net.ConnectException"),
    rule("java.timeout", Timeout)
        .code(&[
            "SocketTimeoutException",
            "HttpTimeoutException",
            "HttpConnectTimeoutException",
            "ConnectTimeoutException",
            "InterruptedIOException",
            "ReadTimeoutException",
            "ConnectionPoolTimeoutException",
            "AsyncRequestTimeoutException",
        ])
        .example("java.net.SocketTimeoutException: Read timed out"),
    rule("java.tls", NetworkPermanent)
        .decisive()
        .code(&[
            "SSLPeerUnverifiedException",
            "CertificateException",
            "CertPathBuilderException",
            "CertificateExpiredException",
            "SunCertPathBuilderException",
        ])
        .text(&[
            "pkix path (?:building|validation) failed",
            "unsupported or unrecognized ssl message",
            "unable to find valid certification path",
        ])
        .example("javax.net.ssl.SSLHandshakeException: PKIX path building failed"),
    connection("java.tls_cut", NetworkTransient)
        .class()
        .text(&["remote host (?:terminated|closed connection during) (?:the )?handshake", "sslhandshakeexception"])
        .example("javax.net.ssl.SSLHandshakeException: Remote host terminated the handshake"),
    rule("java.url", NetworkPermanent)
        .decisive()
        .code(&["MalformedURLException", "URISyntaxException", "UnknownServiceException"])
        .text(&[r"expected url scheme \S{1,30} but no", "no protocol: "])
        .example("java.net.MalformedURLException: no protocol: api.x.test"),
    rule("java.eof", StreamInterrupted)
        .on(Surface::Network, NetworkTransient)
        .code(&[
            "EOFException",
            "PrematureCloseException",
            "ConnectionClosedException",
            "StreamResetException",
            "MalformedChunkCodingException",
            "TruncatedChunkException",
        ])
        .text(&["unexpected end of stream", "stream was reset", "premature end of (?:chunk|content|content-length)"])
        .example("okhttp3: java.io.EOFException: not found: limit=0 content=x"),
    rule("java.json", BadOutput)
        .decisive()
        .code(&[
            "JsonParseException",
            "JsonMappingException",
            "MismatchedInputException",
            "UnrecognizedPropertyException",
            "MalformedJsonException",
            "JsonSyntaxException",
            "JsonEOFException",
            "SerializationException",
            "JsonDecodingException",
        ])
        .example("com.fasterxml.jackson.core.JsonParseException: Unrecognized token"),
    rule("java.memory", ProcessDied)
        .decisive()
        .text(&[
            "java heap space",
            "gc overhead limit",
            r"java\.lang\.outofmemoryerror",
            r"java\.lang\.stackoverflowerror",
        ])
        .example("GC overhead limit reached in Java heap space"),
    rule("java.interrupted", Cancelled)
        .code(&["InterruptedException", "JobCancellationException"])
        .example("java.lang.InterruptedException"),
    rule("spring.client", Unknown)
        .hint()
        .code(&["HttpClientErrorException", "HttpServerErrorException"])
        .example("HttpClientErrorException"),
    // What `java.net.URL` says of a 404.
    rule("java.missing_page", InvalidRequest)
        .text(&[r"\bfilenotfoundexception: https?://"])
        .example("java.io.FileNotFoundException: http://127.0.0.1:8080/v1"),
    rule("java.unresolved", NetworkPermanent)
        .decisive()
        .code(&["UnresolvedAddressException"])
        .example("java.nio.channels.UnresolvedAddressException"),
];

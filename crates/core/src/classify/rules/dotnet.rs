//! .NET: HttpClient, sockets, System.Text.Json; and Ruby and PHP.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{BadOutput, NetworkPermanent, NetworkTransient, StreamInterrupted, Timeout};

pub(super) const RULES: &[Rule] = &[
    connection("dotnet.timeout", Timeout)
        .decisive()
        .text(&[r"httpclient\.timeout of", r"due to the configured httpclient\.timeout"])
        .example("The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing."),
    connection("dotnet.refused", NetworkTransient)
        .text(&["no connection could be made", "target machine actively refused"])
        .example("No connection could be made because the target machine actively refused it."),
    connection("dotnet.closed", NetworkTransient)
        .class()
        .text(&[
            "unable to (?:read|write) data (?:from|to) the transport connection",
            "underlying connection was closed",
            "an error occurred while sending the request",
        ])
        .example("Unable to read data from the transport connection"),
    rule("dotnet.premature", StreamInterrupted)
        .text(&["response ended prematurely", "httpioexception~responseended"])
        .example("The response ended prematurely."),
    // Nothing had come when it ended; where something had, it says how much is missing.
    connection("dotnet.no_answer", NetworkTransient)
        .decisive()
        .text(&[r"\bsending the request\. ---> \S{1,60}: the response ended prematurely\. "])
        .not(&["The response ended prematurely, with at least 12 additional bytes expected."])
        .example("An error occurred while sending the request. ---> System.IO.IOException: The response ended prematurely. at x"),
    rule("dotnet.unknown_host", NetworkPermanent)
        .decisive()
        .text(&["no such host is known", "remote name could not be resolved"])
        .example("The remote name could not be resolved: api.x.test"),
    rule("dotnet.tls", NetworkPermanent)
        .decisive()
        .text(&[
            "the remote certificate (?:is|was)",
            r"remotecertificate(?:name|chain)\w{3,12}",
            "could not establish trust relationship",
        ])
        .example("The SSL connection could not be established: The remote certificate is invalid"),
    connection("dotnet.tls_wrapper", NetworkTransient)
        .class()
        .text(&["ssl connection could not be established"])
        .example("The SSL connection could not be established, see inner exception."),
    rule("dotnet.scheme", NetworkPermanent)
        .decisive()
        .text(&["scheme is not supported", "invalid uri: ", "invalid request uri was provided"])
        .example("The 'htps' scheme is not supported."),
    rule("dotnet.json", BadOutput)
        .decisive()
        .text(&["is an invalid start of a value", r"linenumber: \d{1,6} \| bytepositioninline"])
        .example("System.Text.Json.JsonException: '<' is an invalid start of a value. Path: $ | LineNumber: 0"),
    connection("ruby.refused", NetworkTransient)
        .text(&[
            "errno::(?:econnrefused|econnreset|ehostunreach|enetunreach|epipe)",
            "failed to open tcp connection",
            "faraday::connectionfailed",
        ])
        .example("Faraday::ConnectionFailed"),
    connection("ruby.timeout", Timeout)
        .text(&["net::(?:read|open|write)timeout", "execution expired", "faraday::timeouterror"])
        .example("execution expired (Faraday::TimeoutError)"),
    rule("ruby.name", NetworkPermanent)
        .decisive()
        .text(&["getaddrinfo: name or service not known"])
        .example("getaddrinfo: Name or service not known (SocketError)"),
    rule("ruby.tls", NetworkPermanent)
        .decisive()
        .text(&["openssl::ssl::sslerror~certificate"])
        .example("OpenSSL::SSL::SSLError: certificate verify failed"),
    rule("php.time", Timeout)
        .text(&["maximum execution time of"])
        .example("Maximum execution time of 30 seconds exceeded"),
];

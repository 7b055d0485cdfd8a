//! Envoy, nginx, Apache, HAProxy, Kubernetes and serverless hosts.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    AuthError, InvalidRequest, NetworkPermanent, NetworkTransient, Overloaded, ServerError, StreamInterrupted, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    connection("envoy.connect", NetworkTransient)
        .text(&["upstream connect error or disconnect/reset before headers"])
        .example("upstream connect error or disconnect/reset before headers. reset reason: connection failure"),
    rule("envoy.overflow", Overloaded)
        .text(&["reset reason: overflow", "upstream_overflow"])
        .example("upstream connect error or disconnect/reset before headers. reset reason: overflow"),
    rule("envoy.timeout", Timeout)
        .decisive()
        .text(&["upstream request timeout", "stream timeout", "upstream_response_timeout"])
        .example("upstream request timeout"),
    rule("envoy.no_healthy", ServerError)
        .text(&["no healthy upstream", "no_healthy_upstream"])
        .example("no healthy upstream"),
    rule("envoy.cluster", ServerError)
        .class()
        .code(&["cluster_not_found", "no_cluster_found"])
        .example("cluster_not_found"),
    rule("apache.maintenance", Overloaded)
        .text(&["maintenance downtime or capacity problems", "down for maintenance", "under maintenance"])
        .example("The server is temporarily unable to service your request due to maintenance downtime or capacity problems."),
    rule("apache.proxy", ServerError)
        .text(&["received an invalid response from an upstream server"])
        .example("The proxy server received an invalid response from an upstream server."),
    rule("apache.proxy_timeout", Timeout)
        .text(&["timely response from the upstream", "gateway time-?out"])
        .example("The gateway did not receive a timely response from the upstream server"),
    rule("haproxy.no_server", ServerError)
        .class()
        .text(&["no server is available to handle this request"])
        .example("No server is available to handle this request."),
    rule("nginx.cut", StreamInterrupted)
        .text(&["prematurely closed connection while reading upstream"])
        .example("upstream prematurely closed connection while reading upstream"),
    rule("vercel.function_timeout", Timeout)
        .decisive()
        .code(&["FUNCTION_INVOCATION_TIMEOUT", "EDGE_FUNCTION_INVOCATION_TIMEOUT"])
        .example("FUNCTION_INVOCATION_TIMEOUT"),
    rule("vercel.function_failed", ServerError)
        .class()
        .code(&["FUNCTION_INVOCATION_FAILED", "EDGE_FUNCTION_INVOCATION_FAILED", "MIDDLEWARE_INVOCATION_FAILED"])
        .example("FUNCTION_INVOCATION_FAILED"),
    rule("vercel.deployment", InvalidRequest)
        .class()
        .code(&["DEPLOYMENT_DISABLED", "DEPLOYMENT_DELETED"])
        .example("The deployment is gone: DEPLOYMENT_DELETED"),
    rule("squid.denied", AuthError)
        .class()
        .code(&["ERR_ACCESS_DENIED", "ERR_CACHE_ACCESS_DENIED"])
        .example("ERR_ACCESS_DENIED: the proxy refused"),
    connection("proxy.tunnel", NetworkTransient)
        .class()
        .text(&[
            "proxy connect aborted",
            "tunneling socket could not be established",
            "unable to connect to proxy",
            "proxy (?:connection|connect) (?:failed|refused|error)",
            r"socks\S{0,3} (?:connection|proxy|server)~(?:failed|refused|rejected|error)",
        ])
        .example("Proxy CONNECT aborted"),
    rule("proxy.auth", AuthError)
        .decisive()
        .text(&[
            r"\b(?:proxy|tunnel\w{0,3}|connect)\b~\b(?:40[137]|511)\b",
"tunnel (?:connection )?failed[,:]? (?:response )?407", "proxy authentication (?:required|failed)"])
        .example("CONNECT tunnel failed, response 407"),
    // urllib3's guess, and it is right: the proxy is given with the wrong scheme.
    rule("proxy.scheme", NetworkPermanent)
        .decisive()
        .text(&[r"\bproxy appears to only use http and not https\b", r"\b(?:proxy url|proxy scheme|proxy protocol)\b~\b(?:invalid|unsupported|not supported|unknown|had no scheme|must be)\b"])
        .example("Your proxy appears to only use HTTP and not HTTPS, try changing your proxy URL to be HTTP."),
    // A proxy that answers CONNECT with a status of its own.
    rule("proxy.refused", ServerError)
        .decisive()
        .text(&[r"\b(?:proxy|tunnel\w{0,3}) (?:connection |response )?(?:failed|aborted|returned|error)?[^a-z0-9]{0,3}(?:response |with |status |http/1\.[01] |code ){0,2}\(?(?:500|502|503)\b"])
        .example("CONNECT tunnel failed, response 502"),
    // Nothing of the answer had come.
    connection("nginx.no_header", NetworkTransient)
        .decisive()
        .text(&[r"\bprematurely closed connection while reading response header\b"])
        .example("upstream prematurely closed connection while reading response header from upstream"),
    rule("nginx.no_upstream", ServerError)
        .text(&[r"\bno live upstreams\b", r"\bno resolver defined to resolve\b"])
        .example("no live upstreams while connecting to upstream"),
    rule("nginx.no_peer", NetworkPermanent)
        .decisive()
        .text(&[r"\bno host allowed while connecting to upstream\b", r"\bhost not found in upstream\b"])
        .example("no host allowed while connecting to upstream"),
    rule("http2.refused", NetworkTransient)
        .decisive()
        .code(&["NGHTTP2_REFUSED_STREAM", "REFUSED_STREAM"])
        .example("Stream closed with error code NGHTTP2_REFUSED_STREAM"),
];

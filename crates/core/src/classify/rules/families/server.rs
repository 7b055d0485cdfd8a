//! The other side failed in itself, without a better cause.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::ServerError;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("server.words", ServerError)
        .class()
        .text(&[
            r"\berror (?:in|while|during|when) (?:processing|generating|handling|serving|executing|inference)\b",
            r"\bprediction (?:interrupted|failed)\b",
            r"\bserver encountered\b",
            r"\binternal failure\b",
            r"\bupstream (?:had an |has an )?(?:issue|problem)\b",
            r"\bresponse status code does not indicate success: 5\d\d",
            r"\binternal (?:server )?error\b",
            r"\bbad gateway\b",
            r"\bservice (?:is )?(?:currently |temporarily )?unavailable\b",
            r"\bserver (?:had|experienced|encountered) an (?:error|unexpected)\b",
            r"\b(?:an )?unexpected (?:error|condition|failure) (?:occurred|was encountered|during|happened|on)\b",
            r"\bsystem encountered an unexpected error\b",
            r"\bsomething went wrong\b",
            r"\bupstream (?:request |server |service |provider )?(?:failed|error|unavailable|failure|returned)\b",
            r"\bno healthy upstream\b",
            r"\btemporarily unavailable\b",
            r"\bserver (?:is )?(?:currently )?(?:unavailable|down|error)\b",
            r"\binvalid response (?:was )?(?:received )?from (?:an |the )?upstream\b",
            r"\berror occurred (?:while|when|during) process",
            r"\b(?:we're|we are) (?:currently )?(?:experiencing|having)\b",
            r"\b(?:unhandled|uncaught) (?:server )?exception in\b",
            r"\binference (?:error|failed|failure)\b",
            r"\bmodel (?:error|failed to (?:generate|respond|produce))\b",
            r"\bfailed to generate\b",
            r"\bgeneration failed\b",
            r"\bcuda (?:error|out of memory)\b",
            r"\bbackend (?:error|failure|failed|unavailable)\b",
            r"\bprovider (?:error|failed|is down)\b",
        ])
        .example("The server had an error processing your request."),
    rule("server.code", ServerError)
        .hint()
        .code(&[
            "ModelError",
            "InternalErrorException",
            "internal_failure",
            "EngineError",
            "inference_error",
            "generation_error",
            "service_error",
            "system_error",
            "ServerError",
            "unexpected_error",
            "server_error",
            "api_error",
            "internal_server_error",
            "InternalServerError",
            "internal_error",
            "InternalError",
            "InternalFailure",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "service_unavailable",
            "ServiceUnavailableError",
            "unavailable_error",
            "upstream_error",
            "bad_gateway",
            "unknown_error",
            "backend_error",
            "processing_error",
            "provider_error",
            "server_exception",
            "APIError",
            "InternalServiceException",
        ])
        .not(&["{\"type\":\"server_error\",\"message\":\"That model is currently overloaded\"}"])
        .example(r#"{"error":{"type":"server_error"}}"#),
    rule("server.wrapper", ServerError)
        .hint()
        .text(&[r"\bprovider returned error\b", r"\bunknown error\b", r"\bgeneral error\b"])
        .example("Provider returned error"),
];

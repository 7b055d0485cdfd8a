//! AWS Bedrock and SageMaker: exception names, and what botocore says.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    AuthError, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkPermanent, NetworkTransient,
    Overloaded, QuotaExhausted, RateLimit, ServerError, StateLost, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("bedrock.throttling", RateLimit)
        .class()
        .code(&[
            "ThrottlingException",
            "ThrottledException",
            "TooManyRequestsException",
            "RequestLimitExceeded",
            "ProvisionedThroughputExceededException",
            "BandwidthLimitExceeded",
            "LimitExceededException",
            "RequestThrottled",
            "RequestThrottledException",
            "PriorRequestNotComplete",
            "EC2ThrottledException",
            "SlowDown",
        ])
        .not(&["An error occurred (ThrottlingException): Too many tokens per day, please wait before trying again."])
        .example("An error occurred (ThrottlingException) when calling the InvokeModel operation"),
    rule("bedrock.per_day", QuotaExhausted)
        .decisive()
        .text(&["too many (?:tokens|requests) per day"])
        .example("ThrottlingException: Too many tokens per day, please wait before trying again."),
    rule("bedrock.quota", QuotaExhausted)
        .code(&["ServiceQuotaExceededException"])
        .example("ServiceQuotaExceededException: Your request exceeds the service quota for your account."),
    rule("bedrock.not_ready", Overloaded)
        .code(&[
            "ModelNotReadyException",
            "CapacityExceededException",
            "InsufficientThroughput",
            "ModelStreamTimeout",
        ])
        .example("ModelNotReadyException: The model specified in the request is not ready to serve inference requests."),
    rule("bedrock.timeout", Timeout)
        .decisive()
        .code(&["ModelTimeoutException"])
        .example("ModelTimeoutException: The request took too long to process."),
    rule("bedrock.model_error", ServerError)
        .class()
        .code(&["ModelErrorException", "ModelStreamErrorException", "InternalServerException", "ModelInvocationFailed", "ServiceUnavailableException"])
        .example("ModelErrorException: The request failed due to an error while processing the model."),
    rule("bedrock.on_demand", ModelUnavailable)
        .decisive()
        .text(&[
            "on-demand throughput isn.?t supported",
            "provided model identifier is invalid",
            "you don't have access to the model with the specified model id",
            "marked by provider as legacy",
        ])
        .example("Invocation of model ID anthropic.claude-3 with on-demand throughput isn't supported."),
    rule("bedrock.credentials", AuthError)
        .class()
        .code(&[
            "UnrecognizedClientException",
            "InvalidSignatureException",
            "ExpiredTokenException",
            "ExpiredToken",
            "AccessDeniedException",
            "MissingAuthenticationTokenException",
            "IncompleteSignature",
            "InvalidClientTokenId",
            "SignatureDoesNotMatch",
            "NotAuthorized",
            "OptInRequired",
            "NoCredentialsError",
            "TokenRetrievalError",
            "CredentialsProviderError",
            "UnauthorizedSSOTokenError",
            "SSOTokenLoadError",
            "RequestExpired",
            "UnauthorizedException",
            "ProfileNotFound",
            "PartialCredentialsError",
        ])
        .example("UnrecognizedClientException"),
    rule("bedrock.signature", AuthError)
        .text(&[r"signature expired: \d", r"is not authorized to perform: \w"])
        .example("Signature expired: 20260609T133205Z is now earlier than 20260614T062525Z"),
    rule("bedrock.resource", StateLost)
        .hint()
        .code(&["ResourceNotFoundException"])
        .example("ResourceNotFoundException"),
    rule("bedrock.malformed", InvalidRequest)
        .decisive()
        .text(&[r"malformed input request: (?:#|\d schema)"])
        .not(&["Malformed input request: expected maxLength: 42000, actual: 46735"])
        .example("Malformed input request: #: required key [max_tokens] not found, please reformat your input and try again."),
    rule("bedrock.guardrail", ContentFilter)
        .decisive()
        .text(&[r"stop_?reason\x22?: ?\x22?(?:guardrail_intervened|content_filtered)", "blocked by guardrail"])
        .example(r#"{"stopReason":"guardrail_intervened"}"#),
    rule("bedrock.too_long", ContextLimit)
        .decisive()
        .text(&[
            "input is too long for requested model",
            "input text is too long",
            "exceeds the maximum number of tokens (?:allowed|for)",
        ])
        .example("The model returned the following errors: Input is too long for requested model."),
    connection("bedrock.endpoint", NetworkTransient)
        .class()
        .code(&["EndpointConnectionError", "ConnectionClosedError"])
        .text(&["could not connect to the endpoint url"])
        .example(r#"Could not connect to the endpoint URL: "http://127.0.0.1:28099/model/m/converse""#),
    rule("bedrock.no_region", NetworkPermanent)
        .decisive()
        .code(&["NoRegionError", "InvalidEndpointDiscoveryConfigurationError", "UnknownEndpointError"])
        .example("botocore.exceptions.NoRegionError: You must specify a region."),
    rule("bedrock.dependency", ServerError)
        .class()
        .code(&["DependencyFailedException", "BadGatewayException"])
        .example("An error occurred (DependencyFailedException) when calling the InvokeAgent operation"),
    // An event inside a stream: its cause, not the end of the stream.
    rule("bedrock.model_timeout", Timeout)
        .decisive()
        .text(&["modeltimeoutexception"])
        .example(r#"{"modelTimeoutException":{"message":"x"}}"#),
    // The event's own name says more than the status that a wrapper gives it.
    rule("bedrock.unavailable_event", ServerError)
        .code(&["serviceUnavailableException"])
        .example(r#"{'status_code': 400, 'headers': {':exception-type': 'serviceUnavailableException'}}"#),
];

//! Azure OpenAI and AI Foundry.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, ContentFilter, InvalidRequest, ModelUnavailable, Overloaded, QuotaExhausted, RateLimit,
};

pub(super) const RULES: &[Rule] = &[
    rule("azure.pricing_tier", RateLimit)
        .class()
        .text(&[
            "exceeded (?:token |call |request )?rate limit of your current",
            "exceeded the (?:token|call) rate limit",
        ])
        .example("Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current OpenAI S0 pricing tier."),
    rule("azure.no_capacity", Overloaded)
        .code(&["NoCapacity", "ServerBusy", "DeploymentOverloaded", "EngineOverloaded"])
        .example("The system is currently experiencing high demand and cannot process your request: NoCapacity"),
    rule("azure.deployment_missing", ModelUnavailable)
        .decisive()
        .text(&["api deployment for this resource does not exist"])
        .example(r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#),
    rule("azure.operation_unsupported", InvalidRequest)
        .decisive()
        .code(&[
            "OperationNotSupported",
            "InvalidRequestParameter",
            "UnsupportedApiVersion",
            "InvalidApiVersionParameter",
            "MissingApiVersionParameter",
        ])
        .example(r#"{"error":{"code":"OperationNotSupported","message":"The chatCompletion operation does not work with the specified model"}}"#),
    rule("azure.subscription_key", AuthError)
        .decisive()
        .text(&[
            "invalid subscription key or wrong api endpoint",
            "virtual network/firewall rules",
            "principal~lacks the required data action",
        ])
        .example("Access denied due to invalid subscription key or wrong API endpoint."),
    rule("azure.codes_auth", AuthError)
        .class()
        .code(&["RequestDisallowedByPolicy", "RequestDisallowedByAzure", "DisallowedByPolicy",
            "PermissionDenied",
            "AuthenticationFailed",
            "AuthorizationFailed",
            "InvalidAuthenticationToken",
            "InvalidAuthenticationTokenTenant",
            "ExpiredAuthenticationToken",
            "TokenExpired",
            "MissingSubscriptionKey",
            "CredentialUnavailableError",
            "ClientAuthenticationError",
            "AADSTS700016",
            "AADSTS7000215",
        ])
        .example(r#"{"error":{"code":"ExpiredAuthenticationToken"}}"#),
    rule("azure.content_management", ContentFilter)
        .decisive()
        .text(&["content management polic", "prompt triggering (?:azure|microsoft)"])
        .example("The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
    rule("azure.quota", QuotaExhausted)
        .code(&["SubscriptionDisabled", "SubscriptionSuspended", "QuotaExceeded"])
        .text(&["new capacity in quota", "subscription is (?:disabled|in a warned state)"])
        .example(r#"{"error":{"code":"SubscriptionSuspended"}}"#),
    rule("azure.special_feature", ModelUnavailable)
        .decisive()
        .code(&[
            "SpecialFeatureOrQuotaIdRequired",
            "ModelNotSupported",
            "ModelDeprecated",
            "unavailable_model",
            "ModelVersionDeprecated",
            "DeploymentModelNotSupported",
        ])
        .example(r#"{"error":{"code":"SpecialFeatureOrQuotaIdRequired"}}"#),
];

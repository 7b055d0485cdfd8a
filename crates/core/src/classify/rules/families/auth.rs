//! Credentials and permission.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::AuthError;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("auth.code", AuthError)
        .class()
        .code(&[
            "authentication_error",
            "AuthenticationError",
            "AuthenticationException",
            "authentication_failed",
            "authorization_error",
            "authentication_required",
            "unauthorized",
            "unauthenticated",
            "unauthorized_error",
            "permission_error",
            "permission_denied",
            "PermissionDeniedError",
            "invalid_api_key",
            "invalid_key",
            "InvalidApiKey",
            "missing_api_key",
            "no_api_key",
            "api_key_expired",
            "api_key_invalid",
            "API_KEY_INVALID",
            "api_key_not_found",
            "api_key_disabled",
            "incorrect_api_key",
            "invalid_token",
            "invalid_access_token",
            "token_expired",
            "token_invalid",
            "token_revoked",
            "expired_token",
            "account_deactivated",
            "account_disabled",
            "account_suspended",
            "account_not_found",
            "user_suspended",
            "organization_disabled",
            "access_denied",
            "access_denied_error",
            "access_terminated",
            "access_terminated_error",
            "forbidden",
            "forbidden_error",
            "request_forbidden",
            "not_authorized",
            "not_authorized_error",
            "invalid_credentials",
            "invalid_grant",
            "invalid_client",
            "invalid_authentication",
            "invalid_authentication_error",
            "invalid_authorization",
            "insufficient_permissions",
            "insufficient_scope",
            "missing_scope",
            "login_required",
            "unsupported_country_region_territory",
            "country_not_supported",
            "ip_not_authorized",
            "ip_not_allowed",
            "invalid_organization",
            "mismatched_organization",
            "mismatched_project",
            "invalid_project",
            "session_expired",
            "oauth_error",
            "refresh_token_expired",
            "refresh_token_reused",
            "unauthorized_client",
            "LoadAPIKeyError",
            "AI_LoadAPIKeyError",
        ])
        .example(r#"{"error":{"type":"authentication_error"}}"#),
    rule("auth.key", AuthError)
        .text(&[
            r"\bcould not read (?:username|password)\b",
            r"\bterminal prompts disabled\b",
            r"\b(?:host key|publickey|password) (?:verification|authentication) failed\b",
            r"\b(?:invalid|incorrect|wrong|missing|expired|revoked|malformed|bad|no|unauthorized|disabled|inactive|empty|unknown|leaked)\b (?:\S{1,24} ){0,3}(?:api[-_ ]?keys?|access[-_ ]?keys?|access[-_ ]tokens?|auth(?:entication)? tokens?|bearer token|credentials?|x-api-key|jwt|subscription key|oauth token|authorization(?: header)?|security token|authentication|id token|personal access token|secret key|login)\b",
            r"\b(?:api[-_ ]?key|access[-_ ]?key|access token|auth token|bearer token|credentials?|x-api-key|jwt|subscription key|oauth token|authorization header|security token|authentication token|refresh token|session token|session cookie|secret key|api token)s?\b~\b(?:not valid|invalid|expired|missing|not found|required|incorrect|disabled|revoked|not provided|not set|is wrong|malformed|not configured|not authorized|may be expired|does not exist|is not allowed|leaked|blocked|rejected|not recognized)\b",
            r"\b(?:provide|set|pass|supply|specify|enter|configure|check|specified|include)\b~(?:\bapi[-_ ]?key\b|_api_key\b|\bauth token\b|\bauthorization header\b)",
            r"\bunable to locate credentials\b",
            r"\b(?:could not|couldn't|unable to|failed to|cannot) (?:load|find|resolve|locate|obtain|get|refresh|validate|verify|automatically determine) (?:(?:the|your|default|any|valid|a) ){0,2}(?:credentials?|access token|oauth token|auth token|api key|token|jwt)\b",
            r"\b(?:token|session|login|credentials?|signature|key|certificate of identity) (?:has |have |is |was |may be )?expired\b",
            r"\btoken (?:is |was )?(?:invalid|revoked|malformed|expired)\b",
            r"\binvalid (?:jwt|signature|bearer|oauth)\b",
            r"\bvirtual key expected\b",
            r"\b(?:no|missing) cookie auth|\bno auth (?:credentials|context)|\bmissing authentication",
        ])
        .example("Incorrect API key provided: sk-1. You can find your key in the console."),
    rule("auth.refused", AuthError)
        .class()
        .text(&[
            r"\bunauthori[sz]ed\b",
            r"\bauthentication (?:failed|required|error|fails|failure|is required|was unsuccessful|unsuccessful|with)",
            r"\b(?:auth|authorization|login|sign-in) (?:failed|required|error|fails|failure)\b",
            r"\b(?:access|permission) (?:was |is |has been )?denied\b",
            r"\bnot (?:authori[sz]ed|authenticated|permitted to|logged in|signed in|allowed to (?:access|use|perform))\b",
            r"\b(?:is|are|was|been|request|error|http|403|access|status|error:|http:) forbidden\b",
            r"^forbidden\b",
            r"\bfailed to authenticate\b",
            r"\b(?:does not|doesn't|do not|don't|no) have (?:the )?(?:\S{1,20} )?(?:permissions?|access|authorization|rights|scopes?|privileges)\b",
            r"\b(?:insufficient|missing|lacks?|lacking|required) (?:\S{1,20} )?(?:permissions?|scopes?|privileges|access rights)\b",
            r"\bplease (?:run )?(?:/login|log ?in|sign ?in|re-?authenticate|authenticate)\b",
            r"\b(?:run|use) ['\x22`]?(?:\S{1,20} )?(?:/login|login|auth login)\b",
            r"\brequires? (?:authentication|authorization|login|you to log)",
            r"\b(?:must|need to|have to) (?:be )?(?:log(?:ged)? ?in|sign(?:ed)? ?in|authenticate|authenticated|verified|verify)\b",
        ])
        .not(&["Error: Insufficient funds", "EACCES: forbidden write to /etc/hosts"])
        .example("Authentication failed for this request"),
    rule("auth.account", AuthError)
        .text(&[
            r"\b(?:account|organi[sz]ation|user|project|workspace|team|api key|key|tenant)\b(?: \S{1,40}){0,3} (?:has been |is |was |have been )?(?:deactivated|suspended|disabled|banned|locked|terminated|blocked|revoked|deleted|restricted)\b",
            r"\bmust be verified\b",
            r"\b(?:phone|email|identity|age|organization) verification (?:is )?(?:required|needed)",
            r"\b(?:accept|agree to) (?:the |our )?(?:\S{1,20} )?(?:terms|license|agreement)",
        ])
        .not(&["Your account org-1 is suspended due to insufficient balance, please recharge"])
        .example("This organization has been disabled."),
    rule("auth.place", AuthError)
        .decisive()
        .text(&[
            r"\b(?:country|region|territory|location|jurisdiction|geograph\w{1,4})\b~\b(?:not supported|unsupported|not available|not allowed|restricted|blocked|not permitted|prohibited)",
            r"\b(?:not supported|unsupported|not available|unavailable|not allowed|restricted|blocked) (?:in|from|for) (?:your|this|the) (?:current )?(?:country|region|location|territory|area)\b",
            r"\b(?:ip|ip address)\b~\b(?:not (?:authorized|allowed|whitelisted|permitted)|blocked|banned|denied)\b",
        ])
        .not(&["Model x is not available in your region"])
        .example("This product is not available in your country"),
];

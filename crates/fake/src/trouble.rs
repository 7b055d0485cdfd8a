//! What goes wrong at a provider, told in that provider's own words: statuses, bodies and headers.
//!
//! The texts are those of the corpus of real failures where it has one for the vendor, else as quoted in public
//! issues, logs and documentation (looked up 2026-11-16). Not confirmed by either, and so only plausible: OpenAI's
//! `timeout` and `too_large`; the message of Anthropic's `timeout` (its type and status are documented) and
//! of its `state_lost` (seen in another project's tests); Gemini's `permission`.

use std::time::Duration;

use crate::call::Vendor;
use crate::headers::{Headers, go_duration, later};
use crate::render::quoted;

/// How long a rate limit lasts unless the script says otherwise.
const RATE_LIMIT: Duration = Duration::from_secs(2);

/// How long a weekly quota lasts: half a week.
const WEEKLY: Duration = Duration::from_secs(302_400);

/// How long a daily quota lasts: the rest of a day.
const DAILY: Duration = Duration::from_secs(12 * 3600);

/// What goes wrong at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Overloaded,
    RateLimit,
    Quota,
    WeeklyQuota,
    Auth,
    Permission,
    Context,
    Filter,
    Model,
    Server,
    Html502,
    Cloudflare,
    StateLost,
    Invalid,
    Timeout,
    TooLarge,
}

/// A trouble in a provider's words.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    pub(crate) headers: Headers,
}

/// To whom a trouble is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Telling<'a> {
    pub(crate) vendor: Vendor,
    pub(crate) model: &'a str,
    /// The number of the request.
    pub(crate) number: u64,
    /// When it passes, if that is to be said.
    pub(crate) reset: Option<Duration>,
    /// Another status than the provider would give it.
    pub(crate) status: Option<u16>,
}

/// The parts of an error object.
struct Words {
    status: u16,
    /// OpenAI's `type`, Anthropic's `type`, Gemini's `status`.
    kind: &'static str,
    message: String,
    /// OpenAI's `param` and `code`.
    param: Option<&'static str>,
    code: Option<&'static str>,
    /// Gemini's `details`, or more members of OpenAI's error.
    more: String,
}

impl Trouble {
    pub(crate) const ALL: &[Self] = &[
        Self::Overloaded,
        Self::RateLimit,
        Self::Quota,
        Self::WeeklyQuota,
        Self::Auth,
        Self::Permission,
        Self::Context,
        Self::Filter,
        Self::Model,
        Self::Server,
        Self::Html502,
        Self::Cloudflare,
        Self::StateLost,
        Self::Invalid,
        Self::Timeout,
        Self::TooLarge,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::WeeklyQuota => "weekly_quota",
            Self::Auth => "auth",
            Self::Permission => "permission",
            Self::Context => "context",
            Self::Filter => "filter",
            Self::Model => "model",
            Self::Server => "server_error",
            Self::Html502 => "html502",
            Self::Cloudflare => "cloudflare",
            Self::StateLost => "state_lost",
            Self::Invalid => "invalid",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
        }
    }

    /// The trouble of this name, with `-` or `_`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL.iter().copied().find(|trouble| trouble.name() == name)
    }

    /// What a provider most likely means by this status.
    pub(crate) fn of_status(status: u16, vendor: Vendor) -> Option<Self> {
        Some(match status {
            400 | 422 => Self::Invalid,
            401 => Self::Auth,
            402 => Self::Quota,
            403 => Self::Permission,
            404 => Self::Model,
            408 | 504 => Self::Timeout,
            413 => Self::TooLarge,
            429 => Self::RateLimit,
            500 => Self::Server,
            502 => Self::Html502,
            // Anthropic's word for overload is 529; its 503 says nothing.
            503 if vendor != Vendor::Anthropic => Self::Overloaded,
            520..=527 => Self::Cloudflare,
            529 => Self::Overloaded,
            _ => return None,
        })
    }

    /// How long it lasts, where the provider says so.
    pub(crate) fn lasts(self) -> Option<Duration> {
        match self {
            Self::RateLimit => Some(RATE_LIMIT),
            Self::WeeklyQuota => Some(WEEKLY),
            Self::Quota => Some(DAILY),
            _ => None,
        }
    }

    /// Tells it in this vendor's words.
    pub(crate) fn tell(self, to: &Telling<'_>) -> Told {
        let Telling { vendor, model, number, reset, status } = *to;
        match self {
            Self::Html502 => html(
                502,
                "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n",
            ),
            Self::Cloudflare => html(
                521,
                "<!DOCTYPE html>\n<html lang=\"en-US\">\n<head><title>api.example.com | 521: Web server is down</title></head>\n<body>\n<h1>Web server is down <span>Error code 521</span></h1>\n<p>Cloudflare Ray ID: <strong>9d431b5f6f656c08</strong></p>\n</body>\n</html>\n",
            ),
            Self::Filter if vendor == Vendor::Gemini => {
                let model = quoted(model);
                json(
                    200,
                    format!(
                        "{{\"promptFeedback\":{{\"blockReason\":\"PROHIBITED_CONTENT\"}},\"usageMetadata\":{{\"promptTokenCount\":13,\"totalTokenCount\":13}},\"modelVersion\":{model}}}"
                    ),
                )
            }
            _ => {
                let mut words = self.words(vendor, model, reset);
                if let Some(status) = status {
                    words.status = status;
                    words.kind = if vendor == Vendor::Gemini { gemini_status(status) } else { words.kind };
                }
                let mut told = shaped(vendor, &words, number);
                self.add_headers(&mut told.headers, vendor, reset);
                told
            }
        }
    }

    fn words(self, vendor: Vendor, model: &str, reset: Option<Duration>) -> Words {
        match vendor {
            Vendor::OpenAi => self.openai(model, reset),
            Vendor::Anthropic => self.anthropic(model),
            Vendor::Gemini => self.gemini(model, reset),
        }
    }

    fn openai(self, model: &str, reset: Option<Duration>) -> Words {
        let say = |status, kind, message: &str, param, code| Words {
            status,
            kind,
            message: message.to_owned(),
            param,
            code,
            more: String::new(),
        };
        const INVALID: &str = "invalid_request_error";
        match self {
            Self::Overloaded => say(
                503,
                "server_error",
                "That model is currently overloaded with other requests. You can retry your request, or contact us through our help center at help.openai.com if the error persists.",
                None,
                None,
            ),
            Self::RateLimit => {
                let wait =
                    reset.map(|reset| format!(" Please try again in {}.", go_duration(reset))).unwrap_or_default();
                let message = format!(
                    "Rate limit reached for {model} in organization org-fake on requests per min (RPM): Limit 60, Used 60, Requested 1.{wait} Visit https://platform.openai.com/account/rate-limits to learn more."
                );
                say(429, "requests", &message, None, Some("rate_limit_exceeded"))
            }
            Self::Quota => say(
                429,
                "insufficient_quota",
                "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
                None,
                Some("insufficient_quota"),
            ),
            Self::WeeklyQuota => {
                let reset = reset.unwrap_or(WEEKLY);
                let (at, seconds) = (later(reset).as_second(), seconds_up(reset));
                let more = format!(",\"plan_type\":\"plus\",\"resets_at\":{at},\"resets_in_seconds\":{seconds}");
                Words { more, ..say(429, "usage_limit_reached", "The usage limit has been reached", None, None) }
            }
            Self::Auth => say(
                401,
                INVALID,
                "Incorrect API key provided: sk-fake*********fake. You can find your API key at https://platform.openai.com/account/api-keys.",
                None,
                Some("invalid_api_key"),
            ),
            Self::Permission => say(
                403,
                "request_forbidden",
                "Country, region, or territory not supported",
                None,
                Some("unsupported_country_region_territory"),
            ),
            Self::Context => say(
                400,
                INVALID,
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 154321 tokens. Please reduce the length of the messages.",
                Some("messages"),
                Some("context_length_exceeded"),
            ),
            Self::Filter => say(
                400,
                INVALID,
                "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
                None,
                Some("invalid_prompt"),
            ),
            Self::Model => say(
                404,
                INVALID,
                &format!("The model `{model}` does not exist or you do not have access to it."),
                None,
                Some("model_not_found"),
            ),
            Self::StateLost => say(
                400,
                INVALID,
                "Previous response with id 'resp_fake0000' not found.",
                Some("previous_response_id"),
                Some("previous_response_not_found"),
            ),
            Self::Invalid => say(
                400,
                INVALID,
                "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
                Some("temperature"),
                Some("decimal_below_min_value"),
            ),
            Self::Timeout => {
                say(504, "server_error", "The request timed out. Please try again.", None, Some("timeout"))
            }
            Self::TooLarge => say(413, INVALID, "Maximum request body size 26214400 exceeded", None, None),
            Self::Server | Self::Html502 | Self::Cloudflare => say(
                500,
                "server_error",
                "The server experienced an error while processing your request. Sorry about that! You can retry your request, or contact us through our help center at help.openai.com if the error persists.",
                None,
                None,
            ),
        }
    }

    fn anthropic(self, model: &str) -> Words {
        let say = |status, kind, message: &str| Words {
            status,
            kind,
            message: message.to_owned(),
            param: None,
            code: None,
            more: String::new(),
        };
        match self {
            Self::Overloaded => say(529, "overloaded_error", "Overloaded"),
            Self::RateLimit | Self::WeeklyQuota => say(
                429,
                "rate_limit_error",
                "This request would exceed your account's rate limit. Please try again later.",
            ),
            Self::Quota => say(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
            ),
            Self::Auth => say(401, "authentication_error", "Invalid bearer token"),
            Self::Permission => {
                say(403, "permission_error", "Your API key does not have permission to use the Message Batches API")
            }
            Self::Context => say(400, "invalid_request_error", "prompt is too long: 215422 tokens > 200000 maximum"),
            Self::Filter => say(400, "invalid_request_error", "Output blocked by content filtering policy"),
            Self::Model => say(404, "not_found_error", &format!("model: {model}")),
            Self::StateLost => say(404, "not_found_error", "Container not found: container_011Fake"),
            Self::Invalid => say(
                400,
                "invalid_request_error",
                "messages.22: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01Fake. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            ),
            Self::Timeout => say(504, "timeout_error", "Request timed out"),
            Self::TooLarge => say(413, "request_too_large", "Request exceeds the maximum size"),
            Self::Server | Self::Html502 | Self::Cloudflare => say(500, "api_error", "Internal server error"),
        }
    }

    fn gemini(self, model: &str, reset: Option<Duration>) -> Words {
        let say = |status, message: &str, more: String| Words {
            status,
            kind: gemini_status(status),
            message: message.to_owned(),
            param: None,
            code: None,
            more,
        };
        let none = String::new;
        let retry = reset.map(|reset| {
            format!(
                "{{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"{}s\"}}",
                seconds_text(reset)
            )
        });
        let quota = |id: &str| {
            let model = quoted(model);
            let failure = format!(
                "{{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{{\"quotaMetric\":\"generativelanguage.googleapis.com/generate_content_free_tier_requests\",\"quotaId\":\"{id}\",\"quotaDimensions\":{{\"location\":\"global\",\"model\":{model}}},\"quotaValue\":\"10\"}}]}}"
            );
            let help = "{\"@type\":\"type.googleapis.com/google.rpc.Help\",\"links\":[{\"description\":\"Learn more about Gemini API quotas\",\"url\":\"https://ai.google.dev/gemini-api/docs/rate-limits\"}]}";
            let all = [failure, help.to_owned()].into_iter().chain(retry.clone());
            format!(",\"details\":[{}]", all.collect::<Vec<_>>().join(","))
        };
        let exceeded = |last: &str| {
            format!(
                "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/usage?tab=rate-limit. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 10{last}"
            )
        };
        match self {
            Self::Overloaded => say(503, "The model is overloaded. Please try again later.", none()),
            Self::RateLimit => {
                let last = reset.map(|reset| format!("\nPlease retry in {}s.", seconds_text(reset))).unwrap_or_default();
                say(429, &exceeded(&last), quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"))
            }
            Self::Quota => say(429, &exceeded(""), quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")),
            Self::WeeklyQuota => {
                let reset = reset.unwrap_or(WEEKLY);
                let message = format!("You have exhausted your capacity on this model. Your quota will reset after {}.", go_duration(reset));
                let model = quoted(model);
                let info = format!("{{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"QUOTA_EXHAUSTED\",\"domain\":\"cloudcode-pa.googleapis.com\",\"metadata\":{{\"uiMessage\":\"true\",\"model\":{model}}}}}");
                let all = [info].into_iter().chain(retry);
                say(429, &message, format!(",\"details\":[{}]", all.collect::<Vec<_>>().join(",")))
            }
            Self::Auth => say(400, "API key not valid. Please pass a valid API key.", ",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"API_KEY_INVALID\",\"domain\":\"googleapis.com\",\"metadata\":{\"service\":\"generativelanguage.googleapis.com\"}},{\"@type\":\"type.googleapis.com/google.rpc.LocalizedMessage\",\"locale\":\"en-US\",\"message\":\"API key not valid. Please pass a valid API key.\"}]".to_owned()),
            Self::Permission => say(403, "The caller does not have permission", none()),
            Self::Context => say(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", none()),
            Self::Model => say(404, &format!("models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."), none()),
            Self::StateLost => say(403, "CachedContent not found (or permission denied)", none()),
            Self::Invalid => say(400, "Request contains an invalid argument.", none()),
            Self::Timeout => say(504, "Deadline expired before operation could complete.", none()),
            Self::TooLarge => say(400, "Request payload size exceeds the limit: 20971520 bytes.", none()),
            Self::Filter | Self::Server | Self::Html502 | Self::Cloudflare => say(500, "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting", none()),
        }
    }

    fn add_headers(self, headers: &mut Headers, vendor: Vendor, reset: Option<Duration>) {
        let told = matches!(self, Self::RateLimit | Self::WeeklyQuota);
        if let Some(reset) = reset.filter(|_| told && vendor != Vendor::Gemini) {
            headers.add("retry-after", seconds_up(reset));
            if vendor == Vendor::OpenAi && self == Self::RateLimit {
                headers.add("retry-after-ms", reset.as_millis());
            }
        }
        if vendor != Vendor::Anthropic {
            return;
        }
        if self == Self::WeeklyQuota {
            let at = later(reset.unwrap_or(WEEKLY)).as_second();
            headers.add("anthropic-ratelimit-unified-status", "rejected");
            headers.add("anthropic-ratelimit-unified-reset", at);
            headers.add("anthropic-ratelimit-unified-representative-claim", "seven_day");
            headers.add("anthropic-ratelimit-unified-7d-status", "rejected");
            headers.add("anthropic-ratelimit-unified-7d-reset", at);
            headers.add("anthropic-ratelimit-unified-7d-utilization", "1.01");
            headers.add("anthropic-ratelimit-unified-overage-disabled-reason", "org_level_disabled");
        }
        let again = matches!(self, Self::RateLimit | Self::Overloaded | Self::Server | Self::Timeout);
        headers.add("x-should-retry", again);
    }
}

/// A refusal in this vendor's shape with our own words, such as a path that leads nowhere.
pub(crate) fn refusal(vendor: Vendor, status: u16, message: &str, number: u64) -> Told {
    let kind = match (vendor, status) {
        (Vendor::OpenAi, _) => "invalid_request_error",
        (Vendor::Anthropic, 404) => "not_found_error",
        (Vendor::Anthropic, 400..=499) => "invalid_request_error",
        (Vendor::Anthropic, _) => "api_error",
        (Vendor::Gemini, _) => gemini_status(status),
    };
    let words = Words { status, kind, message: message.to_owned(), param: None, code: None, more: String::new() };
    shaped(vendor, &words, number)
}

/// The error object alone, for an event inside a stream.
pub(crate) fn in_stream(trouble: Trouble, to: &Telling<'_>) -> InStream {
    let words = trouble.words(to.vendor, to.model, to.reset);
    let object = object(to.vendor, &words);
    InStream { code: words.code.unwrap_or(words.kind), message: words.message, object }
}

/// A trouble inside a stream.
#[derive(Debug)]
pub(crate) struct InStream {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The error object as JSON.
    pub(crate) object: String,
}

/// What Gemini calls this status.
pub(crate) fn gemini_status(status: u16) -> &'static str {
    match status {
        400 | 413 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500..=599 => "INTERNAL",
        _ => "UNKNOWN",
    }
}

fn shaped(vendor: Vendor, words: &Words, number: u64) -> Told {
    let error = object(vendor, words);
    let body = match vendor {
        Vendor::OpenAi | Vendor::Gemini => format!("{{\"error\":{error}}}"),
        Vendor::Anthropic => {
            format!("{{\"type\":\"error\",\"error\":{error},\"request_id\":\"req_011Fake{number:017x}\"}}")
        }
    };
    json(words.status, body)
}

fn object(vendor: Vendor, words: &Words) -> String {
    let (message, more) = (quoted(&words.message), &words.more);
    let kind = words.kind;
    match vendor {
        Vendor::OpenAi => {
            let text = |value: Option<&str>| value.map_or("null".to_owned(), |value| format!("\"{value}\""));
            let (param, code) = (text(words.param), text(words.code));
            format!("{{\"message\":{message},\"type\":\"{kind}\",\"param\":{param},\"code\":{code}{more}}}")
        }
        Vendor::Anthropic => format!("{{\"type\":\"{kind}\",\"message\":{message}}}"),
        Vendor::Gemini => format!("{{\"code\":{},\"message\":{message},\"status\":\"{kind}\"{more}}}", words.status),
    }
}

fn json(status: u16, body: String) -> Told {
    Told { status, content_type: "application/json", body, headers: Headers::default() }
}

fn html(status: u16, body: &str) -> Told {
    Told { status, content_type: "text/html; charset=UTF-8", body: body.to_owned(), headers: Headers::default() }
}

/// Whole seconds, never early.
pub(crate) fn seconds_up(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn seconds_text(wait: Duration) -> String {
    let (seconds, ms) = (wait.as_secs(), wait.subsec_millis());
    if ms == 0 { seconds.to_string() } else { format!("{seconds}.{ms:03}") }
}

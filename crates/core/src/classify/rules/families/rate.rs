//! Too many requests or tokens in a short window.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::RateLimit;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("rate.code", RateLimit)
        .class()
        .code(&[
            "FLOOD_WAIT",
            "FloodWaitError",
            "RetryAfterError",
            "too_many_concurrent_requests",
            "concurrent_limit_exceeded",
            "max_concurrency_reached",
            "rps_limit_exceeded",
            "qps_limit_exceeded",
            "rpm_limit_exceeded",
            "tpm_limit_exceeded",
            "request_rate_exceeded",
            "requests_limit_exceeded",
            "TooManyRequestsError",
            "RateLimitedError",
            "RateLimitException",
            "RateLimitExceededException",
            "RateLimitExceededError",
            "ThrottledError",
            "ThrottleError",
            "ThrottlingError",
            "RequestThrottlingException",
            "TooManyTokensException",
            "RESOURCE_EXHAUSTED_RATE",
            "max_requests_exceeded",

            "RequestLimitError",
            "rate_limit_hit",
            "RateLimitReached",
            "request_rate_limited",
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limit_reached",
            "rate_limit_exceeded_error",
            "rate_limited",
            "rate_limit",
            "ratelimited",
            "user_rate_limit_exceeded",
            "model_rate_limit_exceeded",
            "too_many_requests",
            "too_many_requests_error",
            "too_many_requests_exception",
            "TooManyRequestsException",
            "request_limit_exceeded",
            "throttled",
            "throttling",
            "throttling_error",
            "request_throttled",
            "engine_overloaded_rate_limit",
            "concurrency_limit_exceeded",
            "tokens_per_minute_exceeded",
            "slow_down",
            "RPM",
            "TPM",
        ])
        .text(&[
            r"\bhttp/\d(?:\.\d)? 429\b",
        ])
        .example(r#"{"error":{"code":"rate_limit_reached"}}"#),
    rule("rate.limit", RateLimit)
        .class()
        .text(&[
            r"\brate[- ]?limiting (?:us|you|me|our|your|this|these|requests|calls|is (?:active|in effect|on)|applied|active|in effect)\b",
            r"\blimiting (?:the |your |our )?(?:number|rate|amount|volume|frequency) of (?:\S{1,12} )?(?:requests|messages|calls|prompts|queries|generations)\b",
            r"\btoo many (?:\S{1,14} )?(?:runs|jobs|tasks|agents|subagents|threads|streams|workers|sandboxes|containers|uploads|queries|executions|conversations|chats|prompts|commands|downloads) (?:are |is |were )?(?:already |currently )?(?:in progress|running|active|open|queued|pending|at once|at the same time|simultaneously|concurrently|in parallel)\b",
            r"\bmax(?:imum)?(?: number of)? (?:concurrent|parallel|simultaneous|active|running) (?:\S{1,20} ){1,3}(?:has been |have been |was |were |is |are )?(?:reached|exceeded|hit|in use|already running)\b",
            r"\bhigh[- ]frequency\b~\b(?:requests?|calls?|access|use|usage)\b",
            r"\bflood (?:control|wait)\b",
            r"\bthe rate at which\b~\b(?:exceeded|too high|limit)",
            r"\bonly \d{1,6} (?:requests?|calls?|messages?|queries) (?:every|per|each) (?:\d{1,4} )?(?:s|secs?|seconds?|mins?|minutes?|hours?)\b",
            r"\b(?:max(?:imum)?(?: number of)?|limit of|allowed|too many)(?: \d{1,6})? (?:concurrent|parallel|simultaneous) (?:\S{1,14} )?(?:sessions?|requests?|connections?|calls?|streams?|generations?|jobs?|tasks?|users?|runs?)\b~\b(?:reached|exceeded|hit|allowed|in use|for)\b",
            r"\b(?:concurren(?:cy|t)|parallel)\b~\b(?:limit|quota|cap) (?:has been |was |is )?(?:reached|exceeded|hit)\b",
            r"\btoo many 429 error responses\b",
            r"\b(?:request|call|message|submission|creation|login|api)s? (?:is|are) being (?:made|sent|submitted) too (?:quickly|fast|often|frequently)\b",
            r"\bplease (?:slow|cool) (?:it )?down\b|\bslow (?:it )?down(?:[.!\x22]|$| your| and (?:try|retry))",

            r"\breset(?:s)? hourly\b",
            r"\brate_limit_(?:\w{1,20}_)?(?:qps|qpm|rpm|tpm|exceeded|reached|hit)\b",
            r"\balready \d{1,5} (?:active|running|concurrent|open|pending) (?:runs?|jobs?|sessions?|requests?|tasks?|streams?)\b",
            r"\brequests? limit (?:has been |was |is )?(?:reached|exceeded)",
            r"\b(?:concurrency|parallelism)\b[^.;]{0,30}\b(?:exceeded|reached|hit|too high|surpassed)\b",
            r"\b(?:reduce|lower|decrease) (?:the |your )?(?:concurrency|parallelism)\b",
            r"\bratelimited\b",
            r"\b(?:maximum |max |allowed |sending |call |request )?rate (?:was |has been |is )?exceeded\b",
            r"\btraffic from your\b",
            r"\bunusual traffic\b",
            r"\bwould exceed (?:the|your) (?:\S{1,24} ){0,3}rate limit",
            r"\brate[- ]?limit(?:s|ed|ing)?\b(?: \S{1,30}){0,2} (?:exceeded|reached|hit|error|triggered|violated)",
            r"\b(?:exceed|exceeds|exceeded|exceeding|reached|hit|hitting|over|exhausted)\b~\brate[- ]?limit",
            r"\b(?:being |been |was |is |are |temporarily |got )rate[- ]?limited\b",
            r"\brate[- ]limited\b",
            r"\brate limit reached\b",
            r"\bratelimit\b~exceeded",
            r"\brequest rate (?:is |has been )?(?:too high|restricted|limited|increased too)",
        ])
        .example("Rate limit exceeded for this endpoint"),
    rule("rate.too_many_requests", RateLimit)
        .class()
        .text(&[
            r"\btoo many (?:api |concurrent |simultaneous |parallel |active |recent |inference |open |in-flight )?(?:requests|calls|messages|attempts|generations|sessions)\b",
            r"\brequests? (?:are |is )?(?:being )?(?:too (?:fast|frequent|often|quickly)|sent too)",
            r"\b(?:calls|requests) too frequent",
            r"\b(?:request|requests|has been|been|being|was|is|are|api|getting) throttled\b",
            r"\bthrottl(?:ed|ing)(?: error|exception|:| by| due)",
        ])
        .example("Too many concurrent requests, please slow your client")
        .not(&["the retry counter stays below too many tests"]),
    rule("rate.per_minute", RateLimit)
        .text(&[
            r"\berror: \d{1,6} per (?:1 |one )?(?:second|minute|hour)$",
            r"\b(?:operations|transactions|requests|reads|writes|calls|messages) per second is over\b",
            r"\bper[- ](?:minute|second) (?:\S{1,12} )?(?:cap|ceiling|budget|allowance)\b",

            r"\btoo many (?:input |output |prompt |total )?tokens per\b",

            r"\b(?:tokens|requests|images|queries|messages|input tokens|output tokens)[- _]per[- _](?:min|minute|second|sec|hour)\b",
            r"\b(?:limit|limits|limited|exceed|exceeds|exceeded|maximum|max|allowed|over)\b~\b(?:requests?|tokens|calls|messages|queries|reqs?|images) ?/ ?(?:minute|min|m|second|sec|s|hour|hr|h)\b",
            r"\b(?:requests?|tokens|calls|messages|queries|reqs?|images) ?/ ?(?:minute|min|m|second|sec|s|hour|hr|h)\b[^.;]{0,40}\b(?:limit\w{0,3}|exceed\w{0,3}|reached|allowed|surpassed)\b",
            r"\b(?:limited to|limit of|limit:|limit is|exceeded|exceeds|over) (?:your |the )?\d{1,9} ?(?:rpm|tpm|qps|rps|req/\w{1,6})\b",
            r"\b(?:rpm|tpm|rps|itpm|otpm)\)",
            r"\b(?:rpm|tpm|qps|rps) (?:limit|quota)",
            r"\bconcurren(?:cy|t)[- ](?:request |requests )?(?:limit|quota)\b~(?:exceed|reach|hit)",
            r"\b(?:exceed|reach|hit)(?:s|ed)?~\bconcurren(?:cy|t)[- ](?:request |requests )?(?:limit|quota)\b",
            r"\btoo many tokens\b~(?:wait|minute|processed|try again|per)",
            r"per[- _]?(?:minute|second)(?:per|_|-|\b)~(?:limit|quota|exceed)",
        ])
        .example("Limit of 20000 tokens per minute exceeded"),
    // A quota by name, a rate by its window.
    rule("rate.quota_per_minute", RateLimit)
        .decisive()
        .text(&[
            r"\b(?:concurren(?:cy|t)|parallel(?:ism)?)(?: \S{1,14})? (?:quota|allowance|budget|slots?)\b",
            r"\bper[- ](?:minute|min|second|sec|hour) (?:quota|allowance|budget)\b",
            r"\b(?:quota|allowance|budget) per (?:minute|min|second|sec|hour)\b",
        ])
        .not(&["Requests per day quota exceeded"])
        .example("request quota per minute exhausted for project 123"),
    rule("rate.general", RateLimit)
        .hint()
        .text(&[
            r"\brequest limit (?:was |has been |is )?hit\b",
            r"\breduce the rate of requests\b",
            r"\bqps (?:limit )?(?:is |was )?(?:exceeded|reached|too high)\b",
            r"\bsecondary rate limit\b",
            r"\b(?:asked|told|asks|wants) (?:us|you|me|the client|clients) to (?:back off|slow down|wait)\b",

            r"\b(?:a lot of|so many|lots of) (?:requests|messages|calls|prompts)\b~\b(?:short|minute|seconds|recently)\b",

            r"\b(?:reached|hit|exceeded) (?:the|your|a|its|their) (?:\S{1,14} )?limit\b",

            r"\b(?:wait|hold on|pause|hold off)(?: for)? \d{1,5} ?(?:s|secs?|seconds?|m|mins?|minutes?)\b~\b(?:before|and|between|until)\b",
            r"\bspace out your\b",
            r"\b(?:requests?|calls?|prompts?|generations?|jobs?) at a time\b",
            r"\benhance your calm\b",
            r"\bcalm down\b|\btake it slow\b|\beasy there\b",

            r"\bmax(?:imum)? (?:\S{1,14} ){0,2}(?:sessions|requests|calls|connections|generations)\b~\b(?:reached|exceeded|hit)\b",
            r"\b(?:requests|calls|messages|tokens|queries) ?(?:/|per|in|within|every) ?(?:\d{1,4} ?)?(?:s|sec|second|min|minute|m|h|hour)s?\b~\b(?:allowed|exceeded|limit|surpassed|max)\b",
            r"\b(?:surpassed|exceeded|more than) \d{1,7} (?:calls|requests|messages|queries|tokens)\b",
            r"\bsend(?:ing)? (?:\S{1,12} ){0,2}too (?:quickly|fast|many|often)\b",

            r"\brate[- ]?limit(?:s|ed|ing)?\b[^.]{0,60}\b(?:exceed\w{0,3}|reach\w{0,3}|hit|wait|retry|slow|try again|too many|block\w{0,3})\b",
            r"\btoomanyrequests\b",
            r"\b(?:request|call|api|message|query)s? (?:rate|frequency) (?:is )?(?:too|limit|exceed|high)",
            r"\btoo (?:frequent|fast|quickly|often)\b",
            r"\bexceeded (?:the |your )?(?:\S{1,14} ){0,2}(?:requests?|calls?|concurrency|throughput) (?:limit|quota|per)\b",
            r"\b(?:concurrency|concurrent|parallel|simultaneous) (?:\S{1,14} ){0,2}(?:limit|quota|cap|maximum)\b",
            r"\bthrottl(?:e|ed|ing)\b",
            r"\bback ?off\b~\b(?:seconds|retry|before)\b",
            r"\benqueued token limit\b",
            r"\bwait (?:a (?:moment|minute|few|bit|while)|before (?:trying|sending|retrying|making))\b",
            r"\bburst (?:limit|rate|capacity)\b",
        ])
        .example("You type too fast"),
    rule("rate.slower", RateLimit)
        .class()
        .code(&["NGHTTP2_ENHANCE_YOUR_CALM", "ENHANCE_YOUR_CALM", "FLOOD_WAIT", "rate_limited_by_gateway"])
        .text(&[
            r"\bmax(?:imum)? (?:rpm|tpm|qps|rps|itpm|otpm|requests per \w{3,6}|tokens per \w{3,6}) (?:has been |was |is )?(?:exceeded|reached|hit)\b",
            r"\bslow (?:down )?your (?:request )?(?:rate|requests|calls|pace)\b",
            r"\b(?:ramp|send|make|issue) (?:\S{1,16} ){1,4}more slowly\b",
        ])
        .example("max RPM exceeded for this key"),
    // A window shorter than a day: the same key works again within the hour.
    rule("rate.hourly", RateLimit)
        .decisive()
        .text(&[
            r"\brate ?limit quota\b",
            r"\bspike arrest\b",

            r"\b(?:hourly|per[- ]hour) (?:\S{1,14} ){0,3}(?:limit|quota|cap|allowance|maximum)\b",
            r"\b(?:limit|quota|cap|allowance|maximum)\b~\b(?:per hour|hourly|/hour|an hour)\b",
        ])
        .code(&[
            "SpikeArrestViolation",
            "QuotaViolation",
        ])
        .not(&["Usage limit reached for 5 hour. Your limit will reset at 9pm"])
        .example("You have reached your hourly usage limit"),
    // A limit of usage that is called one of rates, and no window beside it.
    rule("rate.usage", RateLimit)
        .decisive()
        .status(&[429])
        .text(&[
            r"\btoo many requests\b~\bexceeded your usage limits?\b",
            r"\brate_limit_error\b~\busage limit exceeded \(",
            r"\bfreeusagelimiterror\b~\brate limit exceeded\b",
        ])
        .example("429: {'error': 'Too Many Requests', 'message': 'You have exceeded your usage limits.'}"),
    rule("rate.yours", RateLimit)
        .decisive()
        .text(&[r"\byou've hit your rate limit\b"])
        .example("You've hit your rate limit. Please wait for your limit to reset in under a minute."),
];

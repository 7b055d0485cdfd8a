//! The shapes of lines that state no failure.

use std::sync::OnceLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// A shape of line that states no failure.
pub struct Benign {
    /// Stable name.
    pub name: &'static str,
    /// Matches the whole line, without regard to case.
    pattern: &'static str,
    /// A line of this shape.
    pub example: &'static str,
}

const fn benign(name: &'static str, pattern: &'static str, example: &'static str) -> Benign {
    Benign { name, pattern, example }
}

/// Every benign shape.
pub const BENIGN: &[Benign] = &[
    benign(
        "benign.access_log",
        r#""(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) [^"]*HTTP/[\d.]+" [123]\d\d\b"#,
        r#"10.0.0.7 - - [12/Mar/2026:10:15:02 +0000] "POST /v1 HTTP/1.1" 200 50429 "-""#,
    ),
    benign(
        "benign.success_log",
        r"^\s*(?:\S+ ){0,5}(?:GET|POST|PUT|PATCH|DELETE) /\S* (?:HTTP/[\d.]+ )?2\d\d\b",
        "INFO POST /v1/messages 200 in 503ms",
    ),
    benign(
        "benign.info_log",
        r"(?:^|[\s\[|])(?:level=)?(?:debug|trace)[\]|:\s].{0,200}(?:retry|timeout|limit|config|set to|using)",
        "DEBUG http: timeout set to 429 seconds",
    ),
    // What a program tells of its own doings, and that they went well.
    benign(
        "benign.info_routine",
        r#"^(?:INFO|DEBUG):[\w.]+:.*\b(?:refreshing|refreshed|attempting to|caching|cached|successfully|retrieved|initiali[sz]ed|started)\b[^{]*$|^\s*\{.*"(?:severity|level|levelname|log\.level)": ?"(?:INFO|DEBUG|TRACE)".*"(?:message|msg)": ?"[^"]*\b(?:feature flag|flag|setting|enabled|disabled)\b[^"]*".*$"#,
        "INFO:auth:Token expired or not found, refreshing...",
    ),
    benign(
        "benign.passed_test",
        r"^\s*(?:test \S+ \.\.\. ok|test result: ok\b.*|ok\s+\d*\s*-?\s.*|--- PASS: .*|(?-i:PASS(?:ED)?[:\s].*|\S+ PASSED.*)|(?:✓|✔|√) .*|\S+::\S+ PASSED.*|=+ \d+ passed.*|tests?:? +\d+ passed.*|\d+ passing.*)\s*(?:\[.*|\(.*)?$",
        "test gateway::retries_on_429 ... ok",
    ),
    benign(
        "benign.commit",
        r"^\s*(?:\*\s+)?[0-9a-f]{7,40} (?:\([^)]*\) )?\w.*",
        "429a5dc4308 fix(ui): handle rate limit exceeded",
    ),
    benign(
        "benign.commit_subject",
        r"^\s*[-*]?\s*(?:fix|feat|chore|docs|test|refactor|perf|ci|build|style|revert)(?:\([^)]*\))?!?: .*|^\s*[\w./-]+(?:\([^)]*\))?: (?:don't|do not|always|never|avoid|guard|make|stop|handle|allow|add|remove|improve|update|ensure|prevent|support|treat|retry|wrap|drop|bump|rename|return) [^:{]*",
        "fix(core): retry on ECONNRESET",
    ),
    // What a reader is told about failures in general.
    benign(
        "benign.explanation",
        r#"^[^:{]{0,120}\b(?:maps? to|(?:is|are|gets?) mapped to|can be (?:triggered|caused) by|(?:is|are) (?:only |always |also )?(?:returned|raised|thrown|sent|used|emitted|set|included|present) (?:when|if|for)|means (?:that|when|the|you|your|a|an|no|it)|stands for|(?:happens|occurs|appears) (?:when|if)|(?:tells|indicates to) the (?:client|caller|user)|we (?:now |also )?(?:return|respond with|reply with|send back|treat|map|retry|mapped|treated|handled?|classify|classified|changed|switched))\b.*"#,
        "499 can be triggered by different paths",
    ),
    benign(
        "benign.design_prose",
        r"^\s*(?:in|under|for|during) (?:[\w-]+ ){1,4}(?:scenarios?|cases|situations|circumstances|conditions)\b[^:{]*$|^[^:{]{0,160}\b(?:we|i|they|it) (?:prefer|decided|chose|intend|aim|plan|tend|would rather|opted)(?: to)?\b[^{]*$",
        "Under heavy load conditions the server answers 503",
    ),
    benign(
        "benign.report_of_counts",
        r"^[^:{]{0,100}\b(?:shows?|tells?|explains?|describes?|counts?|measures?|tracks?|plots?|documents?) (?:you |us )?(?:how|why|when|whether|what|which)\b[^{]*$",
        "The chart shows how many requests were rate limited",
    ),
    benign(
        "benign.note_to_self",
        r"^\s*(?:TODO|FIXME|XXX|HACK|NOTE TO SELF)\b[:( ].*",
        "TODO: handle the case that the session expired",
    ),
    benign(
        "benign.when_you_hit",
        r"^[^:{]{0,120}\bwhen(?:ever)? (?:you|we|they|users?|clients?|a client|a request|someone) (?:hit|get|see|reach|exceed|run into|encounter|receive)s?\b.*",
        "backing off means when you hit a rate limit you wait",
    ),
    benign(
        "benign.general_truth",
        r"^\s*(?:all|most|some|these|both|such|successful|failed|many) (?:responses?|requests?|errors?|calls?|failures?|clients?|providers?|status codes?)\b[^:{]*$",
        "Most errors such as 429 Too Many Requests are retried",
    ),
    benign(
        "benign.fact_sheet",
        r"^\s*(?:(?:rate limits|limits|pricing|context window)(?: size| length| \([^)]*\))?: [^{]*|usage limits?: [^{]*|authentication: (?:pass|use|send|set|add|include)\b[^{]*)$",
        "Rate limits: 50 requests per minute on the free tier",
    ),
    benign(
        "benign.table_of_tabs",
        r"^[A-Za-z][\w /().-]{0,50}\t[^\t]{0,60}\t[^\t]{0,200}$",
        "retry-after\t2\tIn seconds, if the rate limit was reached",
    ),
    benign(
        "benign.assertion",
        r"^\s*(?:await )?(?:\w+\.)+(?:strict_?equal|deep_?(?:strict_?)?equal|not_?equal|equals?|throws|rejects|match|same|include)\(.*|^\s*(?:await )?expect\(.*|^\s*assert(?:\.\w+)*(?:\(| ).*(?:==|\bis\b|\bin\b|,).*|^\s*(?:mock|stub|nock|when|patch|given|responses)\w*(?:\.\w+)*\(.*",
        "t.strictEqual(res.statusCode, 429)",
    ),
    benign(
        "benign.one_line_function",
        r"^\s*(?:async )?(?:def|fn|func|function) \w+\(.*\).*\b(?:raise|return|throw)\b.*",
        "def on_timeout(self): raise TimeoutError(\"timed out\")",
    ),
    benign(
        "benign.call",
        r#"^\s*(?:await )?(?:\w+\.){0,3}(?:log|logger|logging|console|slog|tracing|fmt|errors|anyhow)(?:\.\w+|!|::\w+!?)\(.*\)[;,]?\s*$|^\s*return \w+\(.*\), ?\d{3}\s*$|^\s*(?:\}\s*)?catch ?\(.*\) ?\{.*\}\s*$|^\s*(?:new \w*(?:Error|Exception)|bail!|anyhow!|panic!|Err)\(.*\)[;,]?\s*$"#,
        "logger.error(\"Failed to connect to server: %s\", err)",
    ),
    benign(
        "benign.tests_pass",
        r"^[^{]{0,80}\b(?:tests?|suites?|specs?|checks) (?:all )?pass\b[^{]*$",
        "237 suites / 4395 tests pass on the final tree, one flaked under heavy load",
    ),
    benign(
        "benign.comment_found",
        r"^\S+\.(?:rs|py|tsx?|jsx?|go|java|cc?|cpp|hp?p?|rb|php|cs|kt|swift|scala|sh):\d+(?::\d+)?:\s*(?://|#|/\*|\*).*",
        "src/limits.rs:42: /// Too many requests in flight.",
    ),
    benign(
        "benign.plan",
        r"^\s*(?:(?:⏺|●|•|◦|-|\*) ?)?(?:i'll|i will|i'm going to|i need to|i should|let me|let's|now i|now let|next,? i|first,? i)\b[^:{]*$",
        "⏺ I'll look at why the connection is refused and fix it.",
    ),
    benign(
        "benign.how_to",
        r"^\s*to (?:authenticate|configure|enable|install|set up|get started|start|test|build|debug|customi[sz]e|override|change)\b[^,:{]{0,60}, (?:pass|use|set|send|add|include|provide|call|run|see|configure|install|open|click|create)\b[^{]*$",
        "To authenticate, pass your API key in the Authorization header.",
    ),
    benign(
        "benign.check_passed",
        r"^\s*(?:(?:-|\*|•) )?[\w -]{0,50}\b(?-i:OK|PASS|PASSED): .*",
        "- provider reachability OK: `https://example.com/ reachable (HTTP 403)`",
    ),
    benign(
        "benign.what_code_does",
        r"^\s*(?:the|this|our) (?:function|method|client|library|sdk|middleware|wrapper|helper|code|class|hook|decorator|proxy) (?:also |only |always |now )?(?:retries|handles|catches|raises|throws|returns|wraps|maps|treats|ignores|logs|reports|swallows)\b[^:{]*$",
        "The function retries on connection reset.",
    ),
    benign(
        "benign.settings",
        r#"^\s*(?:["']?[\w.-]*(?:timeout|retries|limit|backoff|attempts|interval|delay|concurrency|burst|rpm|tpm|ttl)["']?\s*[=:]\s*["']?[\d.]+[a-z]{0,3}["']?[,;]?\s*){2,}$"#,
        "max_retries=3, timeout=60, rate_limit=500",
    ),
    benign(
        "benign.contract",
        r"^\s*(?:all )?\d{3} (?:responses?|errors?|replies) (?:shall|should|must|may|will|can)\b.*",
        "429 responses shall include: Retry-After",
    ),
    benign(
        "benign.signal_list",
        r"^\s*(?:\d+[).]?\s*)?(?:SIG[A-Z0-9+]+\b[^a-z]{0,14}){3,}$",
        " 9) SIGKILL\t10) SIGUSR1\t11) SIGSEGV",
    ),
    benign(
        "benign.process_list",
        r"^\s*(?:USER\s+|UID\s+)?PID\s+.*|^\s*\d+\s+(?:pts/\d+|tty\w*|\?)\s+.*|^[-dl][rwxsStT-]{9}\s.*|^total \d+$",
        "-rw-r--r-- 1 root root 429 2026-11-15 22:07 error.log",
    ),
    benign("benign.usage", r"^\s*usage: \S+ .*", "Usage: timeout [OPTION] DURATION COMMAND"),
    benign("benign.heading", r"^\s*#{1,6} .*", "### Why am I getting `429 Too Many Requests`?"),
    benign(
        "benign.bold_label",
        r"^\s*(?:[-*] )?\*\*[^*\s][^*]*:?\*\*:? .*",
        "**Timeout:** requests that timed out are retried",
    ),
    benign("benign.table_row", r"^\s*\|.*\|\s*$", "| 429 | Too Many Requests | rate limit exceeded |"),
    benign("benign.comment", r#"^\s*(?://|/\*|\*/|<!--|"""|''').*"#, "// Retry when the connection was refused"),
    benign("benign.shell_comment", r"^\s*# .*", "# handle 429 Too Many Requests"),
    benign(
        "benign.declaration",
        r"^\s*(?:pub |export |async |static |private |public |protected )*(?:const|let|var|fn|def|class|function|func|impl|enum|struct|interface|type|import|from|use|package|#include|#define|return|throw new|raise|except|catch|elif|case|match|assert\w*|expect|it|describe|if|else|while|for|switch)\b[\s(].*[{(;:=,\[]\s*$",
        "if (error.code === 'ECONNRESET') {",
    ),
    benign(
        "benign.statement",
        r#"^\s*(?:(?:const|let|var|static|final|return|throw|raise|expect|assert\w*|import|from|self\.\w+|this\.\w+)\b.*[;)]|[\w.\[\]]+ (?:=|==|:=|\+=) .*(?:[;,(\[{]|["']\s*\)?))\s*$"#,
        r#"const RETRYABLE = ["overloaded_error", "rate_limit_error"];"#,
    ),
    benign(
        "benign.handler",
        r"^\s*(?:\}\s*)?(?:rescue|except|catch|on)\b\s*\(?[\w:.,| ]+\)?\s*(?:(?:=>|as)\s*\w+)?\s*[:{]?\s*(?:#.*)?$",
        "rescue RubyLLM::RateLimitError => e",
    ),
    benign(
        "benign.condition",
        r#"^\s*(?:\}? ?(?:else )?if|elif|while|assert|when|unless)\b.*(?:===?|!==?|\bin\b|includes|contains|startswith|isinstance|matches|\.is_|&&|\|\|).*"#,
        "if err.status_code in (429, 503):",
    ),
    benign(
        "benign.literals",
        r#"^\s*(?:["'`][^"'`]*["'`]\s*[,|]\s*)+(?:["'`][^"'`]*["'`])?\s*[\])}]*\s*[;,]?\s*$"#,
        r#"    "deadline_exceeded", "unavailable", "resource_exhausted","#,
    ),
    benign(
        "benign.numbered_literals",
        r#"^\s*\{?(?:\s*\d+: ?["'][^"']*["'],?)+\s*\}?,?\s*$"#,
        "{104: 'Connection reset by peer', 110: 'Connection timed out'}",
    ),
    benign(
        "benign.bullet",
        r"^\s*(?:-|\*|•) (?:`[^`]+`|\d\d\d(?:/\d\d\d)*|[45]xx)\s*(?::|—|-|–|→|=>|\().*",
        "- 401/403: invalid key or insufficient permissions.",
    ),
    benign(
        "benign.option",
        r"^\s+(?:-\w, )?--[a-z][\w-]+(?:[ =]<[^>]*>)?\s{2,}\w.*",
        "     --retry-connrefused  Retry on connection refused (use with --retry)",
    ),
    benign(
        "benign.command",
        r#"^\s*(?:\$ |> |% )?(?:sudo |env |timeout \d+\w* )*(?:sleep|echo|grep|rg|curl|git|cargo|npm|npx|pip|python3?|node|docker|kubectl|make|sed|awk|cat|ls|cd|export|pytest|ssh|wget)\s+[^:]*(?:&&|\|\||\||--?\w|"|').*"#,
        r#"sleep 5 && echo "connection reset by peer""#,
    ),
    benign(
        "benign.recovered",
        r"\b(?:retry|reconnect\w*|request|attempt|call|recover\w*)\b.{0,40}\b(?:succeeded|successful(?:ly)?|recovered|restored)\b|\b(?:recovered|reconnected|resumed|succeeded) (?:after|from|on|successfully)\b",
        "Retry succeeded on attempt 2 of 5 after 429 Too Many Requests",
    ),
    benign(
        "benign.first_person",
        r"^\s*(?:hi|hello|hey)?,?\s*(?:(?:i|i'm|i am) (?:sense|think|thought|noticed|see|saw|get|got|am getting|keep|tried|have|wonder|believe|guess|suspect|was|were|hit|want|added|fixed|changed|implemented|updated)|we (?:sense|think|thought|noticed|see|saw|keep|tried|wonder|believe|guess|suspect|hit|want|added|fixed|changed|implemented|updated))\b.*",
        "I think my rate limit exceeded because of the loop",
    ),
    benign(
        "benign.advice",
        r"^\s*(?:(?:-|\*|•) |\d+\. )?(?:if (?:you|the|a|an|your|this)\b.{0,120}(?:,| then )|when (?:you|the|a|an|your)\b.{0,120},|to (?:avoid|fix|handle|prevent|resolve)\b|see (?:the|our)\b|make sure (?:to|you|that)\b|note[:,]|tip:|not an? (?:\w+ ){0,2}(?:issue|problem|error|failure)\b|how to\b|it (?:would|should|could|might|may) be\b|you (?:can|could|should|might|will)\b|we (?:should|could|can|now|also) (?:retry|handle|map|treat|use|add|see|back|catch)\b|this (?:means|happens|is because|error (?:means|occurs|happens))\b|please note\b|why (?:am|is|do|does|are)\b|what (?:is|does|are)\b|example:|for example\b|added?\b|adds\b|fixed\b|fixes\b|improved?\b|update[ds]? (?:the|how|to|from|an?)\b|change[ds]? (?:the|how|to|from|an?)\b|refactored\b|introduced\b|reworked\b|(?:classify|treat|map|convert|detect|propagate|rename|document|refactor|introduce|implement|bump|surface) [a-z`]|support for\b|handles?\b|retries on\b|returns?\b|raises?\b|throws?\b)[^{]*$",
        "If you see 429 Too Many Requests, lower your request rate.",
    ),
    benign(
        "benign.question",
        r"^\s*(?:> ?)?(?:(?:faq|q|question)\b[.: ]{1,2}|(?:hi|hello|hey)(?: \w+)?[,!] ?)?(?:how|why|what|when|where|which|who|is|are|am|do|does|did|can|could|should|would|will|has|have|any(?:one|body)?)\b[^{]*\?\s*$",
        "> is this rate limited?",
    ),
    benign(
        "benign.api_description",
        r#"^[^:{]{0,160}\b(?:returns?|responds? with|answers? with|throws?|raises?|sends?|emits?|yields?) (?:an? |the |http )?[`"']?[1-5]\d\d\b[^:{]*\b(?:if|when|for|on|once|unless)\b[^{]*$|^\s*(?:if|when|whenever|once)\b[^:{]{0,160}\b(?:we|the (?:api|server|service|client|gateway|system|proxy|sdk|caller))\b[^:{]{0,40}\b(?:returns?|responds?|answers?|sends?|throws?|raises?|will|falls|retries|receives?)\b[^{]*$"#,
        "The API returns 401 if the key is missing and 429 if you exceed the rate limit.",
    ),
    benign(
        "benign.standard",
        r"\b(?:clients?|servers?|senders?|recipients?|implementations?|user agents?|applications?|callers?|responses?) (?-i:SHOULD|MUST|MAY|SHALL)\b|\bstatus code (?:indicates|means|is (?:returned|used|sent))\b|\(rfc ?\d{4}\)",
        "A server MAY send Retry-After with a 503 (Service Unavailable) response.",
    ),
    benign(
        "benign.no_longer",
        r"\bno longer (?:see|seeing|gets?|getting|stuck|happen\w*|occur\w*|fail\w*|crash\w*|hang\w*|throw\w*|reproduc\w*|return\w*)\b",
        "We no longer see connection reset errors",
    ),
    benign(
        "benign.share_left",
        r"\b(?:limit|quota|usage|session|credits?|window)\b[^{]{0,60}\b(?:[1-9]|[1-9]\d|100)(?:\.\d+)?% (?:left|remaining|free|available)\b|\b(?:\d|[1-8]\d)(?:\.\d+)?% (?:of (?:\S+ ){0,4}(?:limit|quota|budget|allowance)\b|used\b)",
        "Weekly limit: 87% left",
    ),
    benign(
        "benign.how_to_stop",
        r"\b(?:press|hit|use|type) (?:\S+ )?(?:ctrl|control|\^)[-+ ]?c\b.{0,20}\bto\b",
        "Press Ctrl+C to stop",
    ),
    benign(
        "benign.setting",
        r#"^\s*["']?[\w.-]*(?:timeout|retries|rate_limit|backoff|attempts|ttl|threshold|concurrency)["']?\s*[:=]\s*["']?[\d.]+\s?(?:ms|s|m|h|secs?|seconds|mins?|minutes|/\s?\w+|%)?["']?[,;]?\s*$|^\s*\w+_timeout\s+\d+\w*;\s*$"#,
        "request_timeout = 60",
    ),
    benign(
        "benign.subject",
        r"^\s*(?:this (?:pr|patch|change|commit|release|document|page|section|guide)|fix(?:es|ed)? #\d+|closes #\d+|resolves #\d+|merge (?:branch|pull request)|changelog|release notes|v?\d+\.\d+\.\d+:|expected behaviou?r|steps to reproduce|feature request|proposal)\b.*",
        "This PR fixes the connection reset by peer error on idle streams",
    ),
    benign(
        "benign.task",
        r"^\s*(?:(?:increase|decrease|raise|lower|set|fixed|better|longer|shorter|improved?|configurable|default|faster) (?:`|the |a |an |default |client |request |http |retry |handling |error |connect\w* |\w+ )?(?:timeouts?|retries|backoff|limits?|handling|errors?|config)\b|add (?:`|support|tests?|docs?|missing|unit|handling|retr|logging|error|an? (?:test|retry|note|check|option|flag))|(?:handle|support|improve|refactor|document|bump|rename|prevent|avoid|implement|introduce|expose|clarify|skip|revert|simplify|surface|propagate|wrap|retry|distinguish|detect|map|treat) (?:`|the |a |an |all |more |missing |better |transient |errors?\b|retr\w+ |timeouts?\b|\d{3}|[45]xx))[^:{]*$",
        "Add `TooManyRequestsError` (429) to error docs",
    ),
    benign(
        "benign.list_of_codes",
        r"^\s*(?:error handling|(?:supported |common |http )*(?:error|status) codes|common causes(?: are)?|troubleshooting|retry policy|free tier|expected behaviou?r)\s*:.*",
        "HTTP status codes: 200 OK, 404 Not Found",
    ),
    benign(
        "benign.reported",
        r"^\s*(?:my|our|his|her|their|the (?:customer|user|team|reporter|docs?|documentation|readme|status page|changelog|manual)) (?:\S+ ){0,3}(?:says?|said|complain\w*|report\w*|mention\w*|states?)\b[^:{]*$|^\s*it (?:should|would|prints|used to)\b[^:{]*$",
        "my colleague's laptop says 'quota exceeded' but mine works",
    ),
    benign(
        "benign.past",
        r"^[^:{]*\b(?:yesterday|last (?:week|night|month|year)|this morning|since (?:the )?(?:upgrade|update|fix|release|rollback))\b[^{]*$",
        "The customer complained about the server being down yesterday",
    ),
    benign(
        "benign.done",
        r"\.\.\. ?(?:done|ok|ready|success)\b[.!]?\s*$|\bexited normally\b|\b(?:session|process|worker|server|connection|stream|container|job)(?: [\w#-]*\d[\w#-]*)? (?:has |was )?(?:exited|closed|ended|terminated|stopped|shut down) (?:normally|cleanly|gracefully|successfully)\b",
        "loading model... done",
    ),
    benign(
        "benign.capability",
        r"^\s*(?:the )?(?:maximum |max )?(?:context|input|output|token)s? (?:length|window|limit|size) of (?:this|the|that) model is\b[^{]*$|^\s*\S+ (?:supports|offers|allows) (?:at most|up to) [\d,.]+[km]? ?(?:tokens)?[^{]*$|^\s*(?:free|paid|pro|basic)(?: tier| plan)?: [^{]*\bper (?:minute|day|hour|month)\b[^{]*$",
        "gpt-4o supports at most 128,000 tokens",
    ),
    benign(
        "benign.warning",
        r"\b(?:Deprecation|PendingDeprecation|Future|Resource|Syntax|Import)Warning\b.*|^npm warn deprecated\b.*",
        "DeprecationWarning: the timeout argument is deprecated",
    ),
    benign(
        "benign.insecure",
        r"^=(?:WARNING|INFO|NOTICE|PROGRESS) REPORT====.*|^\s*Description: .server authenticity is not verified\b.*|^\s*Reason: .*\bverify_peer\b.*|\b(?:InsecureRequest|NotOpenSSL|SubjectAltName|InsecurePlatform|SNIMissing)Warning\b.*|\bNODE_TLS_REJECT_UNAUTHORIZED environment variable to '0'.*",
        "InsecureRequestWarning: Unverified HTTPS request is being made to host 'x'. Adding certificate verification is advised.",
    ),
    benign(
        "benign.manual",
        r"^Help on (?:[\w-]+ ){0,3}(?:class|function|module|method|package|object)\b.*",
        "Help on class TimeoutError in module asyncio:",
    ),
    benign(
        "benign.talk",
        r"^\s*(?:getting|seeing|hitting|facing|having) [^:{]*$|(?::\(|:\)|;\)|:D|👍|😊|🙏|😅)\s*$|\blooks good(?: to me)?\b[^{]*$|^\s*(?:thanks|thank you|lgtm|same here|\+1|not sure|(?:this|that|it) (?:can|may|might|could|will) happen|randomly|periodically|sometimes|occasionally|after the|before the|in my case|it seems|it looks like|looks like|seems like|turns out|maybe|perhaps|i'd|i'll|i've|let's|we've|we'll)\b[^:{]*$",
        "Set concurrency to 5, still hitting their rate limits :(",
    ),
    benign(
        "benign.amount_left",
        r"^\s*(?:credits?|balance|tokens?|requests?|quota|messages|usage|context)(?: remaining| left| used)?: ?\$?[1-9][\d,.]*[km]?(?: ?/ ?[\d,.]+[km]?)?[^a-z]*(?:tokens|credits|/day|requests)?[^a-z]*$",
        "credits remaining: 482",
    ),
    benign("benign.template", r"\{[0-9]\}.*\{[0-9]\}|^[^{]*%[sd]\b.*%[sd]\b", "Pod {0} was evicted due to {1}"),
    benign(
        "benign.speaker",
        r"^[^:{]*\b(?:i am|i'm|i was|i've|i have|i get|i got|i can|i cannot|i can't|i tried|i suspect|i guess|i believe|we've seen|anyone else)\b[^:{]*$|^\s*th(?:is|ese|e) (?:errors?|bugs?|issues?|problems?|failures?) (?:seems?|appears?|causes?|happens?|occurs?|shows? up|is caused|are caused|comes?)\b[^{]*$",
        "This error seems to be returned when prompts are blocked",
    ),
    benign(
        "benign.explained",
        r"^[^{]*\b(?:(?:may|might|can|could|will) be (?:returned|thrown|raised|sent|triggered) (?:if|when|by|because)|this (?:error message|status code|condition|response code|code) (?:indicates|means|typically|usually|may|can|is returned)|(?:can|may|might) become (?:temporarily )?(?:overloaded|unavailable|slow)|now (?:automatically |also )?(?:retr(?:y|ies)|backs? off|falls? back|handles?) (?:when|on|if)|returns? [45]\d\d\. [a-z])\b[^{]*$",
        "429 Too Many Requests: this status code may be returned if the quota for the API has been exceeded.",
    ),
    // What a reference says of an error: its name, and when it is raised.
    benign(
        "benign.reference",
        r"^\s*(?:[-*] )?(?:an? |the )?[`'\x22]?[\w.:]*(?:error|exception|failure|timeout)s?[`'\x22]?(?: \(\d{3}\))?(?: errors?| exceptions?| class| status| codes?| responses?| messages?)?(?: ?[:-])? (?:(?:indicates?|means|signals|represents|denotes) (?:that|an?|the|your|you)|(?:occurs?|happens?|(?:is |are |gets? )?(?:raised|thrown|returned|emitted)) (?:when|if|whenever|in case))\b[^{]*$",
        "An AcmeRateLimitError indicates that you have hit your limit",
    ),
    benign(
        "benign.when_raised",
        r"^(?:errors?: )?[^:.{]{0,200}\b(?:is|are|will be|gets?) (?:only |always |also |then )?(?:returned|raised|thrown|emitted) (?:when|if|whenever|in case)\b[^{]*$",
        "Errors: `ErrNoCredits` is returned if the account has no credits left.",
    ),
    benign(
        "benign.causes_in_general",
        r"^[^{]{0,120}\b(?:common|typical|usual|most (?:common|likely|frequent)) (?:causes?|reasons?)(?: of \S+(?: \S+){0,4}| for \S+(?: \S+){0,4})? (?:include|includes|are|is)\b[^{]*$|^[^{]{0,200}\bsolution: (?:retry|check|ensure|pace|contact|make|wait|verify|reduce|use|set|see|read|upgrade)\b[^{]*$",
        "Common causes include an expired key, a rate limit or a network outage.",
    ),
    benign(
        "benign.what_is_retried",
        r"^\s*(?:by default,? |note that )?(?:the|our|this|all|both|each|every|an?) (?:[\w-]+ ){0,3}(?:client|sdk|library|package|framework|middleware|agent|proxy|gateway|wrapper|transport|clients|sdks|libraries) (?:will |can |also |only |always )*(?:automatically )?(?:retr(?:y|ies)|re-?sends?|reconnects?|backs? off)\b[^:{]*$",
        "The client will automatically retry connection errors, 408 Request Timeout and 429 Rate Limit.",
    ),
    benign(
        "benign.directive",
        r"^\s*(?:proxy|fastcgi|grpc|uwsgi|client|keepalive|send|limit|ssl)(?:_[a-z0-9]+)+ [\w ./$-]+;\s*$",
        "proxy_next_upstream error timeout http_502 http_503;",
    ),
    benign(
        "benign.diff_stat",
        r"^\s*\S+\s+\|\s+\d+ [+-]+\s*$|^\s*\d+ files? changed(?:, \d+ (?:insertions?|deletions?)\([+-]\))*\s*$",
        " src/errors/unauthorized.rs | 7 ++-",
    ),
    benign(
        "benign.clause",
        r#"^\s*[\w.()\[\]]+ (?:===?|!==?) ["'`\w.:]+ (?:\|\||&&)\s*$"#,
        "err.message === 'net::ERR_CONNECTION_RESET' ||",
    ),
    benign("benign.export", r"^\s*(?:\$ )?export \w+=\S*\s*$", "$ export OPENAI_API_KEY=sk-1"),
];

/// The name of the first shape that a line has.
pub(super) fn of(line: &[u8]) -> Option<&'static str> {
    set().matches(line).iter().next().map(|index| BENIGN[index].name)
}

fn set() -> &'static RegexSet {
    static SHAPES: OnceLock<RegexSet> = OnceLock::new();
    SHAPES.get_or_init(|| {
        RegexSetBuilder::new(BENIGN.iter().map(|benign| benign.pattern))
            .case_insensitive(true)
            .unicode(false)
            .build()
            .expect("a test strips the example of every shape, so all of them compile")
    })
}

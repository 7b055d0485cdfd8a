//! A time limit passed.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::Timeout;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("timeout.passed", Timeout)
        .text(&[
            r"\btimeout: sending signal\b",
            r"\bexceeded the (?:\S{1,20} )?\d{1,6} ?(?:s|ms|sec|seconds|m|minutes) timeout\b",
            r"\btook (?:more|longer) than (?:\S{1,12} ){0,2}\d",
            r"\b(?:been )?running for (?:over |more than |at least |about )?\d{1,6} ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b~\b(?:stopped|killed|aborted|terminated|cancell?ed|interrupted|gave up)\b",
            r"\bexceed(?:ed|s|ing) (?:the |its |a |an )?(?:\S{1,12} )?(?:wall[- ]?clock|wall[- ]?time|time|run ?time|duration|execution[- ]time) (?:limit|budget|cap|maximum)\b",
            r"\b(?:not|didn't|wasn't|couldn't|never|failed to|unable to|nothing) (?:[^ .]{1,20} ){1,6}?(?:within|inside) (?:the |a |an |its )?(?:allowed |allotted |configured |first )?\d{1,7}[- ]?(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?)\b",
            r"\b(?:not|didn't|wasn't|couldn't|never|failed to|unable to|nothing) (?:[^ .]{1,20} ){0,5}?(?:respond|start|finish|complete|answer|connect|reply|return|ready|arrive|come|happen|acknowledge|load|open|appear)(?:ed|s|ing|n|d)? in (?:the |a |an |its )?(?:allowed |allotted |configured |first )?\d{1,7}[- ]?(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?)\b",

            r"\btime[- ]?out (?:of )?\(?\d\S{0,12}(?: ?(?:ms|s|seconds|milliseconds)\)?)? (?:was |has been )?(?:exceeded|reached|elapsed|expired|hit)\b",

            r"\btook longer than (?:\S{1,20} ){0,3}\d",
            r"\btook longer than \S{1,24} (?:to|and)\b",
            r"\bdid not properly respond after a period of time\b",
            r"\b(?:is|was|are) (?:still )?(?:hung|unresponsive|not responding)\b~\b(?:after|for) \d",
            r"\bno (?:response|reply|answer|heartbeat|output) (?:for|in|after|within) (?:over |more than |at least )?\d{1,6} ?(?:ms|s|secs?|seconds?|mins?|minutes?|hours?)\b",

            r"\bexceed(?:ed|s|ing) (?:the |its |a )?\w{0,24}timeout\w{0,8}\b",
            r"\b(?:not|n't|didn't|couldn't|never|failed to|unable to|nothing) (?:[^ .]{1,20} ){1,6}?(?:before|by|within|in) (?:\S{1,12} ){0,3}?(?:deadline|time-?out|time (?:limit|budget|frame)|allotted time|allowed time)\b",
            r"\b(?:missed|past|passed|beyond|overran|blew) (?:\S{1,12} ){0,3}?deadline\b",
            r"\bstatement timeout\b",
            r"\b(?:due to|because of) (?:the |a |an )?(?:\S{1,30} ){0,4}time-?out\b",
            r"\b& (?:start|respond|complete|finish|connect|become ready|initialize|answer) within \d",

            r"\bno (?:first token|response|output|reply|answer|data|activity|progress)\b~\bwithin \d",
            r"\btimeout\(\w",
            r"^timeout\b[.:!]?$",
            r"\brun timeout\b",
            r"\btimeout was reached\b",
            r"\bran (?:for )?too long\b",
            r"\btime ?out$",
            r"\b(?:exceeded|exceeds) (?:the )?(?:maximum |max )?(?:allowed )?(?:run ?time|execution time|duration|wait(?:ing)? time|processing time)\b",
            r"\bwaited (?:for )?(?:too long|\d{1,9} ?(?:ms|s|sec|seconds|minutes))\b~(?:giv|but|without)",
            r"\btimed[- ]?out\b",
            r"\btime[- ]?out (?:was |has been |of \S{1,14} )?(?:exceeded|reached|expired|elapsed|occurred|error|waiting|after|while|on|during|to|at:)\b",
            r"\b(?:request|connection|connect|read|response|network|operation|gateway|socket|write|header|headers|handshake|execution|tool|command|call|generation|upstream|inference|query|stream|pool|server|hit|i/o|io|api|model|idle|task|job|client|function|backend) time-?out\b",
            r"\btime-?out ?(?:error|exception|expired)\b",
            r"\bdeadline(?: has| was)? ?(?:exceeded|elapsed|expired|passed|has elapsed)\b",
            r"\b(?:exceeded|reached|hit|after|due to|because of) (?:the |its |a )?(?:\S{1,16} )?(?:time limit|timeout|deadline|time-out)\b",
            r"\btook too long\b",
            r"\b(?:idle|inactive) (?:for )?too long\b",
            r"\b(?:did not|didn't|no) (?:respond|response|reply|answer|complete|finish)(?:ed)? (?:in time|within|after \d)",
            r"\btime limit (?:exceeded|reached)",
            r"\baborted due to timeout\b",
            r"\bexpired before\b~(?:response|complet)",
        ])
        .not(&["**Check configured timeout:** The default is 60000ms"])
        .example("The request timed out."),
    // A server that gave up waiting says that the request was aborted.
    rule("timeout.aborted_by_server", Timeout)
        .decisive()
        .status(&[408, 504, 524])
        .text(&[r"\b(?:aborted|cancell?ed|terminated|stopped)\b"])
        .example("Request was aborted"),
    rule("timeout.wsa", Timeout)
        .decisive()
        .text(&[r"\bwinerror 10060\b", r"\bwsaetimedout\b"])
        .example("[WinError 10060] A connection attempt failed"),
    rule("timeout.code", Timeout)
        .code(&[
            "TimeExhausted",
            "checkout_timeout",
            "pool_timeout",
            "recv_timeout",
            "connect_timeout",
            "read_timeout",
            "AirflowTaskTimeout",
            "ReadTimeoutError",
            "TimeLimitExceeded",
            "SoftTimeLimitExceeded",
            "ExecutionTimeout",
            "TaskTimeout",
            "TimeoutRejectedException",
            "TimeoutCancellationException",
            "FUNCTION_TIMEOUT",
            "RequestTimeoutError",
            "operation_timeout",
            "execution_timeout",
            "response_timeout",
            "connect_timeout",
            "read_timeout",
            "OpenTimeout",
            "ConnectionTimeoutException",
            "WAIT_TIMEOUT",
            "command_timeout",

            "TooSlowError",
            "TimeoutExceeded",
            "RequestTimeout",
            "OperationTimedOut",
            "ReadTimeoutException",
            "HttpRequestTimeout",
            "timeout_error",
            "TimeoutError",
            "TimeoutException",
            "request_timeout",
            "gateway_timeout",
            "deadline_exceeded",
            "DEADLINE_EXCEEDED",
            "APITimeoutError",
            "APIConnectionTimeoutError",
            "timeout",
            "timed_out",
            "upstream_timeout",
            "model_timeout",
            "inference_timeout",
            "tool_timeout",
            "idle_timeout",
            "RequestTimeoutException",
            "ConnectTimeoutError",
            "ReadTimeoutError",
        ])
        .not(&["e2b.exceptions.TimeoutException: The sandbox was not found"])
        .example(r#"{"error":{"type":"timeout_error","message":"no"}}"#),
    rule("timeout.general", Timeout)
        .class()
        .text(&[
            r"\bwaited too long\b",
            r"\bwall ?time (?:limit )?(?:was |has been |is )?(?:exceeded|reached)\b",
            r"\bfailed to get (?:a )?response (?:after|within) (?:a |the )?(?:\S{1,10} )?(?:period|time|timeout)\b",
            r"\btime limit \(\S{1,10}\) exceeded\b",
            r"\b(?:hard|soft) time limit\b~\bexceeded\b",
            r"\bwithin the timeout (?:window|period|limit|interval)\b",
            r"\b(?:is|was|were|are) not (?:\S{1,12} ){1,4}after \d{1,6} ?(?:s|sec|seconds|minutes)\b",
            r"\b(?:inactivity|idle|handshake|session|socket|connection|statement|command|worker|task|job|function|script) timeout (?:at|after|reached|expired|exceeded|encountered)\b",
            r"\btimeout value of \S{1,20} exceeded\b",
            r"\bno bytes passed in the last\b",
            r"\bharakiri\b",
            r"\btimeout, pid\b",
            r"\b(?:wall[- ]clock|cpu) (?:time|duration)(?: \S{1,6})?(?: limit)? (?:was |has been |is )?(?:reached|exceeded)\b",
            r"\bmax(?:imum)? (?:duration|run ?time|execution time|running time) (?:was |has been |is )?(?:reached|exceeded)\b",
            r"\btimeout (?:starting|connecting|reading|writing|sending|receiving|fetching|loading|creating|acquiring|getting|opening|establishing|running|executing|calling|processing|joining|launching|obtaining|resolving)\b",
            r"\bdeadline (?:of \S{1,12} )?(?:was |has |is )?(?:passed|missed|expired|hit|elapsed|reached)\b",
            r"\btook too long\b",
            r"\bgave up (?:after|on)\b~\b(?:seconds|minutes|ms|s|without (?:an? )?(?:answer|response|reply))\b",

            r"\bwithin (?:a )?(?:normal|reasonable|expected|allotted|allowed) (?:duration|time|period)\b",

            r"\b(?:operation|request|call|read|write|connect|query|wait|run|task|job|turn|step|generation|response|tool|command|it) (?:\S{1,14} ){0,2}exceed(?:ed|s) (?:\S{1,12} ){0,3}\d{1,7} ?(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hours?)\b",
            r"\bwall[- ]?clock\b~\b(?:limit|exceeded|hit|passed|over)\b",
            r"\bstuck (?:for|since) \S{0,6}\d",
            r"\bmax(?:imum)? wait(?:ing)?\b",
            r"\bfor (?:over |more than |at least )?\d{1,6} ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b[^a-z]{1,3}(?:killing|aborting|terminating|giving up|stopping|restarting)\b",

            r"\b(?:gave up|giving up|stopped) waiting\b",
            r"\bwaiting for\b~\b(?:after|for) \d{1,6} ?(?:ms|s|sec|seconds|minutes|min)\b",
            r"\bexceed(?:ed|s|ing) (?:its |the |their |a |an |of |time |run |allotted |allowed |maximum |max |limit |runtime |configured |default ){1,6}\d{1,7}[- ]?(?:ms|s|secs?|seconds?|mins?|minutes?|hours?|h)\b",
            r"\bafter waiting\b",
            r"\btimedout\b",

            r"\b(?:not|never|n't|failed to|failure to|unable to|could not|cannot|nothing) (?:\S{1,14} ){0,2}(?:start|started|starting|respond|responded|responding|complete|completed|finish|finished|ready|become|answer|answered|connect|connected|reply|return|returned|received|acknowledge|establish|established|available|healthy|happen|happened)\b(?:(?: \S{1,20}){0,2}? (?:within|in time|after \d)| in \d)",
            r"\b(?:due to|because of|on|by) (?:the |a |an )?(?:\S{1,30} ){0,4}time-?out\b",
            r"\block wait timeout\b",
            r"\bmax(?:imum)? (?:execution|run|wait|processing|call|session) ?(?:time|duration)\b",
            r"\b(?:error|failed|reason|err|exception|critical|fatal|aborted|killed)\b[^.]{0,40}\btime-?out\b",
            r"\bran out of time\b",
            r"\btime (?:is|was|has) (?:up|expired|elapsed|exhausted|run out)\b|\btime (?:expired|budget exceeded)\b",
            r"\b(?:wait|waiting)(?: for)? \S{1,30}(?: \S{1,20}){0,4} timed\b",
            r"\b(?:no|without) (?:response|reply|answer|output|progress|activity|heartbeat) (?:from \S{1,60} )?(?:for|in|after|within) (?:\S{1,8} )?\d",
            r"\bexpired before (?:it |the |being )?(?:\S{1,20} )?(?:finish|complet|respon|process|could)",
            r"\btaking too long\b",
            r"\btakes too long\b",
            r"\btime limit of\b",
            r"\breason: :timeout\b",
            r"\bwatchdog\b~\b(?:timeout|fired)\b",
            r"\bkilled after \d{1,6} ?(?:s|sec|seconds|minutes|ms)\b",
            r"\bgave up (?:waiting )?after \d",
            r"\b(?:response|header|first byte|server|upstream) (?:read |wait )?time(?:d)? ?-?out\b",
        ])
        .example("The worker gave up after 30 attempts of waiting"),
    connection("timeout.awaiting", Timeout)
        .text(&[
            r"\b(?:nothing|no (?:output|response|activity|data|progress|events?|bytes|tokens|updates?|messages?)|silent|silence|idle|inactive|unresponsive|stalled|hung) (?:received )?(?:for|since|in the last) (?:the last |more than |over |about |at least )?\d{1,6} ?(?:s|sec|secs|seconds?|m|min|mins|minutes?|ms|milliseconds?)\b",r"\btimeout (?:awaiting|waiting on|while awaiting)\b", r"\bno recent network activity\b"])
        .example("Timeout awaiting 'response' for 30000ms"),
];

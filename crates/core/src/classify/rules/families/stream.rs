//! The response had begun and then broke off.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{NetworkTransient, StreamInterrupted};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("stream.cut", StreamInterrupted)
        .text(&[
            r"\bdid not receive (?:a |the )?(?:done|final|complet|success|terminat)",
            r"\b(?:answer|response|message|generation|output) (?:was |has been |got )?(?:stopped|ended|broke off|cut) (?:early|midway|unexpectedly|abruptly|before)",
            r"\bpremature(?:ly)? (?:close|end|closed|ended|eof|terminated)",
            r"\bclosed (?:the )?connection without sending (?:the )?complete\b",
            r"\bincomplete (?:chunked read|read|chunk|message body|response|body|stream)\b",
            r"\bincompleteread\b",
            r"\bconnection broken\b",
            r"\b(?:response|payload|body|message|answer|output|stream|reply|transmission) (?:payload |body )?(?:is |was |ended |got )?(?:not completed?|incomplete|truncated|cut off|cut short|interrupted|broken off|unexpectedly (?:closed|ended|terminated))",
            r"\bnot enough data to satisfy\b",
            r"\b(?:mid-?(?:response|stream|generation|message|turn|sentence|reply|answer|flight)|in the middle of (?:a |the )?(?:response|stream|generation))\b",
            r"\btransfer closed with\b",
            r"\bpartial (?:response|content|message|answer|output)\b~(?:received|only|lost|recover)",
            r"\bbefore (?:the )?(?:stream|response|completion|generation|answer) (?:was |is |had )?(?:completed?|finished|ended|done)",
            r"\bended (?:the response )?without (?:a |the |any |sending )?(?:\S{1,20} )?(?:finish|terminat|done|completion|message_stop|final|stop|end)",
            r"\b(?:without|missing|no|never (?:received|sent)) (?:a |the )?(?:finish_reason|message_stop|\[done\]|response\.completed|terminal event|finish reason|stop reason|terminator)",
            r"\bchunked[- ]encoding\b",
            r"\b(?:illegal|invalid) chunk\b",
            r"\binvalid chunk (?:length|size|header)",
            r"\bunexpected (?:end|eof|close|closure|termination) (?:of|in|during|while|on|at) (?:the )?(?:stream|response|body|chunk|data|transmission|sse|event)",
        ])
        .not(&["Unexpected end of JSON input"])
        .example("peer closed connection without sending complete message body (incomplete chunked read)"),
    rule("stream.silent", StreamInterrupted)
        .decisive()
        .text(&[
            r"\bstream(?:ing)?\b~\b(?:idle|stall(?:ed)?|inactiv\w{1,5}|hung|no (?:data|chunks?|events?|tokens?))\b",
            r"\b(?:idle|stalled|inactive) (?:sse |response |event )?(?:stream|timeout (?:waiting for|on) (?:sse|stream|chunk|event))",
            r"\bidle timeout waiting for sse\b",
            r"\bno (?:data|chunks?|events?|tokens?|bytes) (?:was |were )?received (?:for|in|within|after) \d",
            r"\b(?:chunk|body|between bytes|stream read|streaming) time(?:d )?-?out\b",
        ])
        .example("API Error: Stream idle timeout - partial response received"),
    // Wrappers: what follows them is the cause.
    rule("stream.wrapper", StreamInterrupted)
        .hint()
        .on(Surface::Network, NetworkTransient)
        .text(&[
            r"\bstream (?:was |has been |got |unexpectedly )?(?:closed|ended|terminated|aborted|interrupted|disconnected|cut|reset|broken|dropped|lost|failed|error)\b",
            r"\b(?:error|failed|failure|interrupted|lost|disconnected) (?:while |during |in |reading )(?:the )?(?:streaming|stream|sse)\b",
            r"\bstreaming (?:error|failed|interrupted|response failed)\b",
            r"\bstream_?(?:error|interrupted|closed)\b",
        ])
        .not(&["stream disconnected before completion: Rate limit reached for gpt-5"])
        .example("The stream was disconnected."),
];

//! The response had begun and then broke off.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{NetworkTransient, StreamInterrupted};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("stream.cut", StreamInterrupted)
        .text(&[
            r"\b(?:stream|body|chunk|response|sse|trailer)\b~\bunexpected (?:eof|end of)\b",

            r"\bdid not receive (?:a |the )?(?:done|final|complet|success|terminat)",
            r"\b(?:answer|response|message|generation|output) (?:was |has been |got )?(?:stopped|ended|broke off|cut) (?:early|midway|unexpectedly|abruptly|before)",
            r"\bpremature(?:ly)? (?:close|end|closed|ended|eof|terminated)",
            r"\bclosed (?:the )?connection without sending (?:the )?complete\b",
            r"\bincomplete (?:chunked read|read|chunk|message body|response|body|stream)\b",
            r"\bincompleteread\b",
            r"\bconnection broken(?:[:.,;)'\x22]|$)",
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
    rule("stream.cut_midway", StreamInterrupted)
        .on(Surface::Network, NetworkTransient)
        .decisive()
        .text(&[
            r"\b(?:closed|ended|lost|dropped|reset|died|disconnected|broke off) before (?:the |its |a )?(?:final|last|terminal|closing|end|stop|done) (?:chunk|event|token|message|frame|marker|block)\b",

            r"\bhttp2 error: stream error\b",
            r"\berror: terminated$",
            r"\bearly eof\b|\bindex-pack failed\b",
            r"\b(?:sse|stream|event ?source|event stream|streaming)(?: \S{1,12})? (?:connection )?(?:was |has been |got )?(?:lost|dropped|severed|broken|died)\b",
            r"\b(?:lost|closed|dropped|broke|died|ended|cut|disconnected|reset|stopped|aborted) after (?:receiving )?\d{1,9} (?:events?|chunks?|tokens?|bytes|messages|deltas|characters|frames)\b",
            r"\b(?:got|received|read) (?:only )?\d{1,12} (?:of|out of) \d{1,12} (?:expected )?bytes\b|\bexpected \d{1,12} bytes\b~\b(?:got|received|but)\b",
        ])
        .not(&["timed out after 5 tokens", "received 0 of 0 tests"])
        .example("SSE connection lost after 34 events"),
    rule("stream.silent", StreamInterrupted)
        .decisive()
        .text(&[
            r"\btimed out after \d{1,9} milliseconds with [1-9]\d{0,12} (?:out of \S{1,12} )?bytes received",
            r"\b(?:went|fell|gone) (?:silent|quiet)\b",
            r"\bstopped (?:arriving|streaming|sending)\b",

            r"\bstream(?:ing)?\b~\b(?:idle|stall(?:ed)?|inactiv\w{1,5}|hung|no (?:data|chunks?|events?|tokens?))\b",
            r"\b(?:idle|stalled|inactive) (?:sse |response |event )?(?:streams?\b|timeout (?:waiting for|on) (?:sse|stream|chunk|event))",
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
            // All that `fetch` of Node says of a body that broke off.
            r"\bterminated$",
        ])
        .not(&["stream disconnected before completion: Rate limit reached for gpt-5"])
        .example("The stream was disconnected."),
    rule("stream.code", StreamInterrupted)
        .on(Surface::Network, NetworkTransient)
        .code(&[
            "BrokenResourceError",
            "ClosedResourceError",
            "EndOfStream",
            "EndOfStreamError",
            "EndOfStreamException",
            "IncompleteBody",
            "IncompleteResponse",
            "UnexpectedEof",
            "StreamClosedError",
            "StreamError",
            "StreamInterrupted",
            "stream_disconnected",
            "HttpIOException",
            "ResponseEnded",
            "ConnectionClosedError",
            "ConnectionClosed",
            "IncompleteRead",
            "ResetStream",
            "ERR_HTTP2_STREAM_CANCEL",
        ])
        .class()
        .example("anyio.BrokenResourceError"),
    rule("stream.general", StreamInterrupted)
        .class()
        .on(Surface::Network, NetworkTransient)
        .text(&[
            r"\bwrong chunk size\b",
            r"\bmalformed chunk\b",
            r"\bchunk-size must be\b",
            r"\bstill expecting more data\b",
            r"\b(?:stream|response|connection) (?:\S{1,12} )?stopped unexpectedly\b",
            r"\bresponse (?:was |has been |got )?(?:closed|terminated|ended) (?:before|early|unexpectedly|prematurely)\b",
            r"\btruncated response\b",
            r"\bno data received on (?:the )?stream\b",
            r"\berror (?:while )?reading (?:from )?(?:the )?(?:response body|stream|response stream|sse)\b",
            r"\b& read (?:from )?(?:the )?(?:response )?stream\b",
            r"\bcontent[- ]length mismatch\b",
            r"\b(?:chunk|stream|event|body) (?:read|write|decode)\w{0,3} (?:failed|error|aborted)\b",

            r"\b(?:stream|sse|connection|feed|socket|subscription) (?:\S{1,14} ){0,2}(?:dropped|died|broke|cut|lost|ended|stopped|vanished) (?:after|before|while|mid|during|at|in)\b",
            r"\b(?:reply|answer|response|output|message|generation|text) (?:was |got |is |has been )?(?:cut|broken|interrupted|lost|truncated|stopped)\b",
            r"\bkeepalive ping timeout\b",
            r"\bended before (?:a |the |any )?(?:terminal|final|last|done|stop|finish|completion)\b",

            r"\b(?:stopped|ceased|quit) (?:arriving|responding|sending|streaming|midway|mid-)",
            r"\bbytes (?:missing|remaining to read|short)\b",
            r"\bend of response with\b",
            r"\bchunked (?:transfer )?(?:encoding|coding|body|read|message)\b",
            r"\bchunk coded message body\b",
            r"\b(?:response|answer|output|message|reply|stream)\b~\bmay be (?:incomplete|truncated|cut)\b",
            r"\bunexpected (?:disconnect|disconnection|end of stream)\b",
            r"\bearly eof\b",
            r"\bsideband packet\b",
            r"\bmore bytes expected\b",
            r"\bexpected \d{1,12} (?:more )?bytes\b",
            r"\bgot (?:only )?\d{1,12} (?:out )?of \d{1,12} bytes\b",
            r"\bcontent-length\b~\b(?:mismatch|does not match|received|but)\b",
            r"\b(?:stream|response|generation|answer|output|turn|message) (?:was |has been |got |is )?(?:truncated|cut)\b",
            r"\bbefore (?:a |the |any )?(?:message_stop|response\.completed|(?:final|terminal|done|stop|finish) (?:event|chunk|message|token|marker|response|frame|reason|signal))\b",
            r"\bclosed before (?:the )?(?:response|stream|message|answer|body|completion)(?: was| is| had)? (?:complete|finish|fully|end|done)",
            r"\bbroke off\b",
            r"\bwas not closed cleanly\b",
            r"\b(?:lost|dropped|closed|reset|disconnected|interrupted) (?:while|during|when|mid) ?-?(?:reading|receiving|streaming|the (?:response|stream|transfer|download|body)|response|stream|transfer)\b",
            r"\btimed out after \d{1,9} milliseconds with [1-9]\d{0,12} (?:out of \S{1,12} )?bytes received",
            r"\bconnection (?:prematurely )?closed during response\b",
        ])
        .code(&[
            "_DataLoss",
        ])
        .example("The answer broke off"),
    rule("stream.while_reading", StreamInterrupted)
        .text(&[
            r"\b(?:closed|reset|lost|dropped|aborted|terminated|broken|cut) (?:in (?:the )?)?mid(?:dle of)?[- ]?(?:the |a |an )?(?:stream|response|answer|reply|transfer|generation|message|download)\b",r"\bclosed while (?:receiving|streaming|downloading|transferring) (?:the )?(?:data|body|response|content|stream)\b"])
        .example("ClientException: Connection closed while receiving data"),
    // Every dialect has an event that ends an answer; it did not come.
    rule("stream.no_end", StreamInterrupted)
        .text(&[
            r"\bunterminated (?:sse )?(?:event|stream|message|response)\b",
            r"\b(?:message_stop|message_end|finish_reason|response\.completed|done event|stop event|final event|end event|terminal event) (?:was |were |is )?(?:not|never) (?:received|seen|sent|emitted)\b",
            r"\b(?:never|not) (?:received|saw|got|seen) (?:a |an |the |any )?(?:message_stop|finish_reason|response\.completed|done|stop|final|end|terminal)(?: event| marker| signal| chunk)\b",
            r"\bwithout (?:a |an |any |the |its )?(?:explicit |terminal |final |closing |proper )?(?:finish_reason|finish event|finish reason|message_stop|stop event|terminal event|end event|done event|completion event|end marker)\b",
            r"\bstream (?:was |is |has been |got )?(?:closed|terminated|dropped|ended) by (?:the |a )?(?:server|remote|upstream|provider|peer|host|proxy|gateway|backend)\b",
        ])
        .example("Z.AI SSE stream ended with an unterminated event"),
];

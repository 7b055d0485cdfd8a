//! The other side failed in itself, without a better cause.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{ServerError, Unknown};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("server.words", ServerError)
        .class()
        .text(&[
            // With a colon it would only be around what follows.
            r"\berror occurred (?:while|when|during) processing (?:your |the |this )?request(?:\.|$| \()",
            r"\bprediction (?:interrupted|failed)\b",
            r"\bserver encountered\b",
            r"\binternal failure\b",
            r"\bsystem error (?:has |was )?(?:occurr?ed|happened)\b",
            r"\bupstream (?:had an |has an )?(?:issue|problem)\b",
            r"\bresponse status code does not indicate success: 5\d\d",
            r"\binternal (?:server )?error\b",
            r"\bbad gateway\b",
            r"\bservice (?:is )?(?:currently |temporarily )?unavailable\b",
            r"\bserver (?:had|experienced|encountered) an (?:error|unexpected)\b",
            r"\bsystem encountered an unexpected error\b",
            r"\bno healthy upstream\b",
            r"\btemporarily unavailable\b",
            r"\bserver (?:is )?(?:currently )?(?:unavailable|down|error)\b",
            r"\binvalid response (?:was )?(?:received )?from (?:an |the )?upstream\b",
            r"\b(?:we're|we are) (?:currently )?(?:experiencing|having)\b",
            r"\b(?:unhandled|uncaught) (?:server )?exception in\b",
            r"\binference (?:error|failed|failure)\b",
            r"\bmodel (?:error|failed to (?:generate|respond|produce))\b",
            r"\bgeneration failed\b",
            r"\bcuda (?:error|out of memory)\b",
            r"\bbackend (?:error|failure|failed|unavailable)\b",
            r"\bprovider (?:failed|is down)\b",
        ])
        .example("The server had an error processing your request."),
    // The other side's program failed on our request; it is the other side all the same.
    rule("server.processing", ServerError)
        .decisive()
        .text(&[
            r"\bbackend fetch failed\b|\bguru meditation\b",
            r"\bhttp error 50\d\.\d",
            r"\beither the server is overloaded or there is an error in the application\b",
            r"\breturned an (?:invalid or incomplete|incomplete or invalid) response\b",
            r"\btoo many 50\d error responses\b",
            r"\bproxyerror[^a-z0-9]{1,4}(?:500|502|503)\b",
            r"\bservice (?:is )?(?:down|unavailable|offline|closed) (?:for|due to|during) (?:\S{1,12} )?(?:maintenance|upgrade)\b",
        ])
        .example("Error 503 Backend fetch failed"),
    // The hosted thing is known to be sick; the request may be called bad all the same.
    rule("server.unhealthy", ServerError)
        .text(&[
            r"\b(?:degraded|unhealthy|broken|faulted|errored) (?:function|deployment|endpoint|instance|replica|service|backend|worker|node|container|provider|upstream)s?\b",
            r"\b(?:function|deployment|endpoint|instance|replica|service|backend|worker|node|provider|upstream)s?\b(?: \S{1,60})? (?:is|are|was|were|marked|became|currently|reported|reports) (?:as |currently |now )?(?:degraded|unhealthy|not healthy|faulted|crashed|in (?:a |an )?(?:failed|error|errored|degraded|unhealthy|bad|faulted) state)\b",
        ])
        .example("The deployment llama-8b is in a failed state"),
    rule("server.code", ServerError)
        .hint()
        .code(&[
            "fatal_error",
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
    rule("server.general", ServerError)
        .hint()
        .text(&[
            r"\berror was encountered while running the model\b",
            r"\bunhandled exception on (?:the )?server\b",
            r"\bcould not find a good candidate\b",
            r"\b(?:apis?|servers?|services?|site|platform|backend|gateway|provider|endpoint|systems?|proxy|upstream|cluster|openai|anthropic|claude|gemini|chatgpt|copilot|openrouter) (?:is|are|was|were|appears? to be|seems? to be|may be|might be) (?:currently |temporarily |completely |all )?(?:down|offline|not working|unavailable)\b",
            r"\b(?:on|at|from) (?:the |its |their )?(?:provider|server|upstream|vendor|service|api|backend|openai|anthropic|google|microsoft)(?:'s)? (?:side|end)\b",
            r"\b(?:didn't|did not|doesn't|does not) work (?:on|at) (?:our|the)\b",
            r"\bfailed to (?:stream|produce) (?:a |the |an |your |any )?(?:completion|chat completion|response|answer|reply)\b",


            r"\berror (?:has )?occurred (?:on|in|at) (?:the |our )?(?:server|service|backend|provider)\b",
            r"\b5xx (?:from|error|response|status)",

            r"\bcould not be reached by (?:our|the)\b",
            r"\bllama_decode (?:returned|failed)|\bllama_decode: failed to decode\b",
            r"\b& (?:create|start|run) (?:a |the |your )?(?:prediction|inference|completion|generation)\b",

            r"\b(?:scheduled|planned|emergency|ongoing|routine) maintenance\b",
            r"\bmaintenance (?:mode|window|in progress|break)\b",
            r"\b(?:an )?unexpected (?:error|condition|failure) (?:occurred|was encountered|during|happened|on)\b",
            r"\bupstream (?:request |server |service |provider )?(?:failed|error|unavailable|failure|returned)\b",
            r"\bsomething went wrong\b",
            r"\berror occurred (?:while|when|during) process",
            r"\berror (?:in|while|during|when) (?:processing|generating|handling|serving|executing|inference)\b",
            r"\bexception (?:has )?occurred (?:while|when|during) (?:processing|handling|executing|serving)\b",
            r"\bworker crashed on the server\b",

            r"\b(?:our|the) (?:backend|servers?|systems?|service|infrastructure)\b~\b(?:broke|failed|error|problem|issue|down|trouble|crashed)\b",
            r"\bin our (?:backend|servers?|systems?|service|infrastructure)\b",
            r"\bunexpected (?:\S{1,14} )?(?:in|from) (?:the |our )?(?:\S{1,14} )?(?:server|service|worker|backend|upstream|engine)\b",

            r"\bon our (?:side|end|servers?)\b",
            r"\b(?:we|server|service|system|api|provider|upstream|backend) (?:have |has |is |are |were |was )?(?:encountered|experienced|experiencing|having|hit|hitting) (?:a |an |some )?(?:\S{1,14} ){0,2}(?:problems?|issues?|errors?|difficulties|outage|failure|exception)\b",
            r"\btechnical (?:difficulties|issues?|problems?)\b",
            r"\b(?:service|provider|server|api|partial|major|ongoing) (?:outage|disruption|incident|degradation)\b",
            r"\bserver[- ]side (?:error|issue|problem|failure)\b",
            r"\b(?:server|service|upstream|backend|gateway|provider) (?:failure|fault|problem|malfunction|failed|unavailable|is down|was down|went down|is not responding)\b",
            r"\b(?:server|service|backend|gateway) error\b",
            r"\binternal (?:exception|fault|problem|issue|processing error|service error)\b",
            r"\bunexpected server\b",
            r"\bunhandled (?:error|exception) (?:in|on|at|from) (?:the )?(?:server|service|provider|upstream|backend)\b",
            r"\bnot available at (?:the|this) moment\b",
            r"\bcurrently (?:unavailable|down|offline)\b",
        ])
        .example("Sorry, there was a problem on our side"),
    // That something failed, and nothing about what: in a text without a status nobody can tell whose fault it was.
    rule("server.vague", ServerError)
        .hint()
        .on(Surface::Text, Unknown)
        .text(&[
            r"\bprovider returned error\b",
            r"\bgeneral error\b",
            r"\b(?:provider|upstream) error\b",
            r"\b(?:terminated|stopped|ended|failed|aborted) (?:due to|because of|with|on|after) (?:an |a |some )?(?:\S{1,14} )?error\b",
            r"\b& generate\b",
            r"\bgone wrong\b",
            r"\b(?:unknown|unexpected|unspecified|general|fatal) error occurred\b",
            r"\b(?:hiccup|glitch|snag|blip)s?\b",
            r"\b(?:something|anything) (?:broke|failed|crashed|exploded|blew up|is wrong)\b",
            r"\b(?:ran|running) into (?:a|an|some) (?:\S{1,14} )?(?:problem|issue|error|trouble|difficulties)\b",
            r"\bapplication error\b",
            r"\b(?:unexpected|unknown|unhandled) error has (?:occurred|happened)\b",
            r"\bwent wrong\b",
            r"\bassertion error\b",
            r"\b& (?:process|handle|complete|serve|execute|perform) (?:the |your |this )?(?:request|prompt|prediction|query|operation|completion)\b",
            r"\berror processing\b",
            r"\brequest (?:has )?failed\b",
            r"\bcompletion (?:error|failed)\b",
            r"\bapi error\b",
            r"\bplease try again later\b",
            r"\brpc error\b",
            r"\bserver returned (?:an )?error\b",
            r"\b(?:see|check) the server(?:'s)? (?:console|logs?) for\b",
            r"\b(?:please )?contact (?:us|support|the administrator|our support)\b~\b(?:persist|request id|continues)\b",
            r"\bsorry (?:about that|for the)\b",
            r"\b(?:provider|upstream|backend|server|service|gateway) (?:has )?(?:returned|responded with|reported|sent|threw|raised) (?:an? )?(?:\S{1,12} )?(?:errors?|failure|exception|5xx)\b",
        ])
        .example("The request failed"),
    // A program's own last words that name nothing.
    rule("server.untold", Unknown)
        .hint()
        .code(&["NullPointerException", "NullReferenceException", "AggregateException"])
        .text(&[
            r"\bexception of type '[\w.]{1,60}' was thrown\b",
            r"\b(?:execution|runtime|completion|invocationtarget)exception: null\b",
            r"\bunhandled errors in a taskgroup \(",
            r"\bunknown application error\b",
            r"\bone or more errors occurred\b",
            r"\bunspecified error\b",
            r"\bsee error message for details\b",
        ])
        .example("HRESULT: 0x80004005 (E_FAIL): Unspecified error"),
    rule("server.console", ServerError)
        .decisive()
        .text(&[
            r"\b(?:completion|generation|request|prediction|inference) aborted\. (?:please )?check the server\b",
        ])
        .example("Chat completion aborted. Please check the server console."),
    rule("server.threw", ServerError)
        .class()
        .text(&[
            r"\bworker threw exception\b",
            r"\bapplication failed to respond\b",
            r"\b& (?:process|handle|complete|fulfil\w?) (?:your |the |this )?request (?:at this time|right now|at the moment)\b",
            r"\bdatabase error\b",
        ])
        .example("Error 1101 Worker threw exception"),
];

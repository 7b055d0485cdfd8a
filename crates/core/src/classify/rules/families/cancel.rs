//! The caller or a user stopped it.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{Cancelled, StreamInterrupted};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("cancel.by_user", Cancelled)
        .decisive()
        .text(&[
            r"\b(?:user|you) (?:has |have )?(?:clicked|hit|tapped|chose|selected|pressed) (?:on )?(?:the )?['\x22`]?(?:stop|cancel|abort|esc|escape|no|deny|reject|ctrl)\b",
            r"\binterrupted\W{1,5}what should \w{2,12} do instead\b",
            r"\baborted by signal\b",
            r"\b(?:caller|client|user) (?:gave up|went away|hung up|left)\b",

            r"\bdisconnected (?:from|by|on|at) the (?:client|caller|user)\b",
            r"\binterrupted! ?(?:exiting|quitting|stopping|bye|shutting)\b|\b(?:interrupt|sigint|ctrl-c)(?: received| caught)?[,:.!] ?(?:exiting|quitting|stopping|shutting down)\b",
            r"\bsignal 2 received\b|\breceived signal (?:2|sigint|interrupt)\b",
            r"\bcaught (?:an )?(?:interrupt|sigint|ctrl)",
            r"\b(?:prompt|dialog|confirmation) was (?:dismissed|declined|rejected)\b",

            r"\b(?:cancell?ed|aborted|interrupted|stopped|terminated|rejected|denied|killed) (?:at|on|upon|per) (?:the )?(?:user|caller|client|operator)\b",
            r"\b(?:user|caller|operator|human|you) (?:has |have )?(?:chose|chosen|decided|asked|opted|wanted|requested|said) (?:to |that |us to |it to |the \S{1,14} to )?(?:stop|cancel|abort|not to|no\b)",
            r"\b(?:cancell?ed|aborted|interrupted|stopped|rejected|declined|dismissed|ended) by (?:you|me|yourself|hand)\b",
            r"\byou (?:cancell?ed|aborted|interrupted|stopped|declined|rejected)\b",
            r"\bstop(?:ped)? (?:requested|button)\b",
            r"\b(?:keyboard|user)[- ]interrupt\b",
            r"\binterrupt (?:received|signal|from (?:the )?(?:keyboard|user|console|terminal))\b",
            r"\breceived (?:an )?interrupt\b",
            r"\bcancellation (?:was |has been )?requested\b",
            r"\b(?:the|a) task was cancell?ed\b~\bcaller\b",
            r"\bnot approved by\b|\bpermission to use (?:this )?tool (?:was )?(?:denied|rejected)\b",

            r"\b(?:cancell?ed|aborted|interrupted|stopped|terminated|rejected|denied|killed|ended|halted|dismissed|declined) by (?:the |a )?(?:user|caller|client|operator|human|parent)\b",
            r"\b(?:user|caller|operator) (?:has )?(?:cancell?ed|aborted|interrupted|stopped|rejected|declined|denied|requested (?:cancel|abort|stop)|pressed)\b",
            r"\bclient closed request\b",
            r"\bclient (?:has )?(?:disconnected|went away|gone away|closed the connection|cancell?ed)\b",
            r"\buser (?:cancellation|abort|interrupt|interruption|doesn't want to proceed)\b",
        ])
        .code(&["APIUserAbortError", "UserAbortError", "AbortedByUser", "UserCancelledError"])
        .example("request canceled by user"),
    rule("cancel.words", Cancelled)
        .text(&[
            r"\bhitting ctrl[-+ ]c again\b",
            r"\bctrl[-+ ]c (?:was )?(?:pressed|received|detected|caught)\b",
            r"\bfinished: aborted\b",
            r"^aborted by \S{1,30} \S{1,30}$",
            r"\buser requested (?:an? |the )?(?:cancell?ation|abort|stop|interrupt)",

            r"\b(?:because|as|after|since|when) you (?:pressed|hit|clicked|cancell?ed|stopped|interrupted|aborted|declined|rejected|closed)\b",

            r"\bsignal: interrupt\b",

            "^(?:error: )?(?:cancell?ed|aborted!?|interrupted)[.!]?$",
            r"\b(?:operation|request|task|call|query|run|job|turn|execution|generation|response|tool|stream|message|action|process|command|context|conversation|completion|it|fetch|promise|rpc|query)\b(?: ['\x22`]?[\w.-]{1,40}['\x22`]?)? (?:was |has been |is |were |got )?(?:cancell?ed|aborted|interrupted)\b",
            r"\bcontext cancell?ed\b",
            r"\boperation (?:was )?(?:cancell?ed|aborted)\b",
            r"\b(?:request|operation|user)[- ]abort(?:ed)?\b",
            r"\binterrupted by (?:signal|ctrl|sigint)\b",
            r"\b(?:pressed|hit|received|got|caught|by|via|with|user) ctrl[-+ ]c\b",
            r"\bsigint\b",
            r"\babort signal (?:was |has )?(?:received|fired|triggered|raised|been)\b|\bsignal is aborted\b",
        ])
        .code(&[
            "RequestCanceled",
            "OperationCanceledError",
            "OperationCanceled",
            "TaskCanceled",
            "UserCanceled",
            "request_canceled",
            "user_canceled",
            "run_canceled",
            "OperationCancelledError",
            "OperationCancelled",
            "TaskCancelled",
            "UserCancelled",
            "UserAbort",
            "Cancellation",
            "JobCancellationException",
            "RequestCancelled",
            "USER_CANCELLED",
            "AbortException",
            "RequestAbortedError",
            "UND_ERR_ABORTED",
            "aborted_by_user",
            "user_interrupt",
            "interrupted",
            "APIUserAbortError",
            "InterruptedError",
            "GeneratorExit",

            "AbortError",
            "CancelledError",
            "CanceledError",
            "cancelled",
            "canceled",
            "CANCELLED",
            "request_cancelled",
            "request_aborted",
            "user_cancelled",
            "user_abort",
            "APIUserAbortError",
            "TaskCanceledException",
            "OperationCanceledException",
            "CancellationException",
            "ERR_CANCELED",
            "ECANCELED",
            "ABORT_ERR",
            "KeyboardInterrupt",
            "client_disconnected",
            "run_cancelled",
            "turn_aborted",
        ])
        .not(&["The operation was aborted due to timeout", "Connection aborted."])
        .example("This operation was aborted"),
    // Once an answer has begun, a connection that is aborted by nobody in particular is a cut.
    rule("cancel.aborted", Cancelled)
        .on(Surface::Stream, StreamInterrupted)
        .decisive()
        .text(&[
            r"\b(?:axioserror|error): (?:\S{1,20} ){0,3}aborted[.!]?$",
            r"\b(?:stream|response|body|socket) (?:was |has been |is |got )?aborted\b",
        ])
        .not(&["The operation was aborted due to timeout", "Error: The operation was aborted by the user"])
        .example("AxiosError: stream has been aborted"),
    rule("cancel.general", Cancelled)
        .hint()
        .text(&[
            r"\bat the (?:user|caller|client|operator)'?s? (?:\S{1,12} )?request\b",
            r"\b(?:halted|stopped|ended|aborted|paused) (?:at|on|by|per) (?:the )?(?:user|caller|client|operator|request)\b",
            r"\bcancell?ed\b",
            r"\b(?:aborted|cancell?ed|cancelling|canceling|interrupted) (?:the |this |your |its |current |running |ongoing |in-flight ){0,2}(?:stream|streaming|request|task|generation|run|response|turn|operation|tool|job|call|command|execution|prompt|session|query)\b",
            r"\binterrupted$",
            r"\baborted$",
            r"\buser (?:stopped|quit|exited|closed|left)\b",

            r"^interrupted\b",
            r"\b(?:was|been|were|got|is|being) cancell?ed\b",
            r"\bcancell?ed(?:[.!]|$)",
            r"\bcancelling\b~\b(?:request|task|run|job)\b",
            r"\bcancell?ed by\b",
            r"\baborting (?:on|due to|because) (?:user|request|signal|interrupt)\b",
            r"\bexecution (?:was )?stopped\b",
            r"\bshut ?down requested\b",
            r"\bcancellation(?:error|exception)\b",
        ])
        .example("The upload got cancelled"),
    // The one who waited left.
    rule("cancel.waiting", Cancelled)
        .decisive()
        .text(&[r"\bwaiting for [^.;:]{1,60}: context cancell?ed\b", r"\bclient connection closed before (?:the )?server finished\b"])
        .example("timed out waiting for llama runner to start: context canceled"),
    rule("cancel.engine", Cancelled)
        .code(&["TaskRevokedError", "CancelledRun", "CancelledTask", "CancelledByUser", "JobCancelled", "RunCancelled"])
        .text(&[
            r"\bcancell?ing (?:since|because|as a newer|statement due to user|due to (?:a |the )?(?:user|newer|conflict))\b",
            r"\binterrupted, (?:exiting|stopping|shutting|quitting|aborting)\b",
        ])
        .not(&["ERROR: canceling statement due to statement timeout"])
        .example("celery.exceptions.TaskRevokedError: revoked"),
    // Programs that fetch say so of every end, and name its cause beside it.
    rule("cancel.transfer", Cancelled)
        .class()
        .on(Surface::Stream, StreamInterrupted)
        .text(&[r"\b(?:transfer|download|upload) (?:was |has been |is |got )?aborted\b"])
        .not(&["Download aborted. cause: Connection refused"])
        .example("The download was aborted"),
    // What shells and runtimes print of SIGINT.
    rule("cancel.interrupt", Cancelled)
        .decisive()
        .text(&[
            r"\bmake(?:\[\d{1,2}\])?: \*{3} \[[^\]]{1,80}\] interrupt\b",
            r"\bin [`'][^`']{1,60}': interrupt\b",
            r"\bline \d{1,6}: \d{1,8} interrupt\b",
            r"^interrupt(?:: 2)?$",
        ])
        .example("make: *** [Makefile:9: serve] Interrupt"),
];

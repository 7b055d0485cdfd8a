//! The caller or a user stopped it.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::Cancelled;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("cancel.by_user", Cancelled)
        .decisive()
        .text(&[
            r"\b(?:cancell?ed|aborted|interrupted|stopped|terminated|rejected|denied|killed|ended|halted|dismissed|declined) by (?:the |a )?(?:user|caller|client|operator|human|parent)\b",
            r"\b(?:user|caller|operator) (?:has )?(?:cancell?ed|aborted|interrupted|stopped|rejected|declined|denied|requested (?:cancel|abort|stop)|pressed)\b",
            r"\bclient closed request\b",
            r"\bclient (?:has )?(?:disconnected|went away|gone away|closed the connection|cancell?ed)\b",
            r"\buser (?:cancellation|abort|interrupt|interruption|doesn't want to proceed)\b",
        ])
        .example("request canceled by user"),
    rule("cancel.words", Cancelled)
        .text(&[
            "^(?:error: )?(?:cancell?ed|aborted!?|interrupted)[.!]?$",
            r"\b(?:operation|request|task|call|query|run|job|turn|execution|generation|response|tool|stream|message|action|process|command|context|conversation|completion|it|fetch|promise|rpc|query)\b(?: ['\x22`]?[\w.-]{1,40}['\x22`]?)? (?:was |has been |is |were |got )?(?:cancell?ed|aborted|interrupted)\b",
            r"\bcontext cancell?ed\b",
            r"\boperation (?:was )?(?:cancell?ed|aborted)\b",
            r"\b(?:request|operation|user)[- ]abort(?:ed)?\b",
            r"\binterrupted by (?:signal|ctrl|sigint)\b",
            r"\bctrl[-+]c\b",
            r"\bsigint\b",
            r"\babort signal\b|\bsignal is aborted\b",
        ])
        .code(&[
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
];

//! Kubernetes, Docker, Slurm, systemd and the clouds below them: places, jobs and what became of them.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, Cancelled, InvalidRequest, Overloaded, ProcessDied, QuotaExhausted, ServerError, StateLost, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("cluster.no_room", Overloaded)
        .decisive()
        .code(&[
            "InsufficientInstanceCapacity",
            "InsufficientHostCapacity",
            "InsufficientCapacity",
            "InsufficientCapacityException",
            "ZONE_RESOURCE_POOL_EXHAUSTED",
            "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
            "SkuNotAvailable",
            "AllocationFailed",
            "ZonalAllocationFailed",
            "OverconstrainedAllocationRequest",
            "FailedScheduling",
            "Unschedulable",
            "OutOfCapacity",
            "CapacityNotAvailable",
        ])
        .text(&[
            r"\b0/\d{1,5} nodes are available\b",
            r"\binsufficient (?:nvidia\.com/gpu|gpu|ephemeral-storage)\b",
            r"\b(?:do not|don't|does not|doesn't) have (?:enough|sufficient) (?:resources|capacity|gpus?|nodes)\b",
            r"\bdoes not have enough resources available to fulfill\b",
            r"\b(?:worker|thread|connection|instance|gpu|resource|session|browser|process) pool (?:is |was )?(?:exhausted|full|empty|saturated|depleted)\b",
            r"\brequested node configuration is not available\b",
            r"\b(?:endpoint|deployment|replica|instance|machine|server|service) is (?:paused|scaled to zero|initializing|provisioning|pending|resuming|being created)\b",
        ])
        .example("0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
    rule("cluster.resource_quota", QuotaExhausted)
        .code(&["VcpuLimitExceeded", "InstanceLimitExceeded", "MaxSpotInstanceCountExceeded", "QuotaExceededError"])
        .text(&[
            r"\bexceeded quota: \S",
            r"\b(?:vcpu|core|instance|gpu|node) (?:limit|quota)\b~\b(?:exceed|reached|bucket)",
            r"\bqos\w{3,24}limit\b|\bassocgrp\w{3,24}(?:limit|minutes)\b",
        ])
        .example("pods \"w-1\" is forbidden: exceeded quota: compute-resources"),
    rule("cluster.time_limit", Timeout)
        .decisive()
        .text(&[
            r"\bdue to time limit\b",
            r"\bactive longer than (?:the )?specified deadline\b",
            r"\b(?:job|run|step|task|build|pipeline|execution|script|function|process|command)\b~\b(?:exceeded|reached|hit|passed|over) (?:the |its |a )?(?:\S{1,12} )?(?:maximum )?(?:execution time|time limit|run ?time limit|wall ?time|walltime|timeout|deadline|duration)\b",
            r"\b(?:execution|run|job|step|build|it|command|script) took (?:too long|longer than)\b",
            r"\b(?:start|stop|reload|startup|liveness|readiness)(?:-\w{1,12})? (?:operation |probe |job )?(?:timed out|timeout)\b",
            r"\bfailed with result ['\x22`]?timeout\b",
        ])
        .not(&["slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2024-01-01T00:00:00 ***"])
        .example("*** JOB 12345 ON node01 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***"),
    rule("cluster.preempted", ProcessDied)
        .text(&[
            r"\b(?:job|node|instance|pod|vm|machine|task|worker) (?:\S{1,40} )?(?:was |has been |is being |got )?(?:preempted|reclaimed|evicted|drained)\b",
            r"\bdue to (?:preemption|node fail(?:ure)?)\b",
            r"\bspot (?:instance )?interruption\b",
        ])
        .example("The instance was preempted"),
    rule("cluster.gone", StateLost)
        .decisive()
        .text(&[
            r"\berror from server \(notfound\)",
            r"\berror from server \((?:gone|expired)\)|\bresourceversion\b~\btoo old\b|\btoo old resource version\b",
            r"\binvalid job id specified\b",
            r"\bunit \S{1,60} (?:could not be found|not loaded|not found)\b",
        ])
        .example(r#"Error from server (NotFound): pods "w-1" not found"#),
    rule("cluster.refused", AuthError)
        .text(&[r"\berror from server \((?:forbidden|unauthorized)\)", r"\byou must be logged in to the server\b"])
        .example("error: You must be logged in to the server (Unauthorized)"),
    rule("cluster.invalid", InvalidRequest)
        .text(&[
            r"\berror from server \((?:badrequest|invalid|alreadyexists|conflict|methodnotallowed)\)",
            r"\bresource mapping not found\b|\bno matches for kind\b|\berror validating data\b",
        ])
        .example(r#"no matches for kind "Foo" in version "v1""#),
    rule("cluster.server", ServerError)
        .class()
        .text(&[
            r"\berror from server \((?:internalerror|serviceunavailable|servertimeout)\)",
            r"\b(?:the )?server (?:is )?currently unable to handle the request\b",
            r"\bfailed calling webhook\b|\betcdserver: ",
        ])
        .example("Error from server (ServiceUnavailable): the server is currently unable to handle the request"),
    rule("cluster.cancelled", Cancelled)
        .text(&[r"\bscancel\b|\bjob \d{1,12} (?:on \S{1,40} )?cancell?ed at\b", r"\bcancell?ed by @\S"])
        .not(&["*** JOB 12345 ON node01 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***"])
        .example("slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2024-01-01T00:00:00 ***"),
    rule("cluster.port_taken", ProcessDied)
        .class()
        .code(&["EADDRINUSE"])
        .text(&[
            r"\baddress already in use\b",
            r"\bport (?:\d{1,5} )?(?:is )?already (?:in use|allocated|taken|bound)\b",
            r"\bonly one usage of each socket address\b",
        ])
        .example("bind: address already in use"),
];

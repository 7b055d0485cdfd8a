//! Stores and queues behind a gateway: Redis, PostgreSQL, MySQL, SQLite, MongoDB, Kafka, Elasticsearch.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    AuthError, InvalidRequest, NetworkTransient, Overloaded, ProcessDied, ServerError, StateLost, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("database.too_many_clients", Overloaded)
        .decisive()
        .text(&[
            r"\boom command not allowed\b",
            r"\btoo many (?:clients|connections)\b~\balready\b",
            r"\b(?:error|err|mysql|08004|1040)\b[^a-z]{0,12}too many connections\b",
            r"\bremaining connection slots are reserved\b",
            r"\bmax(?:imum)?(?: number of)? clients reached\b",
            r"\bmax_?user_?connections\b~\bexceeded\b|\bmore than 'max_user_connections'",
            r"\bis loading the dataset in memory\b",
            r"\bconnection pool (?:is |was )?(?:exhausted|full|at its limit)\b",
            r"\b(?:queuepool|pool) limit of (?:size )?\d",
            r"\bthe database system is (?:starting up|in recovery mode|not yet accepting connections)\b",
            r"\bbusykey\b|\bbusygroup\b|\btryagain\b~\bslot\b|\bclusterdown\b",
        ])
        .example("FATAL: sorry, too many clients already"),
    rule("database.rejected", Overloaded)
        .code(&[
            "RejectedExecutionException",
            "EsRejectedExecutionException",
            "RejectedExecutionError",
            "CircuitBreakingException",
            "BulkheadFullException",
            "BulkheadRejectedException",
            "BrokenCircuitException",
            "CircuitBreakerOpenException",
            "CallNotPermittedException",
            "CircuitBreakerError",
            "es_rejected_execution_exception",
            "circuit_breaking_exception",
            "ServerSelectionBusy",
            "ServiceBusyException",
            "NOT_ENOUGH_REPLICAS",
        ])
        .text(&[
            r"\bbulkhead\b~\b(?:full|does not permit|rejected)\b",
            r"\bcircuit(?: ?breaker)?\b~\b(?:is (?:now )?open|is half[- ]open|has opened|does not permit|currently open|tripped)\b",
            r"\b(?:thread ?pool|executor)\b~\b(?:rejected|queue is full|exhausted|saturated)\b",
        ])
        .example("Bulkhead 'llm' is full and does not permit further calls"),
    rule("database.timeout", Timeout)
        .text(&[
            r"\bdropped from queue after \d",
            r"\bstatement timeout\b",
            r"\block wait timeout\b",
            r"\bserver ?selection ?timeout",
            r"\b(?:query|statement|transaction) (?:was )?(?:timed out|took too long|exceeded its time)\b",
        ])
        .example("connection not available and request was dropped from queue after 2000ms"),
    connection("database.lost", NetworkTransient)
        .class()
        .code(&["AutoReconnect", "NotMasterError", "NotPrimaryError", "MongoNetworkError", "BrokerTransportFailure"])
        .text(&[
            r"\b(?:mysql|postgres|database|redis|mongo|sql) server has gone away\b",
            r"\blost connection to (?:the )?(?:mysql|postgres|database|redis|mongo|sql|server|broker)\b",
            r"\bserver closed the connection unexpectedly\b",
            r"\bbroker transport failure\b|\ball broker connections are down\b",
            r"\bcould not connect to server\b",
            r"\bis the server running (?:on|locally)\b",
        ])
        .example("MySQL server has gone away"),
    rule("database.state", StateLost)
        .code(&[
            "UNKNOWN_TOPIC_OR_PARTITION",
            "REBALANCE_IN_PROGRESS",
            "FENCED_INSTANCE_ID",
            "OFFSET_OUT_OF_RANGE",
            "NOGROUP",
            "UNKNOWN_PRODUCER_ID",
        ])
        .text(&[r"\bprepared statement\b~\bdoes not exist\b", r"\bnogroup no such\b", r"\bcursor id \d{1,20} not found\b"])
        .example("UNKNOWN_TOPIC_OR_PARTITION"),
    rule("database.auth", AuthError)
        .text(&[
            r"\bpassword authentication failed for user\b",
            r"\baccess denied for user\b",
            r"\bno pg_hba\.conf entry\b",
            r"\brole \S{1,40} does not exist\b",
            r"\bpermission denied for (?:table|schema|database|relation|sequence|function)\b",
            r"\bscram\b~\b(?:failed|invalid)\b",
        ])
        .example("no pg_hba.conf entry for host 10.0.0.3"),
    rule("database.request", InvalidRequest)
        .class()
        .text(&[
            r"\b(?:relation|column|table|index)\b \S{1,60} (?:does not exist|already exists)\b",
            r"\bno such (?:table|column)\b",
            r"\bduplicate (?:key|entry)\b",
            r"\b(?:unique|foreign key|check|not null) constraint\b",
            r"\berror in your sql syntax\b|\bsyntax error at or near\b",
            r"\bwrongtype operation\b|\bwrong number of arguments for\b",
        ])
        .example("no such table: sessions"),
    rule("database.server", ServerError)
        .class()
        .text(&[
            r"\b(?:database|disk image) is (?:malformed|corrupt\w{0,2})\b",
            r"\bdeadlock (?:detected|found)\b",
            r"\bcould not serialize access\b",
            r"\bmisconf redis\b|\breadonly you can't write\b",
            r"\b(?:all|no) shards? failed\b|\bno shard available\b",
        ])
        .example("ERROR: deadlock detected"),
    rule("database.lock_held", ProcessDied)
        .hint()
        .text(&[r"\block file\b~\b(?:already exists|is held|in use)\b", r"\banother (?:process|instance) (?:is|has)\b~\b(?:lock|running|using)\b"])
        .example("Lock file postmaster.pid already exists"),
];

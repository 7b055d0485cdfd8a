//! Projects and classification rules as they are written.

use steadfast_core::FailureKind;

use crate::read::{Word, section};
use crate::value::{Count, SecretRef, Usd, Wait};

/// Requests per minute.
pub(crate) type PerMinute = Count<1, { u32::MAX }>;

section! {
    /// What owns policies, budgets and sessions.
    RawProject {
        /// The policy of its requests. Default `"default"`.
        policy: String,
        /// The keys that clients of this project send: `[{ env = "NAME" }, { file = "path" }]`. Default: none,
        /// so the project is named by a header.
        keys: Vec<SecretRef>,
        /// Keys by their SHA-256, in hexadecimal: the control API hands keys out and keeps only this of them.
        /// Default: none.
        key_hashes: Vec<String>,
        /// How much money it may spend. Default: no limit.
        spend: RawSpend,
        /// How fast it may go. Default: no limit.
        rate: RawRate,
        /// The models its requests fall back to, in order, in place of each model's own chain. Default: each
        /// model's own.
        chain: Vec<String>,
        /// Whether its requests are recovered. Default `true`; `false` is a plain proxy.
        enabled: bool,
    }
}

section! {
    /// Money: reserved before a call, settled after it.
    RawSpend {
        /// Dollars per day (UTC). Default: no limit.
        usd_per_day: Usd,
        /// Dollars per session. Default: no limit.
        usd_per_session: Usd,
    }
}

section! {
    /// Requests, refused before the call when there are too many: never more in any sixty seconds.
    RawRate {
        /// Requests per minute of the whole project. Default: no limit.
        requests_per_minute: PerMinute,
        /// Requests per minute of each agent in it: by the agent's name where the client sends one, else by
        /// its session. Default: no limit.
        per_agent: PerMinute,
    }
}

section! {
    /// Your own classification of a failure. Every condition given must hold.
    RawRule {
        /// What to look for. Needed.
        r#match: RawMatch,
        /// The kind of failure it is. Needed.
        kind: Word<FailureKind>,
        /// How long to wait, where the failing side does not say. Default: what the evidence says.
        retry_after: Wait,
        /// The name that logs and `explain` show. Default: its place in the list.
        name: String,
    }
}

section! {
    /// Conditions on a failure. At least one.
    RawMatch {
        /// The HTTP status.
        status: Count<100, 599>,
        /// Text that the body contains, whatever its case.
        body: String,
        /// A regular expression over the body.
        pattern: String,
        /// The provider's error code or type.
        code: String,
        /// A response header that is there: `"name"`, or `"name: text"` for one that contains the text.
        header: String,
        /// The provider's name, such as `"openai"`.
        provider: String,
    }
}

//! Counts of rows beside the sums of the roll-ups: they agree, or something is wrong.

use serde::Serialize;

use crate::Store;
use crate::db::{Database, args};
use crate::error::Error;
use crate::rollup::{DAY, Dimension, HOUR};

/// What the rows say and what the roll-ups say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Rows.
    pub requests: u64,
    /// The same by the roll-ups.
    pub requests_summed: u64,
    /// Failed attempts, by their rows.
    pub failures: u64,
    /// The same by the roll-ups.
    pub failures_summed: u64,
    /// Events, by the rows of requests.
    pub events: u64,
    /// The same by the roll-ups.
    pub events_summed: u64,
    /// Requests by the roll-ups of hours; the others are of days.
    pub requests_by_hour: u64,
    /// Failed attempts by the roll-ups of their kinds.
    pub failures_by_kind: u64,
    /// Requests of sessions, by their rows.
    pub in_sessions: u64,
    /// The same by the sums of the sessions.
    pub in_sessions_summed: u64,
    /// Failed attempts of sessions, by the rows of requests.
    pub session_failures: u64,
    /// The same by the sums of the sessions.
    pub session_failures_summed: u64,
}

impl Audit {
    /// Says whether rows and sums tell the same.
    pub const fn agrees(&self) -> bool {
        self.requests == self.requests_summed
            && self.requests == self.requests_by_hour
            && self.failures == self.failures_summed
            && self.failures == self.failures_by_kind
            && self.events == self.events_summed
            && self.in_sessions == self.in_sessions_summed
            && self.session_failures == self.session_failures_summed
    }
}

impl Store {
    /// Counts everything; reads the whole store.
    pub async fn audit(&self) -> Result<Audit, Error> {
        self.run(move |db| async move { audit(&db).await }).await
    }
}

async fn audit(db: &Database) -> Result<Audit, Error> {
    let rows = "SELECT count(*) AS requests, CAST(sum(events) AS BIGINT) AS events, count(session) AS in_sessions, \
                CAST(sum(CASE WHEN session IS NOT NULL THEN failures END) AS BIGINT) AS session_failures FROM requests";
    let sums = "SELECT CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(failures) AS BIGINT) AS failures, \
                CAST(sum(events) AS BIGINT) AS events FROM rollups WHERE project = '' AND grain = $1 AND dimension = $2";
    let sessions =
        "SELECT CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(failures) AS BIGINT) AS failures FROM sessions";
    let one = async |sql: &'static str, values| {
        let row = db.row(sql, values).await?;
        row.ok_or_else(|| Error::Unreadable("a count returned no row".to_owned()))
    };
    let rows = one(rows, args![]).await?;
    let failures = one("SELECT count(*) AS failures FROM failures", args![]).await?;
    let days = one(sums, args![DAY, Dimension::Total.as_str()]).await?;
    let hours = one(sums, args![HOUR, Dimension::Total.as_str()]).await?;
    let kinds = one(sums, args![DAY, Dimension::Kind.as_str()]).await?;
    let sessions = one(sessions, args![]).await?;
    Ok(Audit {
        requests: rows.count("requests")?,
        requests_summed: days.count("requests")?,
        failures: failures.count("failures")?,
        failures_summed: days.count("failures")?,
        events: rows.count("events")?,
        events_summed: days.count("events")?,
        requests_by_hour: hours.count("requests")?,
        failures_by_kind: kinds.count("failures")?,
        in_sessions: rows.count("in_sessions")?,
        in_sessions_summed: sessions.count("requests")?,
        session_failures: rows.count("session_failures")?,
        session_failures_summed: sessions.count("failures")?,
    })
}

//! Counts of rows beside the sums of the roll-ups: they agree, or something is wrong.

use serde::Serialize;

use crate::Store;
use crate::db::{Database, args};
use crate::error::Error;
use crate::rollup::DAY;

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
}

impl Store {
    /// Counts everything; reads the whole store.
    pub async fn audit(&self) -> Result<Audit, Error> {
        self.run(move |db| async move { audit(&db).await }).await
    }
}

async fn audit(db: &Database) -> Result<Audit, Error> {
    let rows = "SELECT count(*) AS requests, CAST(sum(events) AS BIGINT) AS events FROM requests";
    let failures = "SELECT count(*) AS failures FROM failures";
    let sums = "SELECT CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(failures) AS BIGINT) AS failures, \
                CAST(sum(events) AS BIGINT) AS events FROM rollups WHERE project = '' AND grain = $1 AND dimension = 'total'";
    let nothing = || Error::Unreadable("a count returned no row".to_owned());
    let rows = db.row(rows, args![]).await?.ok_or_else(nothing)?;
    let failures = db.row(failures, args![]).await?.ok_or_else(nothing)?;
    let sums = db.row(sums, args![DAY]).await?.ok_or_else(nothing)?;
    Ok(Audit {
        requests: rows.count("requests")?,
        requests_summed: sums.count("requests")?,
        failures: failures.count("failures")?,
        failures_summed: sums.count("failures")?,
        events: rows.count("events")?,
        events_summed: sums.count("events")?,
    })
}

//! What happens in the background: old rows go, their space is given back, lost requests are said to be lost.
//!
//! Everything is done in small pieces with a transaction each, so that events and people wait for none of it.

use crate::db::{Database, Durability, args};
use crate::error::Error;
use crate::id;
use crate::rollup::DAY;

/// Rows that one transaction deletes.
const PIECE: usize = 1_000;

/// Pages of a SQLite file that one step gives back to the disk.
const PAGES: usize = 500;

/// A request of which nobody told the end for this long never had one: the process that knew it is gone.
const LOST_AFTER: i64 = DAY;

/// Deletes sums of days that are not kept.
const OLD_SUMS: &str = "DELETE FROM rollups WHERE (project, grain, bucket, dimension, value) IN \
                        (SELECT project, grain, bucket, dimension, value FROM rollups WHERE bucket < $1 LIMIT $2)";

/// Does one piece of what is due; says whether there is more.
pub(crate) async fn step(db: &Database, now: i64, keep_ms: i64) -> Result<bool, Error> {
    let mut tx = db.begin(Durability::Process).await?;
    // Whole days, so that a bar and the list behind it go together.
    let cutoff = now - keep_ms;
    let cutoff = cutoff - cutoff.rem_euclid(DAY);
    let old = args![id::first_at(cutoff), PIECE];
    let mut touched = 0;
    // The sums first: what is left of an old day is not counted any more.
    touched += tx.execute(OLD_SUMS, args![cutoff, PIECE]).await?;
    for sql in [
        "DELETE FROM failures WHERE id IN (SELECT id FROM failures WHERE id < $1 ORDER BY id LIMIT $2)",
        "DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE id < $1 ORDER BY id LIMIT $2)",
        "DELETE FROM alerts WHERE id IN (SELECT id FROM alerts WHERE id < $1 AND resolved IS NOT NULL ORDER BY id LIMIT $2)",
        "DELETE FROM breaker_changes WHERE id IN (SELECT id FROM breaker_changes WHERE id < $1 ORDER BY id LIMIT $2)",
    ] {
        touched += tx.execute(sql, old.clone()).await?;
    }
    for sql in [
        "DELETE FROM sessions WHERE (session, project) IN (SELECT session, project FROM sessions WHERE last < $1 LIMIT $2)",
        "DELETE FROM escalations WHERE (session, time, state) IN \
         (SELECT session, time, state FROM escalations WHERE time < $1 LIMIT $2)",
    ] {
        touched += tx.execute(sql, args![cutoff, PIECE]).await?;
    }
    // Their number does not matter to the next piece: there are as many as there were starts.
    tx.execute("DELETE FROM writers WHERE time < $1", args![cutoff.min(now - DAY)]).await?;
    let sql = "UPDATE requests SET outcome = 'lost' WHERE id IN \
               (SELECT id FROM requests WHERE outcome IS NULL AND id < $1 LIMIT $2)";
    touched += tx.execute(sql, args![id::first_at(now - LOST_AFTER), PIECE]).await?;
    tx.commit().await?;
    Ok(touched > 0)
}

/// Gives a piece of what was deleted back to the disk; says whether there is more. PostgreSQL does that by itself.
pub(crate) async fn give_back(db: &Database) -> Result<bool, Error> {
    let Database::Sqlite(file) = db else { return Ok(false) };
    file.give_back(PAGES).await
}

/// How much room everything takes.
pub(crate) async fn size_bytes(db: &Database) -> Result<u64, Error> {
    let sql = match db {
        Database::Sqlite(_) => "SELECT page_count * page_size AS size FROM pragma_page_count(), pragma_page_size()",
        Database::Postgres(_) => "SELECT pg_database_size(current_database()) AS size",
    };
    let size: i64 = db.row(sql, args![]).await?.map_or(Ok(0), |row| row.get("size"))?;
    Ok(u64::try_from(size).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;

    #[tokio::test]
    async fn old_sums_are_found_without_reading_all_of_them() {
        let db = Database::connect(&Address::sqlite(":memory:")).await.unwrap();
        crate::migrate::migrate(&db).await.unwrap();
        let plan = db.rows(format!("EXPLAIN QUERY PLAN {OLD_SUMS}"), args![0_i64, PIECE]).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail").unwrap()).collect();
        assert!(plan.iter().any(|step| step.contains("INDEX rollups_bucket (bucket<?)")), "{plan:?}");
        assert!(!plan.iter().any(|step| step.starts_with("SCAN rollups")), "{plan:?}");
    }
}

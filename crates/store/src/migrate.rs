//! Brings a database to the schema this program knows.
//!
//! Migrations are numbered files in `migrations/`, applied in one transaction each. One file serves
//! both databases; where their words differ it holds a placeholder:
//!
//! | placeholder | SQLite | PostgreSQL |
//! |---|---|---|
//! | `{id}` | `INTEGER PRIMARY KEY` | `BIGINT PRIMARY KEY` |
//! | `{clustered}` | `WITHOUT ROWID` | |

use crate::db::{Database, Durability, Tx, args};
use crate::error::Error;

/// Every migration, in order; the first is version 1.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_tasks.sql"),
    include_str!("../migrations/0003_writers.sql"),
    include_str!("../migrations/0004_old_sums.sql"),
    include_str!("../migrations/0005_next_tasks.sql"),
];

/// Any number that nobody else locks.
const POSTGRES_LOCK: i64 = 0x5743_a4f0;

/// Whether nothing is missing: asked first, for that takes no longer than any question.
pub(crate) async fn is_done(db: &Database) -> Result<bool, Error> {
    let table = match db {
        Database::Sqlite(_) => "SELECT 1 AS n FROM sqlite_master WHERE name = 'steadfast_schema'",
        Database::Postgres(_) => "SELECT CAST(1 AS BIGINT) AS n WHERE to_regclass('steadfast_schema') IS NOT NULL",
    };
    if db.row(table, args![]).await?.is_none() {
        return Ok(false);
    }
    let version = db.row("SELECT version FROM steadfast_schema", args![]).await?;
    Ok(version.map(|row| row.get::<i64>("version")).transpose()? == Some(MIGRATIONS.len() as i64))
}

/// Applies what is missing. Several processes may do this at once: one does it, the others wait.
pub(crate) async fn migrate(db: &Database) -> Result<(), Error> {
    let known = MIGRATIONS.len() as i64;
    loop {
        let mut tx = db.begin(Durability::Power).await?;
        let version = version(&mut tx).await?;
        if version == known {
            return Ok(());
        }
        let migration = usize::try_from(version).ok().and_then(|version| MIGRATIONS.get(version));
        let Some(migration) = migration else {
            return Err(Error::Refused(format!(
                "it has schema {version}, written by a newer Steadfast; this one knows up to {known}: \
                 install the newer one, or name another store"
            )));
        };
        let text = migration
            .replace("{id}", tx.pick("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY"))
            .replace("{clustered}", tx.pick("WITHOUT ROWID", ""));
        tx.script(text).await?;
        tx.execute("UPDATE steadfast_schema SET version = $1", args![version + 1]).await?;
        tx.commit().await?;
    }
}

/// The version of the schema; 0 in an empty database.
async fn version(tx: &mut Tx<'_>) -> Result<i64, Error> {
    if let Tx::Postgres(_) = tx {
        tx.execute("SELECT pg_advisory_xact_lock($1)", args![POSTGRES_LOCK]).await?;
    }
    tx.execute("CREATE TABLE IF NOT EXISTS steadfast_schema (version BIGINT NOT NULL)", args![]).await?;
    match tx.row("SELECT version FROM steadfast_schema", args![]).await? {
        Some(row) => row.get("version"),
        None => {
            tx.execute("INSERT INTO steadfast_schema (version) VALUES (0)", args![]).await?;
            Ok(0)
        }
    }
}

//! The connection: one way to say SQL to SQLite and to PostgreSQL.
//!
//! Both read `$1`, so one text serves both; [`Value`] and [`Row`] are all that stands between.
//! SQLite has one connection that writes, handed from one transaction to the next in the order in
//! which they asked, and a few that read. PostgreSQL has a pool.
//!
//! Rules that keep one text working on both: numbers are `BIGINT`, moments are milliseconds since the
//! epoch, JSON is `TEXT`, sums are `CAST(sum(x) AS BIGINT)`, no booleans, no arrays.

mod value;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
mod tests;

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Postgres, Sqlite, Transaction};
use tokio::sync::{Mutex, MutexGuard};

pub(crate) use self::value::{Row, Value, args};
use crate::address::Address;
use crate::error::Error;

/// Connections that read a SQLite file: pages of the dashboard are few at a time.
const READERS_MAX: u32 = 4;

/// Connections to PostgreSQL, of one replica.
const POOL_MAX: u32 = 8;

/// How long a statement waits for another process that holds the file, or for a connection to come free.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a transaction survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of this process: for events. After a power failure the last moments may be missing.
    Process,
    /// A power failure: for everything that is acknowledged.
    Power,
}

/// A database that has been reached.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(File),
    Postgres(PgPool),
}

/// A SQLite file, or a database in memory.
#[derive(Debug)]
pub(crate) struct File {
    writer: Mutex<Writer>,
    /// None for a database in memory, which has only the one connection.
    readers: Option<SqlitePool>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    connection: SqliteConnection,
    durability: Durability,
    /// A transaction was dropped without an end.
    is_open: bool,
}

/// A transaction: dropped without [`Tx::commit`] it leaves nothing behind.
pub(crate) enum Tx<'a> {
    Sqlite(MutexGuard<'a, Writer>),
    Postgres(Transaction<'static, Postgres>),
}

impl Database {
    /// Reaches the database, without looking at what is in it.
    pub(crate) async fn connect(address: &Address) -> Result<Self, Error> {
        match address {
            Address::Sqlite { path } => Ok(Self::Sqlite(File::open(path).await?)),
            Address::Postgres { url } => {
                let options = PgPoolOptions::new().max_connections(POOL_MAX).acquire_timeout(PATIENCE);
                Ok(Self::Postgres(options.connect(url).await?))
            }
        }
    }

    /// Starts a transaction that may write; on SQLite it waits for the one before it.
    pub(crate) async fn begin(&self, durability: Durability) -> Result<Tx<'_>, Error> {
        match self {
            Self::Sqlite(file) => {
                let mut writer = file.writer.lock().await;
                writer.begin(durability).await?;
                Ok(Tx::Sqlite(writer))
            }
            Self::Postgres(pool) => Ok(Tx::Postgres(pool.begin().await?)),
        }
    }

    /// Reads.
    pub(crate) async fn rows(&self, sql: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        let sql = AssertSqlSafe(sql.into());
        match self {
            Self::Sqlite(file) => {
                let query = sqlx::query_with::<Sqlite, _>(sql, value::for_sqlite(values)?);
                let rows = match &file.readers {
                    Some(pool) => query.fetch_all(pool).await?,
                    None => query.fetch_all(&mut file.writer.lock().await.connection).await?,
                };
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(pool) => {
                let query = sqlx::query_with::<Postgres, _>(sql, value::for_postgres(values)?);
                Ok(query.fetch_all(pool).await?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Reads the first row.
    pub(crate) async fn row(
        &self,
        sql: impl Into<Cow<'static, str>>,
        values: Vec<Value>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Ends all connections.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(file) => {
                if let Some(readers) = &file.readers {
                    readers.close().await;
                }
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

impl File {
    async fn open(path: &str) -> Result<Self, Error> {
        let in_memory = path == ":memory:";
        if let Some(folder) = Path::new(path).parent().filter(|_| !in_memory) {
            std::fs::create_dir_all(folder)
                .map_err(|error| Error::Away(format!("cannot make the folder `{}`: {error}", folder.display())))?;
        }
        if !in_memory {
            make_private(Path::new(path))
                .map_err(|error| Error::Away(format!("cannot make the file `{path}`: {error}")))?;
        }
        let common = SqliteConnectOptions::new()
            .filename(path)
            .in_memory(in_memory)
            .busy_timeout(PATIENCE)
            .pragma("cache_size", "-16384")
            .pragma("temp_store", "memory")
            .disable_statement_logging();
        let writing = common
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .pragma("journal_size_limit", "67108864");
        let connection = SqliteConnection::connect_with(&writing).await?;
        let writer = Mutex::new(Writer { connection, durability: Durability::Process, is_open: false });
        let pool = SqlitePoolOptions::new().max_connections(READERS_MAX).acquire_timeout(PATIENCE);
        let readers = (!in_memory).then(|| pool.connect_lazy_with(common.read_only(true)));
        Ok(Self { writer, readers })
    }
}

/// Makes the file, where it is not there, for nobody else to read; SQLite makes those beside it alike.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).append(true).open(path).map(drop)
}

impl File {
    /// Gives free pages at the end of the file back to the disk; says whether there are more.
    pub(crate) async fn give_back(&self, pages: usize) -> Result<bool, Error> {
        let mut writer = self.writer.lock().await;
        writer.end_what_was_left().await;
        let free = async |writer: &mut Writer| -> Result<i64, Error> {
            let row = sqlx::query("PRAGMA freelist_count").fetch_one(&mut writer.connection).await?;
            Row::Sqlite(row).get("freelist_count")
        };
        let before = free(&mut writer).await?;
        if before == 0 {
            return Ok(false);
        }
        // Each row it returns is a page that was given back.
        let sql = AssertSqlSafe(format!("PRAGMA incremental_vacuum({pages})"));
        sqlx::query::<Sqlite>(sql).fetch_all(&mut writer.connection).await?;
        let after = free(&mut writer).await?;
        let is_more = after > 0 && after < before;
        if !is_more {
            // The file itself becomes shorter when the log is written back to it.
            sqlx::query::<Sqlite>("PRAGMA wal_checkpoint(PASSIVE)").fetch_all(&mut writer.connection).await?;
        }
        Ok(is_more)
    }
}

impl Writer {
    async fn end_what_was_left(&mut self) {
        if self.is_open {
            self.is_open = false;
            // A full disk has SQLite roll back by itself, and there is nothing left to end. Should it be
            // something else, the next statement says so.
            let _ = self.connection.execute("ROLLBACK").await;
        }
    }

    async fn begin(&mut self, durability: Durability) -> Result<(), Error> {
        self.end_what_was_left().await;
        if self.durability != durability {
            self.connection
                .execute(match durability {
                    Durability::Process => "PRAGMA synchronous = NORMAL",
                    Durability::Power => "PRAGMA synchronous = FULL",
                })
                .await?;
            self.durability = durability;
        }
        // Before it is: whoever gives up waiting for it may leave one behind, and ending none is harmless.
        self.is_open = true;
        self.connection.execute("BEGIN IMMEDIATE").await?;
        Ok(())
    }
}

impl Tx<'_> {
    /// Runs a statement and says how many rows it touched.
    pub(crate) async fn execute(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: Vec<Value>,
    ) -> Result<u64, Error> {
        let sql = AssertSqlSafe(sql.into());
        match self {
            Self::Sqlite(writer) => {
                let query = sqlx::query_with::<Sqlite, _>(sql, value::for_sqlite(values)?);
                Ok(query.execute(&mut writer.connection).await?.rows_affected())
            }
            Self::Postgres(tx) => {
                let query = sqlx::query_with::<Postgres, _>(sql, value::for_postgres(values)?);
                Ok(query.execute(&mut **tx).await?.rows_affected())
            }
        }
    }

    /// Reads, or runs a statement that returns rows.
    pub(crate) async fn rows(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        let sql = AssertSqlSafe(sql.into());
        match self {
            Self::Sqlite(writer) => {
                let query = sqlx::query_with::<Sqlite, _>(sql, value::for_sqlite(values)?);
                Ok(query.fetch_all(&mut writer.connection).await?.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(tx) => {
                let query = sqlx::query_with::<Postgres, _>(sql, value::for_postgres(values)?);
                Ok(query.fetch_all(&mut **tx).await?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Reads the first row.
    pub(crate) async fn row(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: Vec<Value>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Runs several statements without values, as migrations are.
    pub(crate) async fn script(&mut self, sql: String) -> Result<(), Error> {
        let script = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Sqlite(writer) => writer.connection.execute(script).await?.rows_affected(),
            Self::Postgres(tx) => (**tx).execute(script).await?.rows_affected(),
        };
        Ok(())
    }

    /// One text where the two differ.
    pub(crate) const fn pick<'a>(&self, sqlite: &'a str, postgres: &'a str) -> &'a str {
        match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
        }
    }

    /// Makes it last.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        match self {
            Self::Sqlite(mut writer) => {
                // A commit that fails (a full disk, a reader in the way) leaves the transaction open, and
                // the next one rolls it back.
                writer.connection.execute("COMMIT").await?;
                writer.is_open = false;
            }
            Self::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }
}

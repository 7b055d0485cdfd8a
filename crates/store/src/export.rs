//! Export: requests or attempts as CSV, JSON lines or Parquet, a piece at a time.
//!
//! An [`Export`] hands out pieces of the file as they are asked for and holds no more than one of them,
//! whatever the store holds. Newest first; rows that come in meanwhile are not in it.

mod file;
mod table;

use crate::Store;
use crate::db::Value;
use crate::error::Error;
use crate::requests::{Filter, find};

use self::file::File;
pub use self::table::Table;

/// Rows of one piece: a row group of Parquet, so not too few.
const ROWS: usize = 2_000;

/// How the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line of names, then a line each.
    Csv,
    /// An object a line.
    Jsonl,
    /// Columns with types, for DuckDB, pandas and the like.
    Parquet,
}

impl Format {
    /// What the file's name ends with.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }

    /// What HTTP calls it.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Jsonl => "application/jsonl",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Number,
    /// Milliseconds since the epoch; RFC 3339 where there is no type for it.
    Time,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Type,
}

/// A file that is being written.
#[derive(Debug)]
pub struct Export {
    store: Store,
    table: Table,
    filter: Filter,
    file: Option<File>,
    /// Where the next piece begins.
    before: Option<i64>,
}

impl Store {
    /// Starts an export of what fits the filter.
    pub fn export(&self, table: Table, format: Format, filter: Filter) -> Result<Export, Error> {
        let file = File::new(format, table.columns())?;
        Ok(Export { store: self.clone(), table, filter, file: Some(file), before: None })
    }
}

impl Export {
    /// The next piece of the file; none when it is whole. A piece may be empty.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        let (filter, before, table) = (self.filter.clone(), self.before, self.table);
        let step = self.store.run(move |db| async move {
            let (rows, next) = find::step(&db, &filter, before, ROWS, table.read()).await?;
            let rows = rows.iter().map(|row| table.rows(row)).collect::<Result<Vec<_>, Error>>()?;
            Ok((rows.into_iter().flatten().collect::<Vec<Vec<Value>>>(), next))
        });
        let (rows, next) = step.await?;
        file.write(&rows)?;
        if next.is_none() {
            return Ok(Some(file.end()?));
        }
        let piece = file.take();
        self.before = next;
        self.file = Some(file);
        Ok(Some(piece))
    }
}

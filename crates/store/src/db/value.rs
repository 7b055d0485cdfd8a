//! What goes into a statement and what comes out of it, for both databases.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments as _, Decode, Postgres, Row as _, Sqlite, Type};

use crate::error::Error;

/// A value for a `$1`. An absent one has a type too: PostgreSQL asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(Option<i64>),
    Text(Option<String>),
}

/// Values for `$1`, `$2` and so on: `args![session, limit]`.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Value::from($value)),*] };
}
pub(crate) use args;

/// A row of either database.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// What a column can be read as: `i64`, `String`, and options of them.
pub(crate) trait Column:
    for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}

impl Column for i64 {}
impl Column for Option<i64> {}
impl Column for String {}
impl Column for Option<String> {}

impl Row {
    /// Reads a column by its name.
    pub(crate) fn get<T: Column>(&self, column: &str) -> Result<T, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.try_get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    /// Reads a count, which is never negative.
    pub(crate) fn count(&self, column: &str) -> Result<u64, Error> {
        Ok(u64::try_from(self.get::<Option<i64>>(column)?.unwrap_or(0)).unwrap_or(0))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(Some(number.into()))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<Option<u64>> for Value {
    fn from(number: Option<u64>) -> Self {
        Self::Number(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

pub(super) fn for_sqlite(values: Vec<Value>) -> Result<SqliteArguments, Error> {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Number(number) => arguments.add(number),
            Value::Text(text) => arguments.add(text),
        };
        added.map_err(|error| Error::Refused(error.to_string()))?;
    }
    Ok(arguments)
}

pub(super) fn for_postgres(values: Vec<Value>) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    arguments.reserve(values.len(), 16 * values.len());
    for value in values {
        let added = match value {
            Value::Number(number) => arguments.add(number),
            // A text of PostgreSQL cannot hold a zero byte, and one odd name must not cost a batch.
            Value::Text(Some(text)) if text.contains('\0') => arguments.add(text.replace('\0', "\u{fffd}")),
            Value::Text(text) => arguments.add(text),
        };
        added.map_err(|error| Error::Refused(error.to_string()))?;
    }
    Ok(arguments)
}

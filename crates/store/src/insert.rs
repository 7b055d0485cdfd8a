//! Many rows to a statement.

use std::fmt::Write as _;

use crate::db::{Tx, Value};
use crate::error::Error;

/// Rows of one statement: enough that its price is shared, few enough that both databases take the values.
const ROWS_MAX: usize = 32;

/// Rows for a table. What stands before them and after them is the same for any number of rows.
pub(crate) struct Insert {
    table: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
    on_conflict: String,
}

impl Insert {
    pub(crate) fn new(
        table: &'static str,
        columns: &[&'static str],
        rows: impl Iterator<Item = Vec<Value>>,
        on_conflict: &str,
    ) -> Self {
        Self { table, columns: columns.to_vec(), rows: rows.collect(), on_conflict: on_conflict.to_owned() }
    }

    /// Writes the rows, many to a statement; says how many of them are new or changed. Their numbers are powers of two,
    /// so that there are few statements to prepare.
    pub(crate) async fn write(self, tx: &mut Tx<'_>) -> Result<u64, Error> {
        let place = tx.pick("?", "$");
        let mut rows = self.rows.into_iter();
        let mut written = 0;
        while rows.len() > 0 {
            let count = ROWS_MAX.min(1 << rows.len().ilog2());
            let sql = text(self.table, &self.columns, count, &self.on_conflict, place);
            written += tx.execute(sql, rows.by_ref().take(count).flatten().collect()).await?;
        }
        Ok(written)
    }
}

/// The statement. SQLite finds a `$1` by walking through all that have a name, so a thousand of them take a
/// million steps; a bare `?` has none.
fn text(table: &str, columns: &[&str], rows: usize, on_conflict: &str, place: &str) -> String {
    let mut sql = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns.len() {
            sql.push_str(if column == 0 { "" } else { ", " });
            sql.push_str(place);
            if place == "$" {
                let _ = write!(sql, "{}", row * columns.len() + column + 1);
            }
        }
        sql.push(')');
    }
    let _ = write!(sql, " ON CONFLICT {on_conflict}");
    sql
}

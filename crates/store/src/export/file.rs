//! The three formats of a file.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type as Schema;

use super::{Column, Format, Type};
use crate::db::Value;
use crate::error::Error;

/// A file of which pieces are taken while it is written.
pub(super) struct File {
    columns: &'static [Column],
    written: Written,
    writer: Writer,
}

enum Writer {
    Csv(Box<csv::Writer<Written>>),
    Jsonl,
    Parquet(Box<SerializedFileWriter<Written>>),
}

/// What has been written and not taken.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl File {
    pub(super) fn new(format: Format, columns: &'static [Column]) -> Result<Self, Error> {
        let written = Written::default();
        let writer = match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(written.clone());
                writer.write_record(columns.iter().map(|column| column.name)).map_err(broken)?;
                Writer::Csv(Box::new(writer))
            }
            Format::Jsonl => Writer::Jsonl,
            Format::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
                let schema = Arc::new(schema(columns).map_err(broken)?);
                let writer = SerializedFileWriter::new(written.clone(), schema, Arc::new(properties));
                Writer::Parquet(Box::new(writer.map_err(broken)?))
            }
        };
        Ok(Self { columns, written, writer })
    }

    pub(super) fn write(&mut self, rows: &[Vec<Value>]) -> Result<(), Error> {
        match &mut self.writer {
            Writer::Csv(writer) => {
                for row in rows {
                    let cells = self.columns.iter().zip(row).map(|(column, value)| cell(column.kind, value));
                    writer.write_record(cells).map_err(broken)?;
                }
                writer.flush().map_err(broken)
            }
            Writer::Jsonl => {
                for row in rows {
                    let cells = self.columns.iter().zip(row);
                    let object = cells.map(|(column, value)| (column.name.to_owned(), json(column.kind, value)));
                    let line = serde_json::Value::Object(object.collect());
                    writeln!(self.written, "{line}").map_err(broken)?;
                }
                Ok(())
            }
            Writer::Parquet(writer) if !rows.is_empty() => row_group(writer, self.columns, rows).map_err(broken),
            Writer::Parquet(_) => Ok(()),
        }
    }

    /// What was written since the last time.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.written.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the file; the rest of it.
    pub(super) fn end(self) -> Result<Vec<u8>, Error> {
        let Self { written, writer, columns } = self;
        match writer {
            Writer::Csv(mut writer) => writer.flush().map_err(broken)?,
            Writer::Jsonl => {}
            Writer::Parquet(writer) => drop(writer.close().map_err(broken)?),
        }
        Ok(Self { columns, written, writer: Writer::Jsonl }.take())
    }
}

/// Milliseconds as RFC 3339.
fn moment(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|moment| format!("{moment:.3}")).unwrap_or_default()
}

fn cell(kind: Type, value: &Value) -> String {
    match (kind, value) {
        (Type::Time, Value::Number(Some(millis))) => moment(*millis),
        (_, Value::Number(Some(number))) => number.to_string(),
        // A spreadsheet would take it for a formula, and what providers and clients say is not ours to trust.
        (_, Value::Text(Some(text))) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        (_, Value::Text(Some(text))) => text.clone(),
        (_, Value::Number(None) | Value::Text(None)) => String::new(),
    }
}

fn json(kind: Type, value: &Value) -> serde_json::Value {
    match (kind, value) {
        (Type::Time, Value::Number(Some(millis))) => moment(*millis).into(),
        (_, Value::Number(number)) => (*number).into(),
        (_, Value::Text(text)) => text.clone().into(),
    }
}

/// Every column may be empty.
fn schema(columns: &[Column]) -> parquet::errors::Result<Schema> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Type::Number => (Physical::INT64, None),
            Type::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        let field = Schema::primitive_type_builder(column.name, physical).with_logical_type(logical);
        field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<parquet::errors::Result<Vec<_>>>()?;
    Schema::group_type_builder("steadfast").with_fields(fields).build()
}

fn row_group(
    writer: &mut SerializedFileWriter<Written>,
    columns: &[Column],
    rows: &[Vec<Value>],
) -> parquet::errors::Result<()> {
    let mut group = writer.next_row_group()?;
    for (at, column) in columns.iter().enumerate() {
        let Some(mut out) = group.next_column()? else { break };
        match column.kind {
            Type::Text => {
                let values: Vec<Option<ByteArray>> = rows.iter().map(|row| text(&row[at])).collect();
                let (values, levels) = present(values);
                out.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Type::Number | Type::Time => {
                let (values, levels) = present(rows.iter().map(|row| number(&row[at])).collect());
                out.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
        }
        out.close()?;
    }
    group.close()?;
    Ok(())
}

/// The values that are there, and for every row whether it has one.
fn present<T>(values: Vec<Option<T>>) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.into_iter().flatten().collect(), levels)
}

fn text(value: &Value) -> Option<ByteArray> {
    match value {
        Value::Text(text) => text.as_deref().map(|text| text.as_bytes().to_vec().into()),
        Value::Number(_) => None,
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => *number,
        Value::Text(_) => None,
    }
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Unreadable(format!("cannot write the export: {error}"))
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("columns", &self.columns.len()).finish_non_exhaustive()
    }
}

//! Exported files hold what the store holds.

use std::sync::Arc;
use std::time::Duration;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use steadfast_core::kind::FailureKind;
use steadfast_store::export::{Format, Table};
use steadfast_store::{Filter, Store};

use crate::contract::contract;
use crate::story::{NOON, Story};

async fn export(store: &Store, table: Table, format: Format, filter: Filter) -> Vec<u8> {
    let mut export = store.export(table, format, filter).unwrap();
    let mut whole = Vec::new();
    while let Some(piece) = export.next().await.unwrap() {
        whole.extend(piece);
    }
    whole
}

async fn fill(store: &Store) {
    for number in 0..3000 {
        let story = Story::of(&format!("req_{number}"), "acme", NOON + number).attempt("claude");
        let story = story.fails(FailureKind::Timeout, "a \"quoted\", odd\nmessage").attempt("gpt").served();
        store.feed(&Arc::from(story));
    }
    assert!(store.flush(Duration::from_secs(20)).await);
}

contract! {
async fn all_formats_hold_every_row(store: Store) {
    fill(&store).await;
    for (table, rows) in [(Table::Requests, 3000), (Table::Attempts, 6000)] {
        let csv = export(&store, table, Format::Csv, Filter::default()).await;
        let mut reader = csv::Reader::from_reader(&csv[..]);
        let names = reader.headers().unwrap().len();
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), rows);

        let jsonl = export(&store, table, Format::Jsonl, Filter::default()).await;
        let lines: Vec<serde_json::Value> = jsonl
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!((lines.len(), lines[0].as_object().unwrap().len()), (rows, names));
        assert_eq!(lines[0]["request"], "req_2999", "newest first");

        let parquet = export(&store, table, Format::Parquet, Filter::default()).await;
        let reader = SerializedFileReader::new(bytes::Bytes::from(parquet)).unwrap();
        let metadata = reader.metadata().file_metadata();
        assert_eq!((metadata.num_rows() as usize, metadata.schema_descr().num_columns()), (rows, names));
        let first = reader.get_row_iter(None).unwrap().next().unwrap().unwrap().to_string();
        assert!(first.contains("req_2999") && first.contains("acme"), "{first}");
    }
}

async fn moments_are_written_as_people_and_programs_read_them(store: Store) {
    fill(&store).await;
    let filter = Filter { from: Some(NOON), to: Some(NOON + 1), ..Filter::default() };
    let csv = export(&store, Table::Requests, Format::Csv, filter).await;
    let text = String::from_utf8(csv).unwrap();
    assert!(
        text.lines().nth(1).unwrap().starts_with("req_0,2026-11-16T12:00:00.000Z,2026-11-16T12:00:01.200Z,"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2);
}
}

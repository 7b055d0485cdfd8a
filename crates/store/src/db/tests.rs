use sqlx::Executor as _;

use super::*;

/// A file with a table in it, and another connection to it.
async fn file(folder: &steadfast_stage::Folder) -> (Database, SqliteConnection) {
    let path = folder.join("store.db").display().to_string();
    let db = Database::connect(&Address::sqlite(&path)).await.unwrap();
    let mut tx = db.begin(Durability::Power).await.unwrap();
    tx.execute("CREATE TABLE notes (number BIGINT NOT NULL)", args![]).await.unwrap();
    tx.commit().await.unwrap();
    (db, SqliteConnection::connect(&format!("sqlite:{path}")).await.unwrap())
}

#[tokio::test]
async fn a_transaction_whose_beginning_was_given_up_stands_in_nobodys_way() {
    let folder = steadfast_stage::Folder::new();
    let (db, mut other) = file(&folder).await;
    for round in 1..=5_i64 {
        other.execute("BEGIN IMMEDIATE").await.unwrap();
        let given_up = tokio::time::timeout(Duration::from_millis(1), db.begin(Durability::Process)).await;
        assert!(given_up.is_err(), "somebody else holds the file");
        // The one that was given up may begin at any time from here on.
        other.execute("COMMIT").await.unwrap();
        let mut tx = db.begin(Durability::Process).await.unwrap();
        tx.execute("INSERT INTO notes (number) VALUES ($1)", args![round]).await.unwrap();
        tx.commit().await.unwrap();
        let row = db.row("SELECT count(*) AS notes FROM notes", args![]).await.unwrap().unwrap();
        assert_eq!(row.count("notes").unwrap(), u64::try_from(round).unwrap());
    }
}

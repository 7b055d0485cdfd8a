//! A file of tasks: TOML, JSON, JSON lines or CSV.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Map, Value};
use steadfast_supervisor::Task;

/// More than this is a mistake.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The same of tasks.
const TASKS_MAX: usize = 100_000;

/// What a file says.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) tasks: Vec<Task>,
    /// Only those that fail change their model.
    pub(super) partial: bool,
}

/// Reads a file; what a task does not say is as in `usual`.
pub(super) fn read(path: &Path, usual: &Task) -> anyhow::Result<Listed> {
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(FILE_BYTES_MAX).read_to_string(&mut text),
        false => std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text)),
    };
    let name = path.display();
    read.with_context(|| format!("cannot read {name}"))?;
    let kind = path.extension().and_then(|extension| extension.to_str()).unwrap_or("jsonl");
    listed(&text, kind, usual).with_context(|| format!("{name} is no file of tasks"))
}

fn listed(text: &str, kind: &str, usual: &Task) -> anyhow::Result<Listed> {
    let usual = object(serde_json::to_value(usual)?);
    let mut partial = true;
    let mut order = None;
    let rows: Vec<Value> = match kind {
        "toml" => {
            let whole: Value = toml::from_str(text)?;
            (partial, order) = around(&whole);
            rows_of(whole)?
        }
        "json" => {
            let whole: Value = serde_json::from_str(text)?;
            (partial, order) = around(&whole);
            rows_of(whole)?
        }
        "jsonl" => {
            let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
            lines
                .map(|(number, line)| serde_json::from_str(line).with_context(|| format!("line {number}")))
                .collect::<Result<_, _>>()?
        }
        "csv" => csv_rows(text)?,
        other => bail!("`.{other}` is not known; .toml, .json, .jsonl and .csv are"),
    };
    ensure!(rows.len() <= TASKS_MAX, "it holds {} tasks, and {TASKS_MAX} are the most", rows.len());
    let mut tasks = Vec::with_capacity(rows.len());
    for (number, row) in (1..).zip(rows) {
        let mut fields = usual.clone();
        // The flags' label is for the flags' task.
        fields.remove("label");
        fields.extend(order.clone().map(|order| ("chain".to_owned(), order)));
        let row = match row {
            Value::String(task) => Map::from_iter([("task".to_owned(), Value::String(task))]),
            row => object(row),
        };
        if row.contains_key("command") {
            fields.remove("agent");
        }
        if row.contains_key("agent") {
            fields.remove("command");
        }
        if row.contains_key("fallback_order") {
            fields.remove("chain");
        }
        fields.extend(row);
        let task: Task = serde_json::from_value(Value::Object(fields)).with_context(|| format!("task {number}"))?;
        if let Some(problem) = task.problem() {
            bail!("task {number}: {problem}");
        }
        tasks.push(task);
    }
    Ok(Listed { tasks, partial })
}

/// What a file says beside its tasks.
fn around(whole: &Value) -> (bool, Option<Value>) {
    let partial = whole.get("partial_substitution").and_then(Value::as_bool).unwrap_or(true);
    let order = whole.get("fallback_order").or_else(|| whole.get("chain")).filter(|order| order.is_array());
    (partial, order.cloned())
}

fn rows_of(whole: Value) -> anyhow::Result<Vec<Value>> {
    match whole {
        Value::Array(rows) => Ok(rows),
        Value::Object(mut fields) => match fields.remove("tasks") {
            Some(Value::Array(rows)) => Ok(rows),
            _ => bail!("there is no list `tasks` in it"),
        },
        _ => bail!("it must be a list of tasks"),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A row for each task, a column for each field; lists are separated by blanks, and what is empty is not said.
fn csv_rows(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers()?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        let mut row = Map::new();
        for (name, value) in names.iter().zip(&record).filter(|(_, value)| !value.is_empty()) {
            let value = match name {
                "chain" | "fallback_order" | "command" | "arguments" => {
                    Value::Array(value.split_whitespace().map(|part| Value::String(part.to_owned())).collect())
                }
                "max_retries" | "retry_delay" | "timeout" | "silence" | "deadline" | "budget_usd" => {
                    let number = serde_json::from_str::<serde_json::Number>(value);
                    Value::Number(number.with_context(|| format!("`{value}` in column `{name}` is not a number"))?)
                }
                _ => Value::String(value.to_owned()),
            };
            row.insert(name.to_owned(), value);
        }
        rows.push(Value::Object(row));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> Task {
        Task { agent: "claude".to_owned(), model: Some("sonnet".to_owned()), label: "x".to_owned(), ..Task::default() }
    }

    fn told(text: &str, kind: &str) -> Vec<String> {
        let listed = listed(text, kind, &usual()).unwrap_or_else(|error| panic!("{error:#}"));
        let told = listed.tasks.iter().map(|task| {
            let chain = task.chain.as_ref().map_or("-".to_owned(), |chain| chain.join(">"));
            format!("{}|{}|{}|{}|{chain}", task.label, task.task, task.agent, task.model.as_deref().unwrap_or("-"))
        });
        told.collect()
    }

    #[test]
    fn every_format_says_the_same() {
        let expected = ["a|one|claude|sonnet|-", "b|two, 2|codex|gpt|haiku>opus"];
        let toml = "[[tasks]]\ntask = \"one\"\nlabel = \"a\"\n[[tasks]]\ntask = \"two, 2\"\nlabel = \"b\"\nagent = \"codex\"\nmodel = \"gpt\"\nfallback_order = [\"haiku\", \"opus\"]\n";
        assert_eq!(told(toml, "toml"), expected);
        let two = r#"{"task":"two, 2","label":"b","agent":"codex","model":"gpt","chain":["haiku","opus"]}"#;
        assert_eq!(told(&format!(r#"[{{"task":"one","label":"a"}},{two}]"#), "json"), expected);
        assert_eq!(told(&format!("{{\"task\":\"one\",\"label\":\"a\"}}\n\n{two}\n"), "jsonl"), expected);
        let csv = "task,label,agent,model,chain\none,a,,,\n\"two, 2\",b,codex,gpt,haiku opus\n";
        assert_eq!(told(csv, "csv"), expected);
    }

    #[test]
    fn a_chain_for_all_stands_beside_the_tasks() {
        let whole =
            r#"{"tasks":["one",{"task":"two","chain":["x"]}],"fallback_order":["haiku"],"partial_substitution":false}"#;
        assert_eq!(told(whole, "json"), ["|one|claude|sonnet|haiku", "|two|claude|sonnet|x"]);
        assert!(!listed(whole, "json", &usual()).unwrap().partial);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str, kind: &str| format!("{:#}", listed(text, kind, &usual()).unwrap_err());
        assert!(
            error("[{\"tsk\":\"x\"}]", "json").starts_with("task 1: unknown field `tsk`"),
            "{}",
            error("[{\"tsk\":\"x\"}]", "json")
        );
        assert!(error("x", "yaml").contains("`.yaml` is not known"));
        assert!(error("{\"a\":1}", "json").contains("no list `tasks`"));
        assert!(error("task,timeout\nx,soon\n", "csv").contains("`soon` in column `timeout`"));
        assert!(error("{\"task\":\"x\"}\n{", "jsonl").starts_with("line 2"));
        assert!(error("[{\"task\":\"x\",\"timeout\":-1}]", "json").contains("its `timeout` must be"));
    }
}

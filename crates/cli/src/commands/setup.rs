//! `steadfast setup CLIENT`: the lines that point a client at the gateway, printed, written or taken back.

use std::process::ExitCode;

use anyhow::ensure;
use clap::Args;
use serde_json::{Value, json};

use super::{data, environment, load_or_refuse, talk};
use crate::cli::SourceArgs;
use crate::clients::file::{self, Outcome};
use crate::clients::{Base, Change, Client, Recipe, edit};

/// Whom to point at the gateway, and how.
#[derive(Args, Debug)]
pub(crate) struct SetupArgs {
    /// The client
    #[arg(value_enum)]
    client: Client,
    /// Put the lines into the client's own files; what was there is kept beside them
    #[arg(long, conflicts_with = "undo")]
    write: bool,
    /// Put the files back as they were before the first --write
    #[arg(long)]
    undo: bool,
    /// Requests of this client belong to this project
    #[arg(long, value_name = "NAME", value_parser = project)]
    project: Option<String>,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// A project stands in a path.
fn project(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = !name.is_empty() && name.chars().all(plain);
    good.then(|| name.to_owned()).ok_or_else(|| "letters, digits, `-`, `_` and `.`".to_owned())
}

pub(crate) fn run(args: &SetupArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    let config = loaded.config;
    if let Some(project) = args.project.as_ref().filter(|name| !config.projects.contains_key(*name)) {
        talk(&format!("there is no project `{project}` in the configuration yet: [projects.{project}]"));
    }
    let base = Base::new(config.listen, args.project.as_deref());
    let recipe = args.client.recipe(&base, &environment())?;
    let (action, files) = if args.undo {
        ("undo", undo(&recipe)?)
    } else if args.write {
        let client = args.client.name();
        ensure!(!recipe.files.is_empty(), "{client} has no file to write; `steadfast setup {client}` says what to do");
        ("write", write(&recipe)?)
    } else {
        ("print", look(&recipe)?)
    };
    if args.json {
        let files: Vec<Value> = files.iter().map(Told::json).collect();
        let report = json!({
            "client": args.client.name(), "base_url": base.as_str(), "action": action, "files": files,
            "notes": recipe.notes,
        });
        data(&format!("{report:#}"))?;
    } else {
        tell(args, &recipe, &files)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is said about one file.
struct Told<'a> {
    change: &'a Change,
    /// What an empty file would be.
    lines: String,
    state: &'static str,
    /// The file that keeps what was there.
    kept: Option<String>,
}

impl<'a> Told<'a> {
    fn new(change: &'a Change, state: &'static str) -> anyhow::Result<Self> {
        Ok(Self { change, lines: edit::edited(change.format, "", &change.entries)?, state, kept: None })
    }

    fn of(change: &'a Change, outcome: &Outcome) -> anyhow::Result<Self> {
        let (state, kept) = match outcome {
            Outcome::Unchanged => ("unchanged", None),
            Outcome::Written { backup } => ("written", backup.as_ref()),
            Outcome::Restored { kept } => ("restored", kept.as_ref()),
            Outcome::Removed { kept } => ("removed", kept.as_ref()),
            Outcome::NothingToUndo => ("nothing to undo", None),
        };
        Ok(Self { kept: kept.map(|path| path.display().to_string()), ..Self::new(change, state)? })
    }

    fn json(&self) -> Value {
        json!({ "path": self.change.path, "lines": self.lines, "state": self.state, "kept": self.kept })
    }
}

fn look(recipe: &Recipe) -> anyhow::Result<Vec<Told<'_>>> {
    let told = |change| {
        // A file that cannot be changed can still be told about: a person can change it.
        let done = file::draft(change).is_ok_and(|draft| draft.is_done());
        Told::new(change, if done { "unchanged" } else { "to do" })
    };
    recipe.files.iter().map(told).collect()
}

fn write(recipe: &Recipe) -> anyhow::Result<Vec<Told<'_>>> {
    // All are understood before the first is touched.
    let drafts = recipe.files.iter().map(file::draft).collect::<anyhow::Result<Vec<_>>>()?;
    let told = drafts.iter().zip(&recipe.files).map(|(draft, change)| Told::of(change, &draft.write()?));
    told.collect()
}

fn undo(recipe: &Recipe) -> anyhow::Result<Vec<Told<'_>>> {
    recipe.files.iter().map(|change| Told::of(change, &file::undo(change)?)).collect()
}

fn tell(args: &SetupArgs, recipe: &Recipe, files: &[Told<'_>]) -> anyhow::Result<()> {
    let client = args.client.name();
    for file in files {
        let path = file.change.path.display();
        match (file.state, &file.kept) {
            ("to do", _) => data(&format!("# {path}\n{}", file.lines))?,
            ("unchanged", _) => talk(&format!("{path}: points at the gateway already")),
            ("written", Some(kept)) => talk(&format!("{path}: written; as it was: {kept}")),
            ("written", None) => talk(&format!("{path}: written; it was not there before")),
            (state, Some(kept)) => talk(&format!("{path}: {state}; others had changed it, their version: {kept}")),
            (state, None) => talk(&format!("{path}: {state}")),
        }
    }
    if args.undo {
        return Ok(());
    }
    for note in &recipe.notes {
        if files.is_empty() { data(note)? } else { talk(&format!("note: {note}")) }
    }
    if args.write {
        talk(&format!(
            "`steadfast setup {client} --undo` takes it back; `steadfast doctor --client {client}` waits for a request"
        ));
    } else if files.iter().any(|file| file.state == "to do") {
        talk(&format!("`steadfast setup {client} --write` puts it there"));
    }
    Ok(())
}

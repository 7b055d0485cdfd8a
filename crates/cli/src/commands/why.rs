//! `steadfast why`: the whole story of one request, from the decision log.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;

use super::{data, environment, load_or_refuse, talk};
use crate::cli::SourceArgs;
use crate::decisions::{self, Found, Log};
use steadfast_api::story::Story;

/// Which request.
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// The id of the request (the header `x-steadfast-request` of its answer) or the beginning of it; without it, the last requests are listed
    request: Option<String>,

    /// The decision log [default: the one the configuration names, or the usual one of `steadfast serve`]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// For programs: the records as a JSON array
    #[arg(long)]
    json: bool,
}

/// How many requests are listed.
const LISTED: usize = 20;

/// How many ids are named beside one that is not there.
const NEAR: usize = 3;

pub(crate) fn run(args: &WhyArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let Some(logs) = logs(args, sources)? else { return Ok(ExitCode::FAILURE) };
    match &args.request {
        Some(id) => tell(id.trim(), &logs, args.json),
        None => list(&logs, args.json),
    }
}

/// The logs to look into, in order; none where the configuration is refused.
fn logs(args: &WhyArgs, sources: &SourceArgs) -> anyhow::Result<Option<Vec<Log>>> {
    let open = |path: &Path| Log::open(path).map(|log| vec![log]);
    if let Some(path) = &args.log {
        let missing = || format!("there is no decision log {}", path.display());
        return open(path).with_context(missing).map(Some);
    }
    let Some(loaded) = load_or_refuse(sources) else { return Ok(None) };
    if let Some(log) = &loaded.config.decision_log {
        let path = Path::new(&log.path);
        let missing = || {
            let name = path.display();
            format!("there is no decision log {name}, where [log] decisions.path says: has `steadfast serve` run here?")
        };
        return open(path).with_context(missing).map(Some);
    }
    let environment = environment();
    let usual = decisions::default_path(&environment)
        .context("neither XDG_STATE_HOME nor HOME says where the decision log could be: name it with --log FILE")?;
    // The demo's requests are told too, so that its last line works as it stands.
    let demo = decisions::demo_path(&environment);
    let found: Vec<Log> = [Some(usual.clone()), demo].iter().flatten().filter_map(|path| Log::open(path)).collect();
    if found.is_empty() {
        let usual = usual.display();
        bail!(
            "there is no decision log {usual} yet: `steadfast serve` and `steadfast demo` write one, --log FILE names another"
        );
    }
    Ok(Some(found))
}

fn tell(id: &str, logs: &[Log], json: bool) -> anyhow::Result<ExitCode> {
    for log in logs {
        let found = log.find(id).with_context(|| format!("cannot read {}", log.path.display()))?;
        match found {
            Found::One(records) if json => {
                data(&serde_json::to_string_pretty(&records)?)?;
                return Ok(ExitCode::SUCCESS);
            }
            Found::One(records) => {
                data(&Story::new(&records).tell())?;
                return Ok(ExitCode::SUCCESS);
            }
            Found::Many(ids) => bail!("several requests begin with `{id}`:\n  {}", ids.join("\n  ")),
            Found::Nothing => {}
        }
    }
    let places: Vec<String> = logs.iter().map(|log| log.path.display().to_string()).collect();
    let mut near = Vec::new();
    for log in logs {
        near.extend(log.near(id, NEAR)?);
    }
    near.sort_by_key(|known| strsim::osa_distance(id, known));
    near.truncate(NEAR);
    let near = if near.is_empty() { String::new() } else { format!("; the nearest are {}", near.join(", ")) };
    bail!("no request `{id}` in {}{near}", places.join(" or "))
}

fn list(logs: &[Log], json: bool) -> anyhow::Result<ExitCode> {
    let Some(log) = logs.first() else { return Ok(ExitCode::FAILURE) };
    let last = log.last(LISTED).with_context(|| format!("cannot read {}", log.path.display()))?;
    if json {
        data(&serde_json::to_string_pretty(&last)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    talk(&format!("the last requests in {}, newest first; `steadfast why REQUEST` tells one", log.path.display()));
    let lines = last.iter().map(|records| Story::new(records).line());
    data(&[Story::line_head()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

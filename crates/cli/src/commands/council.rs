//! `steadfast council`: several models in one conversation.

mod fake;

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use steadfast_config::Config;
use steadfast_council::{Chaos, Opening, Plain, Resume, Room, Status, ToolServer};
use steadfast_engine::Engine;
use tokio::sync::mpsc::{self, Receiver};

use super::{environment, talk};
use crate::cli::SourceArgs;
use crate::decisions;

/// Who speaks is configured; how, and with what, is here.
#[derive(Args, Debug)]
pub(crate) struct CouncilArgs {
    /// Go on with a session: the one used last, or this one
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,

    /// Three fake members and faults on a key press: no keys needed
    #[arg(long)]
    fake: bool,

    /// Lines instead of a screen [default: where stdin or stdout is no terminal]
    #[arg(long)]
    plain: bool,
}

/// A line that is longer is no message.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Lines that wait to be read by the council.
const LINES_MAX: usize = 16;

pub(crate) fn run(args: &CouncilArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let outcome = runtime.block_on(hold(args, sources));
    // A thread may still wait for a line that never comes.
    runtime.shutdown_background();
    outcome
}

async fn hold(args: &CouncilArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let environment = environment();
    let stage = match args.fake {
        true => Some(fake::Stage::build().await?),
        false => None,
    };
    let mut config = match &stage {
        Some(stage) => stage.config()?,
        None => match super::load_or_refuse(sources) {
            Some(loaded) => {
                super::report(&loaded.warnings);
                loaded.config
            }
            None => return Ok(ExitCode::FAILURE),
        },
    };
    if let Err(problem) = decisions::with_default(&mut config, &environment) {
        talk(&format!("warning: no decision log: {problem:#}"));
    }
    let folder = decisions::state_folder(&environment).context("neither XDG_STATE_HOME nor HOME names a folder")?;
    let mut room = open(args, config, folder.join(if args.fake { "council-fake" } else { "council" }))?;
    let chaos = stage.as_ref().map(fake::Stage::chaos);
    let plain = args.plain || !io::stdout().is_terminal() || !io::stdin().is_terminal();
    match plain {
        true => lines(&mut room, chaos).await?,
        false => steadfast_council::screen::run(&mut room, chaos).await?,
    }
    let Status { active, .. } = room.status();
    talk(&farewell(&room, args.fake));
    Ok(if active > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn open(args: &CouncilArgs, config: Config, folder: PathBuf) -> anyhow::Result<Room> {
    let council = config.council.clone();
    let resume = args.resume.as_ref().map(|id| match id.is_empty() {
        true => Resume::Latest,
        false => Resume::Id(id.clone()),
    });
    let engine = Engine::start(config)?;
    let tools = council.iter().flat_map(|council| &council.tools);
    let tools = tools.map(|(name, command)| ToolServer { name: name.clone(), command: command.clone() });
    let opening = Opening {
        engine: Arc::clone(&engine),
        folder,
        resume,
        metrics: council.as_ref().and_then(|council| council.metrics.as_ref()).map(PathBuf::from),
        tools: tools.collect(),
        tool_limit: council.as_ref().map(|council| council.tool_timeout).unwrap_or_default(),
    };
    Ok(Room::open(opening)?)
}

async fn lines(room: &mut Room, chaos: Option<Chaos>) -> anyhow::Result<()> {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let echo = !io::stdin().is_terminal();
    if !echo {
        talk("Type to speak with the council; /help shows the commands, /quit leaves.");
    }
    let plain = Plain { out: &mut out, talk: &mut err, echo, chaos };
    match plain.run(room, typed()?).await {
        // A reader that has seen enough is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the conversation"),
    }
}

/// What is typed, line by line, read by a thread of its own: reading a terminal cannot be given up.
fn typed() -> anyhow::Result<Receiver<String>> {
    let (sender, lines) = mpsc::channel(LINES_MAX);
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("typed".to_owned()).spawn(read).context("cannot start a thread")?;
    Ok(lines)
}

fn farewell(room: &Room, fake: bool) -> String {
    let fake = if fake { " --fake" } else { "" };
    format!("The session is saved. Go on with it: steadfast council{fake} --resume {}", room.id())
}

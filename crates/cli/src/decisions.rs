//! Where the decision log lies, and how it is read: the current file and the old ones before it.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use memchr::memmem::Finder;
use steadfast_config::{Config, DecisionLog};
use steadfast_core::record::Record;
use steadfast_engine::{LogFiles, old};

/// What one log weighs at most, as in the configuration: 64 MB and eight old files.
const ROTATE_BYTES: u64 = 64 << 20;
const KEEP: u32 = 8;

/// No configuration keeps more old files.
const OLD_MAX: u32 = 1000;

/// A line of the log is a few hundred bytes; a longer one is something else.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Several requests that fit a prefix are listed up to this many.
const MATCHES_MAX: usize = 16;

/// The folder for what a program remembers between its runs, after the XDG base directories.
pub(crate) fn state_folder(environment: &[(String, String)]) -> Option<PathBuf> {
    let variable = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let state = variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("steadfast"))
}

/// The log of a gateway whose configuration names none.
pub(crate) fn default_path(environment: &[(String, String)]) -> Option<PathBuf> {
    state_folder(environment).map(|folder| folder.join("decisions.jsonl"))
}

/// The log of the last demo.
pub(crate) fn demo_path(environment: &[(String, String)]) -> Option<PathBuf> {
    state_folder(environment).map(|folder| folder.join("demo.jsonl"))
}

/// A log of the usual size.
pub(crate) fn at(path: &Path) -> DecisionLog {
    DecisionLog { path: path.display().to_string(), rotate_bytes: ROTATE_BYTES, keep: KEEP }
}

/// Gives a configuration that names no log the usual one. A log that nobody asked for must not keep
/// a gateway from serving, so the error is for telling and the configuration good without it.
pub(crate) fn with_default(config: &mut Config, environment: &[(String, String)]) -> anyhow::Result<()> {
    if config.decision_log.is_some() {
        return Ok(());
    }
    let path = default_path(environment).context("neither XDG_STATE_HOME nor HOME names a folder")?;
    let log = at(&path);
    // Opened once to see whether it can be; the engine opens it for good.
    LogFiles::open(&log).with_context(|| format!("cannot write {}", path.display()))?;
    config.decision_log = Some(log);
    Ok(())
}

/// A log on disk.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) path: PathBuf,
    /// The files, oldest first.
    files: Vec<PathBuf>,
}

/// What a log has for a request id or the beginning of one.
#[derive(Debug)]
pub(crate) enum Found {
    /// One request, with its records in order.
    One(Vec<Record>),
    /// Several requests begin like this.
    Many(Vec<String>),
    /// None does.
    Nothing,
}

impl Log {
    /// The log at this path, where there is one.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let before = (1..=OLD_MAX).map(|number| old(path, number)).take_while(|file| file.exists());
        let mut files: Vec<PathBuf> = before.collect();
        files.reverse();
        files.extend(path.exists().then(|| path.to_owned()));
        (!files.is_empty()).then(|| Self { path: path.to_owned(), files })
    }

    /// The request whose id is or begins with `id`. An id that is whole wins over longer ones.
    pub(crate) fn find(&self, id: &str) -> io::Result<Found> {
        let needle = format!("\"request\":\"{id}");
        let needle = Finder::new(needle.as_bytes());
        let mut found: HashMap<String, Vec<Record>> = HashMap::new();
        self.lines(|line| {
            if needle.find(line).is_none() {
                return;
            }
            let Some(record) = record(line).filter(|record| record.request.starts_with(id)) else { return };
            // One more than is shown, so that it is known to be too many.
            if found.len() <= MATCHES_MAX || found.contains_key(record.request.as_ref()) {
                found.entry(record.request.to_string()).or_default().push(record);
            }
        })?;
        if let Some(whole) = found.remove(id) {
            return Ok(Found::One(whole));
        }
        let mut ids: Vec<String> = found.keys().cloned().collect();
        ids.sort_unstable();
        Ok(match ids.as_slice() {
            [] => Found::Nothing,
            [one] => Found::One(found.remove(one).unwrap_or_default()),
            _ => Found::Many(ids),
        })
    }

    /// The last requests, newest first, each with its records in order.
    pub(crate) fn last(&self, count: usize) -> io::Result<Vec<Vec<Record>>> {
        let start = Finder::new(b"\"event\":\"start\"");
        // One file has enough of them, as a rule; those before it are read only if it has not.
        for first in (0..self.files.len()).rev() {
            let mut ids = VecDeque::new();
            let files = &self.files[first..];
            each_line(files, |line| {
                if start.find(line).is_some()
                    && let Some(record) = record(line)
                {
                    if ids.len() == count {
                        ids.pop_front();
                    }
                    ids.push_back(record.request);
                }
            })?;
            if ids.len() < count && first > 0 {
                continue;
            }
            let mut stories: HashMap<_, Vec<Record>> = ids.iter().map(|id| (id.clone(), Vec::new())).collect();
            each_line(files, |line| {
                if let Some(record) = record(line)
                    && let Some(story) = stories.get_mut(&record.request)
                {
                    story.push(record);
                }
            })?;
            return Ok(ids.iter().rev().filter_map(|id| stories.remove(id)).collect());
        }
        Ok(Vec::new())
    }

    /// The ids most like this one, best first.
    pub(crate) fn near(&self, id: &str, count: usize) -> io::Result<Vec<String>> {
        let start = Finder::new(b"\"event\":\"start\"");
        let mut near: Vec<(usize, String)> = Vec::new();
        self.lines(|line| {
            if start.find(line).is_none() {
                return;
            }
            let Some(record) = record(line) else { return };
            let distance = strsim::osa_distance(id, &record.request);
            let place = near.partition_point(|(known, _)| *known <= distance);
            if place < count {
                near.insert(place, (distance, record.request.to_string()));
                near.truncate(count);
            }
        })?;
        Ok(near.into_iter().map(|(_, id)| id).collect())
    }

    fn lines(&self, each: impl FnMut(&[u8])) -> io::Result<()> {
        each_line(&self.files, each)
    }
}

/// A line of the log; what is none (a line torn by a kill) is left out.
pub(crate) fn record(line: &[u8]) -> Option<Record> {
    serde_json::from_slice(line).ok()
}

fn each_line(files: &[PathBuf], mut each: impl FnMut(&[u8])) -> io::Result<()> {
    for file in files {
        let file = match File::open(file) {
            Ok(file) => file,
            // The log was begun anew while we read: what was in this file is in the one before.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            if io::Read::take(&mut reader, LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            each(&line);
        }
    }
    Ok(())
}

/// Begins the demo's log anew.
pub(crate) fn fresh(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    for number in 1..=KEEP {
        let _ = fs::remove_file(old(path, number));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

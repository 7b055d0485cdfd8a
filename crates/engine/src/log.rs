//! The decision log on disk: lines of JSON, in files that are begun anew at a set size.
//!
//! A thread of its own writes them. Requests hand over lines through a bounded queue and never wait
//! for the disk: where the disk does not keep up, lines are lost, counted, and said once.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_config::DecisionLog;
use steadfast_core::record::Record;

/// Lines under way to the disk; some seconds of them at full load.
const QUEUED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long lines are gathered before they are written: waking the thread for each of them would
/// cost a request more than everything else about the log.
const GATHER: Duration = Duration::from_millis(10);

/// Writes the decision log.
#[derive(Debug)]
pub struct LogWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Lines have come into an empty queue, or something cannot wait.
    work: Condvar,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    lines: Vec<u8>,
    /// To be told when everything before is on its way to the disk.
    flushes: Vec<SyncSender<()>>,
    /// Nobody will write any more.
    closed: bool,
}

thread_local! {
    /// Where a line is put together before it is handed over.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl LogWriter {
    /// Opens the log and starts its thread.
    pub fn open(settings: &DecisionLog) -> io::Result<Self> {
        let mut files = Files::open(settings)?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("decision-log".to_owned()).spawn(move || write_all(&mut files, &theirs))?;
        Ok(Self(shared))
    }

    /// Hands a line over; never waits for the disk.
    pub(crate) fn write(&self, record: &Record) {
        let queued = LINE.with_borrow_mut(|line| {
            line.clear();
            record.write_line(line);
            self.0.queue(line)
        });
        if !queued && self.0.lost.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("the decision log cannot keep up: lines are being lost");
        }
    }

    /// How many lines were lost.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Waits until everything handed over so far is written, for a moment at most.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        self.0.lock().flushes.push(done);
        self.0.work.notify_one();
        // A disk that hangs must not hold up the shutdown.
        let _ = wait.recv_timeout(Duration::from_secs(5));
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.work.notify_one();
    }
}

impl Shared {
    /// Says whether there was room.
    fn queue(&self, line: &[u8]) -> bool {
        let mut queue = self.lock();
        if queue.lines.len() + line.len() > QUEUED_BYTES_MAX {
            return false;
        }
        let first = queue.lines.is_empty();
        queue.lines.extend_from_slice(line);
        drop(queue);
        if first {
            self.work.notify_one();
        }
        true
    }

    /// Waits for lines, gathers some more, and takes them all; says who waits for them, or that
    /// there will be none.
    fn take(&self, lines: &mut Vec<u8>) -> Option<Vec<SyncSender<()>>> {
        let idle = |queue: &mut Queue| queue.lines.is_empty() && queue.flushes.is_empty() && !queue.closed;
        let calm = |queue: &mut Queue| queue.flushes.is_empty() && !queue.closed;
        let queue = self.work.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let gathered = self.work.wait_timeout_while(queue, GATHER, calm).unwrap_or_else(PoisonError::into_inner);
        let mut queue = gathered.0;
        std::mem::swap(&mut queue.lines, lines);
        let over = queue.closed && lines.is_empty() && queue.flushes.is_empty();
        (!over).then(|| std::mem::take(&mut queue.flushes))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_all(files: &mut Files, shared: &Shared) {
    let mut failing = false;
    let mut lines = Vec::new();
    while let Some(flushes) = shared.take(&mut lines) {
        let mut lost = 0;
        let mut last = Ok(());
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            last = files.write(line);
            lost += u64::from(last.is_err());
        }
        lines.clear();
        last = last.and(files.out.flush());
        shared.lost.fetch_add(lost, Ordering::Relaxed);
        match last {
            Err(error) if !std::mem::replace(&mut failing, true) => {
                tracing::warn!(path = %files.path.display(), %error, "cannot write the decision log");
            }
            Ok(()) if std::mem::replace(&mut failing, false) => {
                tracing::info!(path = %files.path.display(), "the decision log can be written again");
            }
            Ok(()) | Err(_) => {}
        }
        for done in flushes {
            let _ = done.send(());
        }
    }
}

/// `decisions.jsonl`, and before it `decisions.jsonl.1` (the newest old one) and so on.
struct Files {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: u64,
    rotate_bytes: u64,
    keep: u32,
}

impl Files {
    fn open(settings: &DecisionLog) -> io::Result<Self> {
        let path = PathBuf::from(&settings.path);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let file = append(&path)?;
        let bytes = file.metadata()?.len();
        let mut files = Self {
            out: BufWriter::with_capacity(64 * 1024, file),
            path,
            bytes,
            rotate_bytes: settings.rotate_bytes,
            keep: settings.keep,
        };
        files.end_torn_line()?;
        Ok(files)
    }

    /// A process that was killed may have left half a line: the next must not be glued to it.
    fn end_torn_line(&mut self) -> io::Result<()> {
        use io::{Read as _, Seek as _, SeekFrom};
        if self.bytes == 0 {
            return Ok(());
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            self.out.write_all(b"\n")?;
            self.bytes += 1;
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.rotate_bytes {
            self.rotate()?;
        }
        self.out.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        // Somebody may have taken the file away, or the step after this failed the last time.
        if self.path.exists() {
            self.make_old()?;
        }
        self.out = BufWriter::with_capacity(64 * 1024, append(&self.path)?);
        self.bytes = 0;
        Ok(())
    }

    fn make_old(&self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            let (from, to) = (old(&self.path, number), old(&self.path, number + 1));
            if from.exists() {
                std::fs::rename(from, to)?;
            }
        }
        match self.keep {
            0 => std::fs::remove_file(&self.path),
            _ => std::fs::rename(&self.path, old(&self.path, 1)),
        }
    }
}

/// The file for the owner alone: it names sessions and projects.
fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The name of an old file of the log.
pub fn old(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use steadfast_core::Timestamp;
    use steadfast_core::record::Event;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("steadfast-log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn record(request: &str) -> Record {
        Record::new(Timestamp::from_millis(1), Event::Start, request.into())
    }

    #[test]
    fn files_are_begun_anew_and_only_so_many_kept() {
        let folder = folder("rotate");
        let path = folder.join("sub/decisions.jsonl");
        let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: 200, keep: 2 };
        let log = LogWriter::open(&settings).unwrap();
        for number in 0..20 {
            log.write(&record(&format!("r{number}")));
        }
        log.flush();
        let newest = std::fs::read_to_string(&path).unwrap();
        assert!(newest.contains("\"r19\"") && newest.len() <= 200, "{newest}");
        assert!(old(&path, 1).exists() && old(&path, 2).exists() && !old(&path, 3).exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_log_that_somebody_took_away_is_begun_anew() {
        let folder = folder("taken");
        let path = folder.join("decisions.jsonl");
        let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: 200, keep: 2 };
        let log = LogWriter::open(&settings).unwrap();
        log.write(&record("r0"));
        log.flush();
        std::fs::remove_file(&path).unwrap();
        for number in 1..20 {
            log.write(&record(&format!("r{number}")));
        }
        log.flush();
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"r19\""));
        assert_eq!(log.lost(), 0);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn half_a_line_left_by_a_kill_does_not_spoil_the_next() {
        let folder = folder("torn");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("decisions.jsonl");
        std::fs::write(&path, "{\"time\":1,\"eve").unwrap();
        let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: 1 << 20, keep: 2 };
        let log = LogWriter::open(&settings).unwrap();
        log.write(&record("r1"));
        log.flush();
        let text = std::fs::read_to_string(&path).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(serde_json::from_str::<Record>(last).unwrap().request.as_ref(), "r1");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

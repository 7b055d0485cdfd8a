//! The decision log on disk: lines of JSON, in files that are begun anew at a set size.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use steadfast_config::DecisionLog;
use steadfast_core::record::Record;

/// `decisions.jsonl`, and before it `decisions.jsonl.1` (the newest old one) and so on.
#[derive(Debug)]
pub struct LogFiles {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: u64,
    rotate_bytes: u64,
    keep: u32,
    /// Where a line is put together.
    line: Vec<u8>,
    failing: bool,
    /// A new file cannot be begun.
    overdue: bool,
    /// It is not tried again before the next flush.
    waits: bool,
}

impl LogFiles {
    /// Opens the log, and its folder where there is none.
    pub fn open(settings: &DecisionLog) -> io::Result<Self> {
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
            line: Vec::new(),
            failing: false,
            overdue: false,
            waits: false,
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

    /// Writes lines and says how many were lost. They are on the disk after [`Self::flush`].
    pub fn write_all(&mut self, records: &[Record]) -> u64 {
        records.iter().map(|record| u64::from(self.write(record).is_err())).sum()
    }

    /// The same, of whole lines that are put together already.
    pub fn write_lines(&mut self, lines: &[u8]) -> u64 {
        debug_assert!(lines.is_empty() || lines.ends_with(b"\n"), "the last line has no end");
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', lines);
        ends.map(|end| {
            let line = &lines[std::mem::replace(&mut start, end + 1)..=end];
            u64::from(self.put(line).is_err())
        })
        .sum()
    }

    /// Hands on what was written; trouble is said when it begins and when it ends.
    pub fn flush(&mut self) {
        self.waits = false;
        match self.out.flush() {
            Err(error) if !std::mem::replace(&mut self.failing, true) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot write the decision log");
            }
            Ok(()) if std::mem::replace(&mut self.failing, false) => {
                tracing::info!(path = %self.path.display(), "the decision log can be written again");
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Writes text that is no record, at once: whole lines.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.put(lines)?;
        self.out.flush()
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        record.write_line(&mut line);
        let written = self.put(&line);
        self.line = line;
        written
    }

    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        self.make_room(line.len() as u64)?;
        self.out.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        if self.bytes > 0 && !self.waits && self.bytes + bytes > self.rotate_bytes {
            self.rotate()?;
        }
        Ok(())
    }

    /// Begins a new file. Where that cannot be (no file handles are left, say), the old one goes on: a log that is
    /// too long is better than none.
    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        match self.begin_anew() {
            Ok(file) => {
                self.out = BufWriter::with_capacity(64 * 1024, file);
                (self.bytes, self.overdue) = (0, false);
            }
            Err(error) => {
                self.waits = true;
                if !std::mem::replace(&mut self.overdue, true) {
                    tracing::warn!(path = %self.path.display(), %error, "cannot begin a new file of the decision log");
                }
            }
        }
        Ok(())
    }

    fn begin_anew(&self) -> io::Result<File> {
        // Somebody may have taken the file away, or the step after this failed the last time.
        if self.path.exists() {
            self.make_old()?;
        }
        append(&self.path)
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
        let mut log = LogFiles::open(&settings).unwrap();
        for number in 0..20 {
            log.write_all(&[record(&format!("r{number}"))]);
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
        let mut log = LogFiles::open(&settings).unwrap();
        log.write_all(&[record("r0")]);
        log.flush();
        std::fs::remove_file(&path).unwrap();
        let records: Vec<Record> = (1..20).map(|number| record(&format!("r{number}"))).collect();
        assert_eq!(log.write_all(&records), 0);
        log.flush();
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"r19\""));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_new_file_that_cannot_be_begun_costs_no_line() {
        let (folder, aside) = (folder("overdue"), folder("aside"));
        let path = folder.join("decisions.jsonl");
        let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: 200, keep: 2 };
        let mut log = LogFiles::open(&settings).unwrap();
        // As when no file handles are left: nothing can be opened at this path.
        std::fs::rename(&folder, &aside).unwrap();
        std::fs::write(&folder, "").unwrap();
        let records: Vec<Record> = (0..20).map(|number| record(&format!("r{number}"))).collect();
        assert_eq!(log.write_all(&records), 0);
        log.flush();
        let kept = std::fs::read_to_string(aside.join("decisions.jsonl")).unwrap();
        assert_eq!(kept.lines().count(), 20, "{kept}");
        std::fs::remove_file(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        log.write_all(&[record("r20")]);
        log.flush();
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"r20\""));
        std::fs::remove_dir_all(folder).unwrap();
        std::fs::remove_dir_all(aside).unwrap();
    }

    #[test]
    fn half_a_line_left_by_a_kill_does_not_spoil_the_next() {
        let folder = folder("torn");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("decisions.jsonl");
        std::fs::write(&path, "{\"time\":1,\"eve").unwrap();
        let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: 1 << 20, keep: 2 };
        let mut log = LogFiles::open(&settings).unwrap();
        log.write_all(&[record("r1")]);
        log.flush();
        let text = std::fs::read_to_string(&path).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(serde_json::from_str::<Record>(last).unwrap().request.as_ref(), "r1");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

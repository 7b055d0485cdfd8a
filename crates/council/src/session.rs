//! A session on disk: a file of JSON lines that only grows.
//!
//! Every entry is written as it happens, by a thread of its own, so that neither the terminal nor an answer waits
//! for a disk. Written is not synced: what the process wrote survives its own death (`kill -9`), and a
//! whole answer, like everything the person says, is synced, so that it survives the machine's. Words of an answer
//! are written a sentence at a time: a kill in mid-answer loses the unfinished sentence at most.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use steadfast_core::time::Timestamp;

use crate::entry::Entry;

/// What is on its way to the disk at most, in lines.
const QUEUE_MAX: usize = 4096;

/// A sentence without an end is written at this length.
const SENTENCE_BYTES_MAX: usize = 512;

/// A session longer than this is not one: an answer is a few kilobytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The first line of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Its name.
    pub(crate) id: String,
    /// When it began. The line itself has a `time` of its own.
    #[serde(rename = "began")]
    pub(crate) time: Timestamp,
    /// Who took part.
    pub(crate) members: Vec<HeadMember>,
}

/// A member as it was when the session began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeadMember {
    /// Its name.
    pub(crate) name: String,
    /// Its own model.
    pub(crate) model: String,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line<T> {
    time: Timestamp,
    #[serde(flatten)]
    what: T,
}

/// Lines that are about the session itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum About {
    Session(Head),
    Resumed,
    /// The person said this while somebody spoke. It is logged when its round begins.
    Waits {
        text: String,
    },
    /// The model that served a member last: for looking into what keeps failing.
    LastGood {
        member: String,
        model: String,
    },
}

/// Why a session cannot be begun or taken up.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is none of this name.
    #[error("there is no session `{id}` in {folder}")]
    Unknown {
        /// The name.
        id: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// There is none at all.
    #[error("there is no session in {folder} yet")]
    None {
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// Another process has it.
    #[error("the session `{id}` is open in another terminal")]
    Busy {
        /// The name.
        id: String,
    },
    /// It is no session.
    #[error("{path} does not begin like a session")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The disk said no.
    #[error("cannot use {path}")]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A session that is being written.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    lines: Option<SyncSender<Order>>,
    writer: Option<JoinHandle<()>>,
    trouble: Arc<Mutex<Option<String>>>,
    /// Words whose sentence is not complete.
    sentence: String,
}

/// A session that was read.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Its first line.
    pub(crate) head: Head,
    /// What happened, in order.
    pub(crate) entries: Vec<(Timestamp, Entry)>,
    /// The model that served each member last.
    pub(crate) last_good: Vec<(String, String)>,
    /// What the person said and nobody has heard yet.
    pub(crate) waiting: VecDeque<String>,
}

#[derive(Debug)]
struct Order {
    line: String,
    sync: bool,
}

impl SessionFile {
    /// Begins a session.
    pub(crate) fn create(folder: &Path, head: Head) -> Result<Self, SessionError> {
        let path = path_of(folder, &head.id);
        let disk = |source| SessionError::Disk { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(disk)?;
        let mut options = OpenOptions::new();
        options.create_new(true).append(true);
        private(&mut options);
        let file = options.open(&path).map_err(disk)?;
        lock(&file, &head.id, &path)?;
        let mut session = Self::start(file, path);
        session.write(head.time, About::Session(head), true);
        Ok(session)
    }

    /// Takes up a session where it was left, and says what was in it.
    pub(crate) fn resume(folder: &Path, id: &str, now: Timestamp) -> Result<(Self, Recorded), SessionError> {
        let path = path_of(folder, id);
        let disk = |source| SessionError::Disk { path: path.clone(), source };
        let file = OpenOptions::new().read(true).append(true).open(&path);
        let mut file = file.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => SessionError::Unknown { id: id.to_owned(), folder: folder.to_owned() },
            _ => disk(source),
        })?;
        lock(&file, id, &path)?;
        let recorded = read(&file).map_err(disk)?.ok_or_else(|| SessionError::Foreign { path: path.clone() })?;
        if !ends_with_newline(&mut file).map_err(disk)? {
            file.write_all(b"\n").map_err(disk)?;
        }
        let mut session = Self::start(file, path);
        session.write(now, About::Resumed, false);
        Ok((session, recorded))
    }

    /// The name of the session that was used last.
    pub(crate) fn latest(folder: &Path) -> Result<String, SessionError> {
        let none = || SessionError::None { folder: folder.to_owned() };
        let files = fs::read_dir(folder).map_err(|_| none())?;
        let sessions = files.filter_map(|file| {
            let file = file.ok()?;
            let id = file.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
            Some((file.metadata().ok()?.modified().ok()?, id))
        });
        sessions.max().map(|(_, id)| id).ok_or_else(none)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Saves an entry.
    pub(crate) fn add(&mut self, entry: &Entry, time: Timestamp) {
        if let Entry::Piece { text } = entry {
            self.sentence.push_str(text);
            let end = if self.sentence.len() > SENTENCE_BYTES_MAX {
                Some(self.sentence.len())
            } else {
                sentence_end(&self.sentence)
            };
            if let Some(end) = end {
                let rest = self.sentence.split_off(end);
                let text = std::mem::replace(&mut self.sentence, rest);
                self.write(time, Entry::Piece { text }, false);
            }
            return;
        }
        let rest = std::mem::take(&mut self.sentence);
        if !rest.is_empty() {
            self.write(time, Entry::Piece { text: rest }, false);
        }
        let sync = matches!(entry, Entry::Person { .. } | Entry::End | Entry::Lost | Entry::Stopped);
        self.write(time, entry.clone(), sync);
    }

    /// Saves what the person said while somebody spoke.
    pub(crate) fn waits(&mut self, text: String, time: Timestamp) {
        self.write(time, About::Waits { text }, true);
    }

    /// Saves which model served a member last.
    pub(crate) fn served(&mut self, member: &str, model: &str, time: Timestamp) {
        let (member, model) = (member.to_owned(), model.to_owned());
        self.write(time, About::LastGood { member, model }, false);
    }

    /// What went wrong with saving since it was last asked.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn start(file: File, path: PathBuf) -> Self {
        let (lines, orders) = sync_channel(QUEUE_MAX);
        let trouble = Arc::new(Mutex::new(None));
        let told = Arc::clone(&trouble);
        let writer =
            std::thread::Builder::new().name("session".to_owned()).spawn(move || write_all(file, &orders, &told));
        let trouble_at_start = writer.as_ref().err().map(ToString::to_string);
        if let Some(words) = trouble_at_start {
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
        }
        Self { path, lines: Some(lines), writer: writer.ok(), trouble, sentence: String::new() }
    }

    fn write(&mut self, time: Timestamp, what: impl Serialize, sync: bool) {
        let Ok(mut line) = serde_json::to_string(&Line { time, what }) else { return };
        line.push('\n');
        let Some(lines) = &self.lines else { return };
        if let Err(TrySendError::Full(_)) = lines.try_send(Order { line, sync }) {
            let words = "the disk does not keep up".to_owned();
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
        }
    }
}

impl Drop for SessionFile {
    /// Whatever is on its way is written.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            // It tells its own troubles; that it died is nothing anybody could act on here.
            _ = writer.join();
        }
    }
}

fn write_all(mut file: File, orders: &Receiver<Order>, trouble: &Mutex<Option<String>>) {
    let mut cut_off = false;
    while let Ok(Order { line, sync }) = orders.recv() {
        let written = write_line(&mut file, &line, &mut cut_off);
        let written = written.and_then(|()| if sync { file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
    }
    // A process that is being started has a copy of the file for a moment, and with it the lock. Where this fails,
    // the lock goes when that copy does.
    _ = file.unlock();
}

/// Writes a line. Where the one before it was cut off, a line end goes first: glued to a fragment it would be lost too.
fn write_line(file: &mut impl io::Write, line: &str, cut_off: &mut bool) -> io::Result<()> {
    if *cut_off {
        file.write_all(b"\n")?;
    }
    let written = file.write_all(line.as_bytes());
    *cut_off = written.is_err();
    written
}

/// Reads a session; `None` where it is none. A last line that was cut off is left out, and what nobody knows is skipped.
fn read(file: &File) -> io::Result<Option<Recorded>> {
    let mut lines = BufReader::new(file.take(FILE_BYTES_MAX)).split(b'\n');
    let Some(first) = lines.next().transpose()? else { return Ok(None) };
    let Ok(Line { what: About::Session(head), .. }) = serde_json::from_slice(&first) else { return Ok(None) };
    let mut recorded = Recorded { head, entries: Vec::new(), last_good: Vec::new(), waiting: VecDeque::new() };
    for line in lines {
        let line = line?;
        if let Ok(Line { time, what }) = serde_json::from_slice::<Line<Entry>>(&line) {
            // Messages are heard in the order in which they were said.
            if let Entry::Person { text } = &what {
                recorded.waiting.pop_front_if(|waiting| waiting == text);
            }
            recorded.entries.push((time, what));
            continue;
        }
        match serde_json::from_slice::<Line<About>>(&line).map(|line| line.what) {
            Ok(About::LastGood { member, model }) => {
                recorded.last_good.retain(|(known, _)| *known != member);
                recorded.last_good.push((member, model));
            }
            Ok(About::Waits { text }) => recorded.waiting.push_back(text),
            Ok(About::Session(_) | About::Resumed) | Err(_) => {}
        }
    }
    Ok(Some(recorded))
}

/// Behind the last sentence that is complete.
fn sentence_end(text: &str) -> Option<usize> {
    let mut ends = text.char_indices().rev().filter(|(at, letter)| match letter {
        '\n' => true,
        '.' | '!' | '?' | ':' => text[at + 1..].starts_with([' ', '\n']),
        '。' | '！' | '？' => true,
        _ => false,
    });
    ends.next().map(|(at, letter)| at + letter.len_utf8())
}

fn path_of(folder: &Path, id: &str) -> PathBuf {
    // A name is no path.
    let name: String = id.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    folder.join(format!("{name}.jsonl"))
}

/// What is said in a council is its person's business.
#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_options: &mut OpenOptions) {}

fn lock(file: &File, id: &str, path: &Path) -> Result<(), SessionError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(SessionError::Busy { id: id.to_owned() }),
        Err(TryLockError::Error(source)) => Err(SessionError::Disk { path: path.to_owned(), source }),
    }
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("steadfast-council-{}-{name}", std::process::id()));
        _ = fs::remove_dir_all(&folder);
        folder
    }

    fn head(id: &str) -> Head {
        let members = vec![HeadMember { name: "claude".to_owned(), model: "sonnet".to_owned() }];
        Head { id: id.to_owned(), time: Timestamp::from_millis(5), members }
    }

    fn piece(text: &str) -> Entry {
        Entry::Piece { text: text.to_owned() }
    }

    #[test]
    fn what_was_saved_is_read_back_and_goes_on() {
        let folder = folder("back");
        let time = Timestamp::from_millis(7);
        let begin = Entry::Begin { member: "claude".to_owned(), model: "sonnet".to_owned() };
        let mut session = SessionFile::create(&folder, head("a1")).unwrap();
        let busy = SessionFile::resume(&folder, "a1", time).unwrap_err();
        assert_eq!(busy.to_string(), "the session `a1` is open in another terminal");
        for entry in [Entry::Person { text: "hi".to_owned() }, begin.clone(), piece("One. Tw"), piece("o"), Entry::End]
        {
            session.add(&entry, time);
        }
        session.served("claude", "haiku", time);
        drop(session);
        assert_eq!(SessionFile::latest(&folder).unwrap(), "a1");
        let (mut session, recorded) = SessionFile::resume(&folder, "a1", time).unwrap();
        assert_eq!(recorded.head, head("a1"));
        let said: Vec<&Entry> = recorded.entries.iter().map(|(_, entry)| entry).collect();
        assert_eq!(said[1..], [&begin, &piece("One."), &piece(" Two"), &Entry::End]);
        assert_eq!(recorded.last_good, [("claude".to_owned(), "haiku".to_owned())]);
        session.add(&Entry::Note { text: "more".to_owned() }, time);
        drop(session);
        let (_, recorded) = SessionFile::resume(&folder, "a1", time).unwrap();
        assert_eq!(recorded.entries.len(), 6);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_waits_is_kept_until_it_is_heard() {
        let folder = folder("waits");
        let time = Timestamp::from_millis(7);
        let mut session = SessionFile::create(&folder, head("a1")).unwrap();
        session.add(&Entry::Person { text: "again".to_owned() }, time);
        for text in ["again", "and", "again"] {
            session.waits(text.to_owned(), time);
        }
        session.add(&Entry::Person { text: "again".to_owned() }, time);
        drop(session);
        let (mut session, recorded) = SessionFile::resume(&folder, "a1", time).unwrap();
        assert_eq!(recorded.waiting, ["and", "again"]);
        session.add(&Entry::Person { text: "and".to_owned() }, time);
        drop(session);
        let (_, recorded) = SessionFile::resume(&folder, "a1", time).unwrap();
        assert_eq!(recorded.waiting, ["again"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out_and_spoils_nothing() {
        let folder = folder("cut");
        drop(SessionFile::create(&folder, head("a1")).unwrap());
        let path = folder.join("a1.jsonl");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"time\":9,\"event\":\"note\",\"text\":\"whole\"}\n{\"time\":9,\"event\":\"no").unwrap();
        drop(file);
        let (mut session, recorded) = SessionFile::resume(&folder, "a1", Timestamp::from_millis(9)).unwrap();
        assert_eq!(recorded.entries.len(), 1);
        session.add(&Entry::Note { text: "after".to_owned() }, Timestamp::from_millis(9));
        drop(session);
        let (_, recorded) = SessionFile::resume(&folder, "a1", Timestamp::from_millis(9)).unwrap();
        assert_eq!(recorded.entries.len(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    /// A disk with room for so many bytes.
    struct Disk {
        written: Vec<u8>,
        bytes_max: usize,
    }

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.bytes_max - self.written.len());
            self.written.extend_from_slice(&bytes[..count]);
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_was_full_costs_no_line_that_comes_later() {
        let mut disk = Disk { written: Vec::new(), bytes_max: 7 };
        let mut cut_off = false;
        write_line(&mut disk, "one\n", &mut cut_off).unwrap();
        write_line(&mut disk, "second\n", &mut cut_off).unwrap_err();
        write_line(&mut disk, "third\n", &mut cut_off).unwrap_err();
        disk.bytes_max = 100;
        write_line(&mut disk, "four\n", &mut cut_off).unwrap();
        write_line(&mut disk, "five\n", &mut cut_off).unwrap();
        assert_eq!(String::from_utf8(disk.written).unwrap(), "one\nsec\nfour\nfive\n");
    }

    #[test]
    fn sessions_that_are_none_are_told_apart() {
        let folder = folder("none");
        let now = Timestamp::from_millis(9);
        assert!(matches!(SessionFile::latest(&folder), Err(SessionError::None { .. })));
        assert!(matches!(SessionFile::resume(&folder, "../x", now), Err(SessionError::Unknown { .. })));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.jsonl"), "something else\n").unwrap();
        assert!(matches!(SessionFile::resume(&folder, "a", now), Err(SessionError::Foreign { .. })));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn words_are_written_a_sentence_at_a_time() {
        for (text, end) in [
            ("One", None),
            ("One. Tw", Some(4)),
            ("A 3.5 m", None),
            ("One.", None),
            ("a\nb", Some(2)),
            ("好。再", Some(6)),
        ] {
            assert_eq!(sentence_end(text), end, "{text}");
        }
    }
}

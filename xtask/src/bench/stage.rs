//! The processes of the benchmark: the fake provider, nginx and Steadfast, each on a free port and
//! with its files in a folder of its own. Nothing of the system's is touched; all end with this one.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

/// A process that takes longer to listen does not start any more.
const START_MAX: Duration = Duration::from_secs(20);

/// A tick of the kernel's accounting is 10 ms on Linux.
const TICK: Duration = Duration::from_millis(10);

/// Where all files of a run are; removed at its end.
pub(crate) struct Folder(PathBuf);

/// A running process and where it listens. Dropping it ends it.
pub(crate) struct Served {
    child: Child,
    pub(crate) addr: SocketAddr,
}

impl Folder {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("steadfast-bench-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The provider: keeps no bodies and says nothing.
pub(crate) fn fake(folder: &Folder, binary: &Path) -> anyhow::Result<Served> {
    let addr = free_port()?;
    let mut command = Command::new(binary);
    command.args(["fake", "--quiet", "--listen", &addr.to_string()]);
    start(command, addr, folder, "fake")
}

/// Steadfast as it comes: the default policy, with decision log, metrics and a store of its own.
pub(crate) fn steadfast(folder: &Folder, binary: &Path, upstream: SocketAddr) -> anyhow::Result<Served> {
    keeping(folder, binary, upstream, true)
}

/// The same, which keeps requests in its store or does not.
pub(crate) fn keeping(folder: &Folder, binary: &Path, upstream: SocketAddr, keeps: bool) -> anyhow::Result<Served> {
    let addr = free_port()?;
    let own = folder.0.join(format!("steadfast-{}", addr.port()));
    fs::create_dir_all(&own)?;
    let log = own.join("decisions.jsonl");
    let config = own.join("steadfast.toml");
    let text = format!(
        "listen = \"{addr}\"\n\
         [endpoints.openai]\ndialect = \"openai\"\nurl = \"http://{upstream}\"\n\
         [log]\ndecisions = {{ path = \"{}\" }}\n\
         [store]\nurl = \"sqlite:{}\"\nrequests = {keeps}\n",
        log.display(),
        own.join("steadfast.db").display()
    );
    fs::write(&config, text)?;
    let mut command = Command::new(binary);
    command.arg("serve").arg("--config").arg(config);
    let served = start(command, addr, folder, "steadfast")?;
    ensure!(log.exists(), "Steadfast writes no decision log: the comparison would not be fair");
    Ok(served)
}

/// nginx as a bare reverse proxy: as many workers as Steadfast has, kept connections, no buffering.
pub(crate) fn nginx(folder: &Folder, upstream: SocketAddr, workers: usize) -> anyhow::Result<Served> {
    let addr = free_port()?;
    let own = folder.0.join("nginx");
    fs::create_dir_all(&own)?;
    let place = own.display();
    let config = own.join("nginx.conf");
    let text = format!(
        "daemon off;
worker_processes {workers};
worker_rlimit_nofile 20000;
pid {place}/nginx.pid;
error_log {place}/error.log warn;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  keepalive_requests 1000000000;
  client_body_buffer_size 64k;
  client_max_body_size 64m;
  upstream provider {{ server {upstream}; keepalive 256; keepalive_requests 1000000000; }}
  server {{
    listen {addr} backlog=4096;
    location / {{
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_buffering off;
    }}
  }}
}}
"
    );
    fs::write(&config, text)?;
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx", "/usr/local/nginx/sbin/nginx"];
    let Some(program) = program.iter().find(|program| Path::new(program).exists()) else {
        bail!("nginx is not installed; it is what Steadfast is measured against: apt-get install -y nginx-light");
    };
    let mut command = Command::new(program);
    command.arg("-p").arg(&own).arg("-c").arg(config).arg("-e").arg(own.join("error.log"));
    start(command, addr, folder, "nginx")
}

impl Served {
    /// Processor time of the process and its children so far.
    pub(crate) fn processor_time(&self) -> Duration {
        self.family().into_iter().filter_map(|id| stat(id, &[13, 14])).map(|ticks| TICK * ticks).sum()
    }

    /// Resident memory of the process and its children, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let kib = self.family().into_iter().filter_map(|id| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
        });
        kib.sum::<u64>() * 1024
    }

    fn family(&self) -> Vec<u32> {
        let own = self.child.id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        std::iter::once(own).chain(children.split_whitespace().filter_map(|id| id.parse().ok())).collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // nginx's master must live long enough to end its workers.
        let _ = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fields of a process's stat added up; the numbers count from 0.
fn stat(id: u32, fields: &[usize]) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before it may contain anything.
    let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.iter().map(|field| rest.get(field - 2)?.parse::<u32>().ok()).sum()
}

fn start(mut command: Command, addr: SocketAddr, folder: &Folder, name: &str) -> anyhow::Result<Served> {
    let said = folder.0.join(format!("{name}-{}.err", addr.port()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said)?);
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let mut served = Served { child, addr };
    let until = Instant::now() + START_MAX;
    while TcpStream::connect(addr).is_err() {
        if let Ok(Some(status)) = served.child.try_wait() {
            bail!("{name} ended with {status}: {}", fs::read_to_string(&said).unwrap_or_default());
        }
        ensure!(Instant::now() < until, "{name} does not listen on {addr}");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(served)
}

fn free_port() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

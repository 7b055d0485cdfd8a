//! What a healthy answer costs the fake: processor time of its own threads per request, with as many
//! clients as the gateway's benchmark has. Clients run in the same process and on the same cores, so
//! requests per second say what both can do together.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and says by panicking")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use steadfast_fake::Fake;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

const CONNECTIONS: usize = 64;
const SECONDS: u64 = 3;
const ROUNDS: u32 = 4;

fn main() {
    let server = Builder::new_multi_thread().worker_threads(2).thread_name("fake").enable_all().build().unwrap();
    let clients = Builder::new_multi_thread().worker_threads(2).thread_name("client").enable_all().build().unwrap();
    let fake = server.block_on(async { Fake::start().await.unwrap() });
    let prompt = "x".repeat(2000);
    for round in 1..=ROUNDS {
        // Interleaved: what else runs on the machine must not favour one of them.
        for (name, stream, keeps) in
            [("whole", false, false), ("stream", true, false), ("whole, bodies kept", false, true)]
        {
            fake.keep_bodies(keeps);
            fake.reset_counts();
            let body = format!(
                "{{\"model\":\"gpt-5\",\"stream\":{stream},\"messages\":[{{\"role\":\"user\",\"content\":\"{prompt}\"}}]}}"
            );
            let length = body.len();
            let request =
                format!("POST /v1/chat/completions HTTP/1.1\r\nhost: fake\r\ncontent-length: {length}\r\n\r\n{body}");
            let end: &[u8] = if stream { b"data: [DONE]\n\n\r\n0\r\n\r\n" } else { b"\"fp_fake000000\"}" };
            let (before, begun) = (processor_time(), Instant::now());
            let count = clients.block_on(load(fake.addr(), request, end));
            let (used, seconds) = (processor_time() - before, begun.elapsed().as_secs_f64());
            assert_eq!(count, fake.count("") as u64, "answers read and requests received");
            let (each, cores) = (used.as_secs_f64() * 1e6 / count as f64, used.as_secs_f64() / seconds);
            let rate = count as f64 / seconds;
            println!("{round}  {name:<20} {rate:>8.0} requests/s  {each:>5.1} us of processor each  {cores:.2} cores");
        }
    }
}

async fn load(addr: SocketAddr, request: String, end: &'static [u8]) -> u64 {
    let until = Instant::now() + Duration::from_secs(SECONDS);
    let mut running = Vec::new();
    for _ in 0..CONNECTIONS {
        let request = request.clone();
        running.push(tokio::spawn(async move {
            let mut socket = TcpStream::connect(addr).await.unwrap();
            socket.set_nodelay(true).unwrap();
            let mut buffer = vec![0; 64 * 1024];
            let mut count = 0;
            while Instant::now() < until {
                socket.write_all(request.as_bytes()).await.unwrap();
                let mut read = 0;
                while !buffer[..read].ends_with(end) {
                    let more = socket.read(&mut buffer[read..]).await.unwrap();
                    assert_ne!(more, 0, "the fake hung up");
                    read += more;
                }
                assert!(buffer.starts_with(b"HTTP/1.1 200 OK\r\n"));
                count += 1;
            }
            count
        }));
    }
    let mut count = 0;
    for client in running {
        count += client.await.unwrap();
    }
    count
}

/// What the fake's own threads have used so far; zero where the system does not tell.
fn processor_time() -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let times = threads.filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        let rest = stat.rsplit_once(')').filter(|(name, _)| name.ends_with("(fake"))?.1;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        // A tick is 10 ms on Linux.
        Some(Duration::from_millis(ticks * 10))
    });
    times.sum()
}

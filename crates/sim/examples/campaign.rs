//! A swarm campaign: `campaign <requests> <first seed>`.
fn main() {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let requests = args.first().copied().unwrap_or(1_000_000);
    let start = std::time::Instant::now();
    match steadfast_sim::campaign(args.get(1).copied().unwrap_or(0), requests) {
        Ok(done) => {
            println!(
                "{} runs, {} requests, {} attempts in {:.1?}",
                done.runs,
                done.requests,
                done.attempts,
                start.elapsed()
            );
            for rare in steadfast_sim::Rare::ALL {
                println!("{:10} {}", done.rare.count(*rare), rare.words());
            }
        }
        Err(trouble) => println!("{trouble}"),
    }
}

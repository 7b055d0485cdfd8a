//! `steadfast doctor`: whether everything between a client and its models is in order, and what to do where it is not.
//!
//! It says what it looked at and nothing more: a connection that stands is no key that works.

mod checks;
pub(crate) mod probe;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{data, environment, load, talk};
use crate::cli::SourceArgs;
use crate::clients::{Base, Client};
use crate::decisions;

/// What to look at.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Wait for a request from this client as well
    #[arg(long, value_enum, value_name = "CLIENT")]
    client: Option<Client>,
    /// How long to wait for it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// What came of one check.
#[derive(Debug)]
struct Finding {
    check: String,
    verdict: Verdict,
    /// What was found.
    what: String,
    /// What to do about it; empty where there is nothing to do.
    fix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// It may be meant.
    Warn,
    Fail,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Finding {
    fn pass(check: impl Into<String>, what: impl Into<String>) -> Self {
        Self { check: check.into(), verdict: Verdict::Pass, what: what.into(), fix: String::new() }
    }

    fn warn(check: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), verdict: Verdict::Warn, what: what.into(), fix: fix.into() }
    }

    fn fail(check: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), verdict: Verdict::Fail, what: what.into(), fix: fix.into() }
    }
}

pub(crate) fn run(args: &DoctorArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let mut report = Report { json: args.json, findings: Vec::new() };
    examine(args, sources, &mut report)?;
    report.finish()
}

fn examine(args: &DoctorArgs, sources: &SourceArgs, report: &mut Report) -> anyhow::Result<()> {
    let loaded = match load(sources) {
        Ok(loaded) => loaded,
        Err(problems) => {
            let fix = "mend it; `steadfast config check` says the same";
            return report.add(Finding::fail("configuration", problems.to_string(), fix));
        }
    };
    report.add(checks::configuration(sources, &loaded))?;
    let mut config = loaded.config;
    let environment = environment();
    report.add(checks::log(&config, &environment))?;
    // The log that `serve` would write is the one to wait at.
    let _ = decisions::with_default(&mut config, &environment);
    if let Some(finding) = checks::shared(&config) {
        report.add(finding)?;
    }
    for finding in checks::endpoints(&config) {
        report.add(finding)?;
    }
    let base = Base::new(config.listen, None);
    let gateway = checks::gateway(&config);
    let answers = gateway.iter().all(|finding| finding.verdict != Verdict::Fail);
    for finding in gateway {
        report.add(finding)?;
    }
    for finding in checks::clients(&base, &environment) {
        report.add(finding)?;
    }
    if !answers {
        return Ok(());
    }
    report.add(checks::request(&config))?;
    if let Some(client) = args.client {
        if !args.json {
            talk(&format!("waiting up to {} s for a request: use {} now", args.wait, client.name()));
        }
        report.add(checks::arrival(&config, client, Duration::from_secs(args.wait)))?;
    }
    Ok(())
}

/// What was found so far; a person sees each line as it is found.
struct Report {
    json: bool,
    findings: Vec<Finding>,
}

impl Report {
    fn add(&mut self, finding: Finding) -> anyhow::Result<()> {
        if !self.json {
            data(&format!("{}  {:<22} {}", finding.verdict.name(), finding.check, finding.what))?;
            if !finding.fix.is_empty() {
                data(&format!("      {:<22} -> {}", "", finding.fix))?;
            }
        }
        self.findings.push(finding);
        Ok(())
    }

    fn finish(self) -> anyhow::Result<ExitCode> {
        let count = |verdict| self.findings.iter().filter(|finding| finding.verdict == verdict).count();
        let (warnings, failures) = (count(Verdict::Warn), count(Verdict::Fail));
        if self.json {
            let checks: Vec<_> = self.findings.iter().map(Finding::json).collect();
            data(&format!("{:#}", json!({ "ok": failures == 0, "checks": checks })))?;
        } else {
            let total = self.findings.len();
            data(&format!("\n{total} checks, {warnings} to look at, {failures} failed"))?;
        }
        Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Finding {
    fn json(&self) -> serde_json::Value {
        let fix = (!self.fix.is_empty()).then_some(&self.fix);
        json!({ "check": self.check, "verdict": self.verdict.name(), "what": self.what, "fix": fix })
    }
}

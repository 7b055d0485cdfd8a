//! The tables of the supervisor, the council and the surroundings as they are written.

use crate::agents::AgentOutput;
use crate::config::{DecisionLog, Store};
use crate::read::{Named, Word, Words, section};
use crate::value::{Count, SecretRef, TextOrRef, Wait, WebUrl};

section! {
    /// How the supervisor starts an agent. `claude`, `codex`, `gemini`, `opencode` and `openclaw` are known and are
    /// changed under their names; every other name is an agent of your own.
    RawAgent {
        /// The program and its arguments; `{task}`, `{task_file}`, `{model}`, `{label}`, `{session}`, `{project}`,
        /// `{attempt}`, `{gateway}` and `{arguments}` are filled in. Needed, but for the known ones and those that are
        /// like them.
        command: Vec<String>,
        /// The same to go on with a conversation after a restart. Default: none, it begins anew; with a known
        /// agent's own command, that agent's.
        resume: Vec<String>,
        /// The agent it behaves like, for everything that is not said here. Default: the known one of its name.
        like: String,
        /// What it writes: `text`, `claude`, `codex`, `gemini`, `opencode` or `openclaw`. Default `"text"`: its exit
        /// status says how it ended.
        output: Word<AgentOutput>,
        /// Variables it is started with. Default: none beyond the supervisor's own. A value is text, or
        /// `{ env = "NAME" }` for secrets.
        environment: Named<TextOrRef>,
        /// Variables it is started with while the gateway runs, to point it there; `{gateway}` is the address,
        /// with the task's project and session in it, `{key}` a key that opens it while the task runs, where its
        /// project has keys. Default: none.
        gateway: Named<String>,
        /// The address that answers while it can work, asked before every attempt and every 30 seconds while it
        /// runs. Default: the gateway's, where it is pointed there; otherwise none, and it counts as well.
        health: WebUrl,
        /// How long one attempt may take. Default `"2h"`.
        timeout: Wait,
        /// How long it may write nothing before it counts as stuck. Default `"15m"`: longer than its own retries and
        /// than most of what it runs.
        silence: Wait,
    }
}

section! {
    /// A local service that agents need.
    RawService {
        /// The address that answers while it is well. Default: none, only its process is watched.
        health: WebUrl,
        /// The program that starts it, with its arguments. Default: none, it is only watched.
        start: Vec<String>,
        /// The rest between two restarts. Default `"10s"`: a service that dies at once must not spin.
        cooldown: Wait,
        /// How long it may take to be well after a start. Default `"10s"`.
        settle: Wait,
        /// Run after every start, to make known again what it forgot; `{project}` is filled in. Default: none.
        register: Vec<String>,
    }
}

section! {
    /// The council: several models in one terminal.
    RawCouncil {
        /// Who speaks, in order. Default: nobody.
        members: Vec<String>,
        /// What each member is, by its name.
        member: Named<RawMember>,
        /// The policy of its turns. Default `"council"`: retry, defer, ask, degrade.
        policy: String,
        /// A file with one JSON line per retry, question and recovery. Default: none.
        metrics: String,
        /// MCP servers whose tools members may call, by name.
        tools: Named<RawToolServer>,
        /// How long a tool may take before the member goes on without it. Default `"3s"`: people are waiting.
        tool_timeout: Wait,
    }
}

section! {
    /// An MCP server, spoken with over its standard input and output.
    RawToolServer {
        /// The program and its arguments.
        command: Vec<String>,
    }
}

section! {
    /// One voice in a council.
    RawMember {
        /// The model that speaks. Default: the model of the member's own name, where there is one.
        model: String,
        /// Where it may fall back to, in order, after a question. Default: the model's own chain; its own name alone
        /// means never.
        fallback: Vec<String>,
        /// What it is told about itself, beyond its name and who else is there. Default: nothing.
        prompt: String,
    }
}

section! {
    /// Where events, sessions and tasks are kept.
    RawStore {
        /// `"sqlite:path"` or `"postgres://…"`, as text or as `{ env = "NAME" }`. Default: `steadfast.db` in the
        /// user's folder for state, beside the decision log.
        url: TextOrRef,
        /// For how many days requests, sums, alerts and sessions are kept. Default 30.
        keep_days: Count<1, { Store::KEEP_DAYS_MAX }>,
        /// Whether requests are kept at all. Default `true`; `false` keeps what people make (policies, projects,
        /// keys) and tasks alone, and the analytics stay empty.
        requests: bool,
        /// For how long the last turn of each session is held in memory, so that a person can have it tried
        /// again; it is never written down. Default `"1h"`; `"0s"` holds none.
        turns: Wait,
    }
}

section! {
    /// What replicas share: breakers, rate limits, budgets.
    RawShared {
        /// `"redis://…"` or `"rediss://…"`, as text or as `{ env = "NAME" }`. Default: none, in memory.
        url: TextOrRef,
        /// What every key there begins with. Default `"steadfast"`; replicas with another one share nothing with these.
        prefix: String,
    }
}

section! {
    /// What is logged.
    RawLog {
        /// A file with one JSON line per decision. Default: none.
        decisions: RawDecisionLog,
    }
}

section! {
    /// The decision log.
    RawDecisionLog {
        /// Its path. Needed.
        path: String,
        /// A new file is begun at this size in MiB. Default 64: opens in any editor.
        rotate_mb: Count<1, { DecisionLog::ROTATE_MB_MAX }>,
        /// How many old files are kept. Default 8: half a GiB in all.
        keep: Count<0, { DecisionLog::KEEP_MAX }>,
    }
}

section! {
    /// OpenTelemetry traces, sent as OTLP over HTTP with JSON. The standard variables win over this table:
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`,
    /// `OTEL_SERVICE_NAME`. `OTEL_SDK_DISABLED=true` and `OTEL_TRACES_EXPORTER=none` switch it off.
    RawTraces {
        /// The collector's address, such as `"http://127.0.0.1:4318"`; where it has no path, `/v1/traces` is
        /// asked. Default: none, nothing is traced.
        endpoint: WebUrl,
        /// The name traces carry as `service.name`. Default `"steadfast"`.
        service: String,
        /// Headers sent to the collector. Default: none. A value is text, or `{ env = "NAME" }` for secrets.
        headers: Named<TextOrRef>,
    }
}

section! {
    /// The proxy through which providers are reached over HTTPS. The standard variables win over this table:
    /// `HTTPS_PROXY` or `ALL_PROXY`, and `NO_PROXY`, in large letters or small. `http://` addresses and this machine's
    /// own are always reached directly.
    RawProxy {
        /// `"http://host:port"`, as text or as `{ env = "NAME" }`; a user and a password may stand before the host.
        /// Default: none.
        url: TextOrRef,
        /// Hosts that are reached without it: names with what lies below them, addresses, or networks such as
        /// `"10.0.0.0/8"`. Default: none.
        except: Vec<String>,
    }
}

section! {
    /// Who is told when things go wrong.
    RawAlerts {
        /// An address that is sent each alert as JSON, as text or as `{ env = "NAME" }`. Default: none.
        webhook: TextOrRef,
        /// The secret with which what is sent there is signed: `{ env = "NAME" }` or `{ file = "path" }`. Default:
        /// none, and no signature.
        secret: SecretRef,
        /// A program that is run for each alert, which it reads as JSON. Default: none.
        command: Vec<String>,
    }
}

section! {
    /// The control API and the dashboard.
    RawAdmin {
        /// The token they ask for: `{ env = "NAME" }` or `{ file = "path" }`. Default: none, which is only allowed
        /// while listening on this machine alone.
        token: SecretRef,
    }
}

impl Words for AgentOutput {
    const NOUN: &'static str = "output";

    fn all() -> Vec<(&'static str, Self)> {
        vec![
            ("text", Self::Text),
            ("claude", Self::Claude),
            ("codex", Self::Codex),
            ("gemini", Self::Gemini),
            ("opencode", Self::Opencode),
            ("openclaw", Self::Openclaw),
        ]
    }
}

//! Alerts: the few situations in which a person should know (SPEC 4.5).
//!
//! Told what happens, [`Watches`] say when a line is crossed and when that is over again. Between the
//! two they keep quiet: an alert is raised once, however often its cause repeats.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::time::Instant;
use crate::window::Window;

/// Ten failures of a project in five minutes are many (000).
const MANY: u64 = 10;
const MANY_WINDOW: Duration = Duration::from_secs(300);

/// More than five failures of a model in a row are too many (004).
const IN_A_ROW: u32 = 5;

/// Three in ten requests for a model that others had to serve are too many (004), where there were
/// enough of them within the hour to speak of a rate.
const FALLBACK_PERCENT: u64 = 30;
const FALLBACK_WINDOW: Duration = Duration::from_secs(3600);
const FALLBACK_FLOOR: u64 = 10;

/// A chain that failed has served for so long before it is said to be well. One that fails now and then would be told
/// with every request else: rows of successes are no sign where there is much traffic.
const CHAIN_CALM: Duration = Duration::from_secs(300);

/// Clients choose the names of models: no more than this many are watched.
const MODELS_MAX: usize = 1024;

/// Something a person should know, or need no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// What is the matter.
    pub concern: Concern,
    /// Whose: the project's of many failures, the model's otherwise.
    pub about: Arc<str>,
    /// Whether it begins or is over.
    pub raised: bool,
    /// How much of it there is: failures, or percent.
    pub figure: u64,
}

/// What is the matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Concern {
    /// A project meets too many failures in a short time.
    ManyFailures,
    /// A model is replaced too often.
    FallbackRate,
    /// Nobody in a model's chain could serve.
    ChainFailed,
    /// A model fails and fails.
    InARow,
}

/// Watches over every project and model.
#[derive(Debug, Default)]
pub struct Watches {
    projects: HashMap<Arc<str>, ProjectWatch>,
    models: HashMap<Arc<str>, ModelWatch>,
}

#[derive(Debug)]
struct ProjectWatch {
    failures: Window,
    many: bool,
}

#[derive(Debug)]
struct ModelWatch {
    in_a_row: u32,
    row_told: bool,
    chain: Chain,
    /// Good: served by itself. Bad: another had to.
    requests: Window,
    replaced: bool,
}

/// How requests fare with a model and everybody behind it.
///
/// Well --nobody served--> Failed --served--> Serves --five minutes--> Well
///                            ^----nobody-------'
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    Well,
    /// Told, and nobody has served since.
    Failed,
    /// Told, and all have been served since then.
    Serves {
        since: Instant,
    },
}

/// How a request for a model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model itself served it.
    Served,
    /// Another served it.
    FellBack,
    /// Nobody did, and failures were the reason.
    Failed,
}

impl Watches {
    /// An attempt of this project failed at this model.
    pub fn failed(&mut self, project: &Arc<str>, model: &Arc<str>, now: Instant, tell: &mut impl FnMut(Alert)) {
        let watch = self.projects.entry(Arc::clone(project)).or_insert_with(ProjectWatch::new);
        watch.failures.bad(now);
        let failures = watch.failures.counts(now).bad;
        if failures >= MANY && !std::mem::replace(&mut watch.many, true) {
            tell(Alert::new(Concern::ManyFailures, project, true, failures));
        }
        let Some(watch) = self.model(model) else { return };
        watch.in_a_row = watch.in_a_row.saturating_add(1);
        if watch.in_a_row > IN_A_ROW && !std::mem::replace(&mut watch.row_told, true) {
            tell(Alert::new(Concern::InARow, model, true, watch.in_a_row.into()));
        }
    }

    /// An attempt at this model served.
    pub fn served(&mut self, model: &Arc<str>, tell: &mut impl FnMut(Alert)) {
        let Some(watch) = self.models.get_mut(model) else { return };
        watch.in_a_row = 0;
        if std::mem::take(&mut watch.row_told) {
            tell(Alert::new(Concern::InARow, model, false, 0));
        }
    }

    /// A request for this model is over.
    pub fn ended(&mut self, model: &Arc<str>, ending: Ending, now: Instant, tell: &mut impl FnMut(Alert)) {
        let Some(watch) = self.model(model) else { return };
        match ending {
            Ending::Served => watch.requests.good(now),
            Ending::FellBack | Ending::Failed => watch.requests.bad(now),
        }
        watch.follow_chain(model, ending, now, tell);
        watch.judge_rate(model, now, tell);
    }

    /// Time has passed: what is over is said to be.
    pub fn pass(&mut self, now: Instant, tell: &mut impl FnMut(Alert)) {
        for (project, watch) in &mut self.projects {
            let failures = watch.failures.counts(now).bad;
            // Half of the line: it would come and go at its edge.
            if watch.many && failures < MANY / 2 {
                watch.many = false;
                tell(Alert::new(Concern::ManyFailures, project, false, failures));
            }
        }
        for (model, watch) in &mut self.models {
            watch.judge_chain(model, now, tell);
            watch.judge_rate(model, now, tell);
        }
    }

    /// The watch over a model; `None` where too many are watched already.
    fn model(&mut self, name: &Arc<str>) -> Option<&mut ModelWatch> {
        if self.models.len() >= MODELS_MAX && !self.models.contains_key(name) {
            self.models.retain(|_, watch| watch.row_told || watch.chain != Chain::Well || watch.replaced);
            if self.models.len() >= MODELS_MAX {
                return None;
            }
        }
        Some(self.models.entry(Arc::clone(name)).or_insert_with(ModelWatch::new))
    }
}

impl ProjectWatch {
    fn new() -> Self {
        Self { failures: Window::new(MANY_WINDOW), many: false }
    }
}

impl ModelWatch {
    fn new() -> Self {
        let requests = Window::new(FALLBACK_WINDOW);
        Self { in_a_row: 0, row_told: false, chain: Chain::Well, requests, replaced: false }
    }

    fn follow_chain(&mut self, model: &Arc<str>, ending: Ending, now: Instant, tell: &mut impl FnMut(Alert)) {
        // What has lasted long enough is over, whatever comes next.
        self.judge_chain(model, now, tell);
        self.chain = match (ending, self.chain) {
            (Ending::Failed, Chain::Well) => {
                tell(Alert::new(Concern::ChainFailed, model, true, 1));
                Chain::Failed
            }
            (Ending::Failed, Chain::Failed | Chain::Serves { .. }) => Chain::Failed,
            (Ending::Served | Ending::FellBack, Chain::Failed) => Chain::Serves { since: now },
            (Ending::Served | Ending::FellBack, known @ (Chain::Well | Chain::Serves { .. })) => known,
        };
    }

    fn judge_chain(&mut self, model: &Arc<str>, now: Instant, tell: &mut impl FnMut(Alert)) {
        if let Chain::Serves { since } = self.chain
            && now.since(since) >= CHAIN_CALM
        {
            self.chain = Chain::Well;
            tell(Alert::new(Concern::ChainFailed, model, false, 0));
        }
    }

    fn judge_rate(&mut self, model: &Arc<str>, now: Instant, tell: &mut impl FnMut(Alert)) {
        let counts = self.requests.counts(now);
        let over = counts.total() >= FALLBACK_FLOOR && counts.bad * 100 > counts.total() * FALLBACK_PERCENT;
        if std::mem::replace(&mut self.replaced, over) != over {
            let percent = (counts.bad * 100).checked_div(counts.total()).unwrap_or(0);
            tell(Alert::new(Concern::FallbackRate, model, over, percent));
        }
    }
}

impl Alert {
    fn new(concern: Concern, about: &Arc<str>, raised: bool, figure: u64) -> Self {
        Self { concern, about: Arc::clone(about), raised, figure }
    }
}

impl Concern {
    /// The name used in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ManyFailures => "many_failures",
            Self::FallbackRate => "fallback_rate",
            Self::ChainFailed => "chain_failed",
            Self::InARow => "in_a_row",
        }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { concern, about, raised, figure } = self;
        match (concern, raised) {
            (Concern::ManyFailures, true) => write!(f, "{figure} failures of the project `{about}` in 5 minutes"),
            (Concern::ManyFailures, false) => write!(f, "the project `{about}` meets few failures again"),
            (Concern::FallbackRate, true) => {
                write!(f, "{figure} % of the requests for `{about}` could not be served by it in the last hour")
            }
            (Concern::FallbackRate, false) => write!(f, "`{about}` serves most of its requests again"),
            (Concern::ChainFailed, true) => write!(f, "every model in the chain of `{about}` failed"),
            (Concern::ChainFailed, false) => write!(f, "requests for `{about}` are served again"),
            (Concern::InARow, true) => write!(f, "{figure} failures of `{about}` in a row"),
            (Concern::InARow, false) => write!(f, "`{about}` serves again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the watches say to a line of events: `f` a failed attempt, `s` a served one, then a request
    /// that ended well `+`, elsewhere `~` or not at all `-`; digits are seconds that pass.
    fn told(script: &str) -> Vec<String> {
        let (project, model): (Arc<str>, Arc<str>) = ("acme".into(), "sonnet".into());
        let mut watches = Watches::default();
        let mut now = Instant::from_millis(0);
        let mut told = Vec::new();
        let mut tell = |alert: Alert| told.push(alert.to_string());
        for word in script.split_whitespace() {
            match word {
                "f" => watches.failed(&project, &model, now, &mut tell),
                "s" => watches.served(&model, &mut tell),
                "+" => watches.ended(&model, Ending::Served, now, &mut tell),
                "~" => watches.ended(&model, Ending::FellBack, now, &mut tell),
                "-" => watches.ended(&model, Ending::Failed, now, &mut tell),
                seconds => {
                    now = now + Duration::from_secs(seconds.parse().unwrap());
                    watches.pass(now, &mut tell);
                }
            }
        }
        told
    }

    #[test]
    fn ten_failures_in_five_minutes_are_told_once_and_then_that_they_are_over() {
        let many = "10 failures of the project `acme` in 5 minutes";
        let over = "the project `acme` meets few failures again";
        assert_eq!(told(&"f s 1 ".repeat(25)), [many]);
        assert_eq!(told(&("f s 1 ".repeat(25) + "400")), [many, over]);
        assert_eq!(told(&("f s 1 ".repeat(25) + "400 " + &"f s 1 ".repeat(10))), [many, over, many]);
    }

    #[test]
    fn many_are_over_at_fewer_than_half_and_not_at_half() {
        // Six at once, and from a minute later on as many more: when the first have left the window, those stay.
        let over = |later: usize| told(&("f s ".repeat(6) + "60 " + &"f s ".repeat(later) + "260")).len() == 2;
        assert!(!over(5) && over(4));
    }

    #[test]
    fn failures_spread_thinly_are_not_many() {
        assert_eq!(told(&"f s 40 ".repeat(100)), [""; 0], "seven or eight in five minutes");
    }

    #[test]
    fn more_than_five_in_a_row_are_told_once_per_row() {
        let row = "6 failures of `sonnet` in a row";
        assert_eq!(told("60 f 60 f 60 f 60 f 60 f"), [""; 0]);
        assert_eq!(told(&"f 60 ".repeat(8)), [row]);
        assert_eq!(told(&("f 60 ".repeat(8) + "s " + &"f 60 ".repeat(6))), [row, "`sonnet` serves again", row]);
    }

    #[test]
    fn a_model_that_is_replaced_too_often_is_told() {
        let often = "50 % of the requests for `sonnet` could not be served by it in the last hour";
        assert_eq!(told(&"+ ~ ".repeat(20)), [often]);
        assert_eq!(told(&("+ ~ ".repeat(20) + "4000")), [often, "`sonnet` serves most of its requests again"]);
        assert_eq!(told(&"+ + + + + + + ~ ~ ~ ".repeat(10)), [""; 0], "three in ten are still tolerated");
    }

    #[test]
    fn a_chain_that_failed_is_told_until_it_has_served_for_five_minutes() {
        let failed = "every model in the chain of `sonnet` failed";
        let over = "requests for `sonnet` are served again";
        assert_eq!(told("- - - ~ 299"), [failed]);
        assert_eq!(told("- - - ~ 300"), [failed, over], "also where nobody asks any more");
        assert_eq!(told("- 600 +"), [failed], "that nobody asked is no sign");
        assert_eq!(told("- + 300 - + 300"), [failed, over, failed, over]);
    }

    #[test]
    fn a_chain_that_fails_now_and_then_is_not_told_with_every_request() {
        let failed = "every model in the chain of `sonnet` failed";
        let of_chain =
            |script: &str| told(script).into_iter().filter(|told| told.contains("chain")).collect::<Vec<_>>();
        assert_eq!(of_chain(&"- + 1 ".repeat(400)), [failed]);
        assert_eq!(of_chain(&("- ".to_owned() + &"+ ".repeat(50) + "200 ").repeat(20)), [failed]);
    }

    #[test]
    fn names_without_end_are_not_watched_without_end() {
        let mut watches = Watches::default();
        for number in 0..10 * MODELS_MAX {
            watches.ended(&format!("m{number}").into(), Ending::Failed, Instant::from_millis(0), &mut |_| {});
        }
        assert_eq!(watches.models.len(), MODELS_MAX);
        let mut told = Vec::new();
        let known: Arc<str> = "m0".into();
        watches.ended(&known, Ending::Served, Instant::from_millis(0), &mut |_| {});
        watches.pass(Instant::from_millis(300_000), &mut |alert| told.push(alert.to_string()));
        assert_eq!(told, ["requests for `m0` are served again"], "who is watched already still is");
    }

    #[test]
    fn for_new_names_those_are_forgotten_of_whom_nothing_was_told() {
        let (project, now) = (Arc::from("acme"), Instant::from_millis(0));
        let mut told = Vec::new();
        let mut tell = |alert: Alert| told.push(format!("{} {}", alert.concern.as_str(), alert.about));
        let mut watches = Watches::default();
        let [row, chain, often]: [Arc<str>; 3] = ["row", "chain", "often"].map(Arc::from);
        (0..6).for_each(|_| watches.failed(&project, &row, now, &mut tell));
        watches.ended(&chain, Ending::Failed, now, &mut tell);
        (0..10).for_each(|_| watches.ended(&often, Ending::FellBack, now, &mut tell));
        for number in 0..2 * MODELS_MAX {
            watches.ended(&format!("m{number}").into(), Ending::Served, now, &mut tell);
        }
        watches.served(&row, &mut tell);
        watches.ended(&chain, Ending::Served, now, &mut tell);
        watches.pass(now + CHAIN_CALM, &mut tell);
        (0..30).for_each(|_| watches.ended(&often, Ending::Served, now, &mut tell));
        assert_eq!(
            told,
            [
                "in_a_row row",
                "chain_failed chain",
                "fallback_rate often",
                "in_a_row row",
                "chain_failed chain",
                "fallback_rate often"
            ],
            "each is told once, and once that it is over"
        );
    }
}

//! What one rule of the table says.

use crate::evidence::Surface;
use crate::kind::FailureKind;

/// One line of the table: what to look for, and what it means.
///
/// A rule matches when any of its codes or any of its texts is found. Texts are regular
/// expressions over flattened lower-case text that begin with a word and are bounded; `~` in them
/// stands for up to sixty bytes of anything, and `&` for "failed to" in all its wordings.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable name, `<group>.<cause>`; logs and dashboards show it.
    pub name: &'static str,
    /// What it means.
    pub kind: FailureKind,
    /// How much it proves.
    pub weight: Weight,
    /// Error codes, types, reasons and exception names.
    pub codes: &'static [&'static str],
    /// Phrases.
    pub texts: &'static [&'static str],
    /// Holds only under one of these HTTP statuses, where given.
    pub statuses: &'static [u16],
    /// The kind it means on one surface, where that differs.
    pub on: Option<(Surface, FailureKind)>,
    /// The allowance belongs to a time window: one that frees up within the hour is a rate limit.
    pub window: bool,
    /// A text that this rule, and no other, decides.
    pub example: &'static str,
    /// Texts that are easily confused with it.
    pub not: &'static [&'static str],
}

/// How much a rule proves. The heaviest match decides; see the module of the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A wrapper or a catch-all code: counts only where nothing better is known.
    Hint,
    /// The HTTP status, a typed transport error, an exit status.
    Status,
    /// A code or phrase that names the class of the failure but may hide a closer cause.
    Class,
    /// A code or phrase that names the cause.
    Cause,
    /// A cause that decides whatever else is said: no money, too many tokens, a bad certificate.
    Decisive,
}

/// A rule of this name and kind that names a cause.
pub(super) const fn rule(name: &'static str, kind: FailureKind) -> Rule {
    Rule {
        name,
        kind,
        weight: Weight::Cause,
        codes: &[],
        texts: &[],
        statuses: &[],
        on: None,
        window: false,
        example: "",
        not: &[],
    }
}

/// A rule about a connection. The same words after the response began mean a cut stream.
pub(super) const fn connection(name: &'static str, kind: FailureKind) -> Rule {
    rule(name, kind).on(Surface::Stream, FailureKind::StreamInterrupted)
}

impl Rule {
    /// Sets the codes. One that looks like an identifier (`insufficient_quota`, `ECONNRESET`,
    /// `ThrottlingException`) counts anywhere as a word, any other only as the value of a field.
    pub(super) const fn code(mut self, codes: &'static [&'static str]) -> Self {
        self.codes = codes;
        self
    }

    /// Sets the phrases.
    pub(super) const fn text(mut self, texts: &'static [&'static str]) -> Self {
        self.texts = texts;
        self
    }

    /// Sets the statuses under which it holds.
    pub(super) const fn status(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }

    /// Means `kind` where it is seen on `surface`.
    pub(super) const fn on(mut self, surface: Surface, kind: FailureKind) -> Self {
        self.on = Some((surface, kind));
        self
    }

    /// Decides whatever else is said.
    pub(super) const fn decisive(mut self) -> Self {
        self.weight = Weight::Decisive;
        self
    }

    /// Names only the class of the failure.
    pub(super) const fn class(mut self) -> Self {
        self.weight = Weight::Class;
        self
    }

    /// Counts only where nothing better is known.
    pub(super) const fn hint(mut self) -> Self {
        self.weight = Weight::Hint;
        self
    }

    /// Belongs to a time window.
    pub(super) const fn window(mut self) -> Self {
        self.window = true;
        self
    }

    /// Sets the text that must be decided by this rule.
    pub(super) const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// Sets the texts that must not be.
    pub(super) const fn not(mut self, not: &'static [&'static str]) -> Self {
        self.not = not;
        self
    }

    /// The kind it means on `surface`.
    pub fn kind_on(&self, surface: Surface) -> FailureKind {
        match self.on {
            Some((special, kind)) if special == surface => kind,
            _ => self.kind,
        }
    }

    /// Its place in the order of precedence: weight first, then kind.
    pub(super) fn precedence(&self) -> u16 {
        precedence(self.weight, self.kind)
    }
}

/// The place of a match in the order of precedence; the highest decides.
pub(super) fn precedence(weight: Weight, kind: FailureKind) -> u16 {
    let place = PRECEDENCE.iter().position(|listed| *listed == kind).unwrap_or(PRECEDENCE.len());
    // That something was blocked is also said of keys, addresses and accounts: only the cause tells.
    let place = if weight == Weight::Class && kind == FailureKind::ContentFilter { PRECEDENCE.len() } else { place };
    // One weight is worth more than any kind.
    (weight as u16) * 32 + (31 - place.min(31) as u16)
}

/// The place of a match whose words are said in passing: behind every plain statement of the next
/// lower weight, but before any status. Places of kinds leave the lower third of each weight free.
pub(super) fn in_passing(precedence: u16) -> u16 {
    let weight = precedence / 32;
    let lower = if weight > Weight::Class as u16 { weight - 1 } else { weight };
    lower * 32 + (precedence % 32) / 3
}

/// No advice, and no hint in passing, has a higher place; every plain hint has.
pub(super) const ADVICE_MAX: u16 = 31 / 3;

/// The place of a match whose words are advice: behind any status, before nothing at all.
pub(super) fn as_advice(precedence: u16) -> u16 {
    (Weight::Hint as u16) * 32 + (precedence % 32) / 3
}

/// Which kind decides between two matches of one weight: the one that leaves the caller fewer
/// choices comes first. An answer blocked for its content is not helped by money, a request
/// that is too long is not helped by waiting, and a dead process says nothing about why.
const PRECEDENCE: [FailureKind; 18] = [
    FailureKind::ContentFilter,
    FailureKind::QuotaExhausted,
    FailureKind::ContextLimit,
    FailureKind::ModelUnavailable,
    FailureKind::StateLost,
    FailureKind::Overloaded,
    FailureKind::RateLimit,
    FailureKind::AuthError,
    FailureKind::BadOutput,
    FailureKind::InvalidRequest,
    FailureKind::NetworkPermanent,
    FailureKind::Timeout,
    FailureKind::StreamInterrupted,
    FailureKind::NetworkTransient,
    FailureKind::Cancelled,
    FailureKind::ProcessDied,
    FailureKind::ServerError,
    FailureKind::Unknown,
];

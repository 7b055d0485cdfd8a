//! Whatever the reports and their times: the limits hold, and it ends.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Report {
    Success,
    Failure(usize, Option<u16>, Option<u64>),
    Cancel,
    Stray,
}

fn report() -> impl Strategy<Value = Report> {
    let status = proptest::option::of(prop_oneof![Just(429u16), Just(500), Just(503), Just(529)]);
    let retry_after = proptest::option::of(prop_oneof![0u64..40, 0u64..1_000_000_000]);
    prop_oneof![
        1 => Just(Report::Success),
        12 => (0usize..18, status, retry_after).prop_map(|(kind, status, wait)| Report::Failure(kind, status, wait)),
        1 => Just(Report::Cancel),
        1 => Just(Report::Stray),
    ]
}

proptest! {
    #[test]
    fn every_operation_ends_within_its_limits(
        template_index in 0usize..6, face in 0usize..3, strict: bool, auto: bool, seed: u64,
        reports in proptest::collection::vec((report(), 0u64..5_000), 150),
        answers: [bool; 8], limit in proptest::option::of(0u64..200_000),
    ) {
        let name = crate::policy::TEMPLATES[template_index].0;
        let mut script = Script::new(name).face([Face::GATEWAY, Face::TASK, Face::COUNCIL][face]);
        script.policy.escalate.auto = auto;
        script.policy.vendor_boundary = if strict { VendorBoundary::Strict } else { VendorBoundary::Open };
        script.chain = Some(if strict { vec!["haiku"] } else { vec!["haiku", "gpt"] });
        script.project = Project::new("default", 1.0, limit);
        script.needs = Needs { tokens: 500, input_tokens: 400, output_tokens: 100, ..Needs::default() };
        let mut plan = script.start().plan().clone();
        plan.project = Arc::new(Project::new("default", 1.0, limit));
        plan.seed = seed;
        let (project, session) = (Arc::clone(&plan.project), Arc::clone(&plan.session));
        let route = Arc::clone(&plan.route);
        let mut recovery = Recovery::start(plan, script.now);
        let mut now = script.now;
        let mut reports = reports.into_iter();
        let mut answers = answers.into_iter().cycle();
        let (mut starts_in_run, mut restarts, mut highest_rung) = (0, 0, 0);
        let mut steps = 0;
        let outcome = loop {
            steps += 1;
            prop_assert!(steps < 2_000, "it does not end");
            let used = Usage { input_tokens: 400, output_tokens: 50 };
            match recovery.next(&script.world, now) {
                Action::Done(outcome) => break outcome,
                Action::Attempt(attempt) => {
                    prop_assert!(now < attempt.deadline, "no attempt starts at or after the deadline");
                    starts_in_run += 1;
                    prop_assert!(starts_in_run <= script.policy.attempts_max);
                    prop_assert_eq!(attempt.number, starts_in_run);
                    let model = route.model(attempt.target.model.into()).unwrap();
                    prop_assert!(!strict || &*model.vendor == "anthropic", "left the vendor");
                    if route.is_rung(attempt.target.model.into()) {
                        prop_assert!(attempt.target.model >= highest_rung, "an escalation only climbs");
                        highest_rung = attempt.target.model;
                    }
                    let (report, pause) = reports.next().unwrap_or((Report::Success, 0));
                    now = now + Duration::from_millis(pause);
                    if pause % 2 == 0 {
                        recovery.begun(&script.world, now);
                    }
                    match report {
                        Report::Success => _ = recovery.succeeded(used, &script.world, now),
                        Report::Cancel => recovery.cancelled(used, &script.world, now),
                        Report::Stray => {
                            prop_assert!(recovery.answered(Answer::Yes, &script.world, now).is_none());
                            prop_assert!(recovery.repaired(false, &script.world, now).is_none());
                            recovery.failed(Failure::new(FailureKind::Unknown, "test"), used, &script.world, now);
                        }
                        Report::Failure(kind, status, wait) => {
                            let failure = Failure {
                                status,
                                retry_after: wait.map(Duration::from_secs),
                                ..Failure::new(FailureKind::ALL[kind], "test")
                            };
                            let quota = failure.kind == FailureKind::QuotaExhausted;
                            let decision = recovery.failed(failure, used, &script.world, now);
                            prop_assert!(!(quota && decision.step == "retry" && decision.to == Some(decision.from)));
                            let restarts = decision.step == "restart";
                            prop_assert!(decision.wait.is_zero() || restarts || now + decision.wait < recovery.deadline());
                        }
                    }
                }
                Action::Wait(until) => {
                    prop_assert!(until > now, "a wait that waits for nothing spins");
                    prop_assert!(until < recovery.deadline());
                    now = until;
                }
                Action::Restart(due) => {
                    prop_assert!(due > now);
                    restarts += 1;
                    starts_in_run = 0;
                    highest_rung = 0;
                    prop_assert!(restarts <= 3);
                    now = due;
                }
                Action::Defer | Action::Decided(_) => {}
                Action::Ask(question) => {
                    if answers.next() == Some(true) {
                        let answer = if answers.next() == Some(true) { Answer::Yes } else { Answer::No };
                        prop_assert!(recovery.answered(answer, &script.world, now).is_some());
                    } else {
                        now = question.skip;
                    }
                }
                Action::Repair => {
                    recovery.repaired(answers.next() == Some(true), &script.world, now);
                }
            }
            let ledger = project.spend.ledger();
            if let Some(limit) = limit {
                prop_assert!(ledger.reserved_usd_micros + ledger.settled_usd_micros <= limit, "over budget");
            }
            prop_assert!(session.retries_used() <= script.policy.session_retries.max);
        };
        prop_assert_eq!(recovery.next(&script.world, now), Action::Done(outcome));
        prop_assert_eq!(project.spend.ledger().reserved_usd_micros, 0, "money is held after the end");
    }
}

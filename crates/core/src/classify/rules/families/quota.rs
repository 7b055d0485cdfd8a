//! Money, credits, plans, and windows of a day or more.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{QuotaExhausted, RateLimit};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("quota.insufficient", QuotaExhausted)
        .decisive()
        .code(&[
            "insufficient_quota",
            "insufficient_balance",
            "insufficient_balance_error",
            "insufficient_credits",
            "insufficient_credit",
            "insufficient_funds",
            "insufficient_user_quota",
            "insufficient_account_balance",
            "not_enough_credits",
            "out_of_credits",
            "no_credits",
            "credits_exhausted",
            "credit_balance_too_low",
            "balance_not_enough",
            "payment_required",
            "payment_required_error",
            "billing_error",
            "billing_limit_reached",
            "billing_hard_limit_reached",
            "billing_not_active",
            "payment_error",
        ])
        .text(&[
            r"insufficient (?:account |api |user |token |prepaid |remaining |wallet |ai )?(?:balance|credits?|funds|quota)\b",
        ])
        .example("Error: insufficient balance, cannot start the request"),
    rule("quota.balance_low", QuotaExhausted)
        .decisive()
        .text(&[
            r"\b(?:credit|account|api|wallet|prepaid|your) ?(?:credit )?balance~(?:too low|insufficient|exhausted|depleted|negative|used up|run out|not enough|below|is \$?0)",
            r"\bcredits? (?:balance )?(?:is |are |has been |have been |has |have )?(?:too low|insufficient|exhausted|depleted|used up|run out|expired|finished)",
            r"\b(?:negative|zero|no) (?:account |credit )?balance\b",
        ])
        .example("Your account balance is below the minimum."),
    rule("quota.no_credits", QuotaExhausted)
        .decisive()
        .text(&[
            r"\b(?:out of|no remaining|no more|used all|used up|exhausted|exceeded|consumed|not enough|needs? more|requires? more|add more|purchase more|buy more|have enough|have any|lacks?|have 0) (?:of )?(?:(?:your|the|my|its|any|available|prepaid|free|monthly|api|ai|account|trial|included|purchased) ){0,3}(?:credits?|funds)\b",
            "can only afford",
            r"\b(?:top up|add|recharge) (?:your )?(?:balance|credits?|funds|account)",
        ])
        .example("You have run out of credits for this workspace."),
    rule("quota.billing", QuotaExhausted)
        .decisive()
        .text(&[
            r"\bbilling~(?:hard limit|limit (?:has been )?(?:reached|exceeded)|not active|inactive|not enabled|disabled|not configured|overdue|past due)",
            r"\b(?:enable|set ?up|activate|add) billing\b",
            r"\b(?:spend|spending|budget|cost|billing|credit) (?:hard )?(?:limit|cap|budget)s? (?:has been |have been |was |is |of \S{1,12} )?(?:reached|exceeded|hit|exhausted)",
            r"\b(?:reached|exceeded|hit|over|exceeds) (?:\S{1,24} ){0,4}(?:spend|spending|budget|monthly cost|billing limit)\b",
            r"\bbudget (?:has been |was |is )?exceeded",
            r"\b(?:overdue|unpaid|outstanding) (?:payment|invoice|balance|bill)",
            r"\b(?:payment|subscription) (?:required|overdue|past due|is inactive|has expired|expired|lapsed|has ended)",
            r"\bin arrears\b",
            r"\bplease (?:recharge|top up)\b",
            r"\b(?:no|missing|add a|valid) payment method",
            "account (?:is |has been )?suspended due to (?:insufficient|billing|payment|unpaid)",
            r"\b(?:account|subscription)~not (?:in )?good standing|\bin good standing\b",
        ])
        .example("Billing hard limit has been reached for this organization"),
    rule("quota.current_quota", QuotaExhausted)
        .text(&[
            "exceeded (?:your|the) (?:current |account |assigned |plan's |subscription |free )?(?:quota|allocation|allotment|allowance)",
            r"\bquota (?:has been |is |was |limit |limit has been )?(?:exceeded|exhausted|used up|reached|depleted)",
            r"\b(?:exhausted|exceeded|exceeds|reached|used up)~\bquota\b",
            r"\bout of (?:quota|extra usage|usage|messages|requests)\b",
            r"\bno (?:quota|usage) (?:left|remaining|available)",
        ])
        .window()
        .example("You exceeded your current quota of images."),
    rule("quota.plan", QuotaExhausted)
        .code(&[
            "quota_exceeded",
            "quota_exceeded_error",
            "quota_exhausted",
            "usage_limit_reached",
            "usage_limit_exceeded",
            "usage_not_included",
            "limit_requests_exceeded",
            "free_quota_exceeded",
            "quota_limit_exceeded",
            "plan_limit_reached",
            "plan_limit_exceeded",
            "trial_expired",
            "subscription_required",
        ])
        .text(&[
            r"\bused (?:up )?(?:all )?(?:of )?(?:your|the) (?:free|monthly|daily|weekly|included|trial|premium) ?(?:quota|credits?|usage|requests|messages|allowance|tokens)",
            r"\b(?:usage|plan|message|subscription|free|trial|premium request|fast request|opus|sonnet)s? (?:usage )?(?:limit|quota|cap|allowance)s? (?:has been |have been |was |is |for ~)?(?:reached|exceeded|hit|exhausted|used up)",
            r"\b(?:reached|exceeded|hit|exhausted|used up|used all)~(?:usage|plan|message|subscription|free|trial|premium requests?|included) ?(?:tier )?(?:limit|quota|cap|allowance|allocation|usage|inferences)",
            r"\bused all of your\b",
            r"\bfree (?:trial|tier|plan|quota|allocation|credits|usage|period)~(?:expired|exhausted|ended|is over|used up|finished)",
            r"\btrial (?:has |period )?(?:expired|ended|is over)",
            r"\b(?:upgrade|increase) (?:your )?(?:plan|subscription)~(?:continue|more|access|credits)",
            r"\busage limit (?:reached|exceeded)",
            r"you've hit your (?:\S{1,20} ){0,3}limit",
            r"\b(?:hour|hr|hourly) (?:usage |message )?limit (?:reached|exceeded|hit)",
        ])
        .window()
        .example("You have reached your plan limit. Upgrade to continue.")
        .not(&["{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Too many requests\"}}"]),
    rule("quota.window", QuotaExhausted)
        .text(&[
            r"\b(?:day|daily|week|weekly|month|monthly) limit: ?\d",
            r"\b(?:per|a|each|every)[-_ ]?(?:day|week|month|billing cycle|billing period)\b~(?:limit|quota|exceeded|reached|exhausted|used)",
            r"(?:limit|quota|exceeded|reached|exhausted|allowance|used)~\b(?:per|a|each|every)[-_ ]?(?:day|week|month|billing cycle|billing period)\b",
            r"\b(?:daily|weekly|monthly|yearly|today's|this month's|24[- ]?hour)\b~(?:limit|quota|allowance|cap|usage|budget|maximum|rate limit|allocation|calls?|requests)~(?:reached|exceeded|exhausted|hit|used|met|over|consumed|depleted)",
            r"\b(?:reached|exceeded|exhausted|hit|used|over|exceeds|consumed)~\b(?:daily|weekly|monthly|yearly|today's|this month's|24[- ]?hour)\b",
            r"\btry again tomorrow\b",
            r"\b(?:rpd|tpd)\)",
            r"\b(?:requests|tokens|calls|messages|queries)[-_ ]per[-_ ](?:day|week|month)\b",
            r"per(?:day|month|week)(?:per|_|-|\b)",
        ])
        .window()
        .example("You have used 100 of 100 requests allowed per day"),
    // A wait is stated as a long one even where no window is named.
    rule("quota.cooling_down", RateLimit)
        .text(&[r"\bcooling down\b", r"\bin cooldown\b", r"\bcooldown (?:period )?(?:active|in effect)"])
        .class()
        .code(&["model_cooldown", "credential_cooldown"])
        .example("All credentials for model x are cooling down"),
];

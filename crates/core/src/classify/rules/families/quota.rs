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
            r"\bno (?:more|remaining) (?:account )?(?:balance|funds)\b",
            r"\b(?:funds|balance|allowance|quota|credits) (?:has |have )?(?:run|ran) out\b",
            r"\b(?:token|monthly|free|daily) allowance (?:is |was |has been )?(?:depleted|exhausted|used up|spent)\b",
            r"\bout of (?:\S{1,14} ){0,2}(?:credits?|funds|balance)\b",
            r"\btoken_balance[^a-z]{1,6}balance[^a-z0-9]{1,4}0\b",
            r"\b(?:not|n't) have (?:enough|sufficient|any) (?:\S{1,12} ){0,2}(?:balance|credits?|funds|quota|money)\b",

            r"\b(?:ran|run|running) out of (?:\S{1,14} ){0,3}(?:credits?|funds|money|balance|points|coins|quota|budget|minutes|units|neurons)\b",
            r"\b(?:balance|wallet|credits?) (?:is |are |was )?(?:empty|zero|negative|0\b|exhausted|depleted|too low|insufficient)",

            r"\b(?:out of|no remaining|no more|used all|used up|exhausted|exceeded|consumed|not enough|needs? more|requires? more|add more|purchase more|buy more|have enough|have any|lacks?|have 0) (?:of )?(?:(?:your|the|my|its|any|available|prepaid|free|monthly|api|ai|account|trial|included|purchased) ){0,3}(?:credits?|funds)\b",
            "can only afford",
            r"\b(?:top up|add|recharge) (?:your )?(?:balance|credits?|funds|account)",
        ])
        .example("You have run out of credits for this workspace."),
    rule("quota.billing", QuotaExhausted)
        .decisive()
        .text(&[
            r"\bpayments? (?:have|has) (?:recently )?failed\b",
            r"\bspending limit needs to be\b",
            r"\bbilling (?:has )?(?:to be|must be|needs to be) (?:enabled|set up|activated)\b",

            r"\bset inference limit\b",
            r"\bpayment (?:failed|declined|method (?:is |was )?(?:required|missing|declined|invalid|needed)|is required|is needed)\b",
            r"\bsubscription (?:has |is |was )?(?:been )?(?:expired|inactive|cancell?ed|ended|lapsed|paused|suspended|not active)\b",

            r"\bbilling~(?:hard limit|limit (?:has been )?(?:reached|exceeded)|not active|inactive|not enabled|disabled|not configured|overdue|past due)",
            r"\b(?:enable|set ?up|activate|add) billing\b",
            r"\b(?:spend|spending|budget|cost|billing|credit) (?:hard )?(?:limit|cap|budget)s? (?:has been |have been |was |is |of \S{1,12} )?(?:reached|exceeded|hit|exhausted)",
            r"\b(?:reached|exceeded|hit|over) (?:\S{1,24} ){0,4}(?:spend|spending|budget|monthly cost|billing limit)\b",
            r"\bexceeds (?:your|the|its|our|their) (?:\S{1,12} ){0,2}(?:spend|spending|budget|monthly cost|billing limit)\b",
            r"\bbudget (?:has been |was |is )?exceeded",
            r"\b(?:overdue|unpaid|outstanding) (?:payment|invoice|balance|bill)",
            r"\b(?:payment|subscription) (?:required|overdue|past due|is inactive|has expired|expired|lapsed|has ended)",
            r"\bin arrears\b",
            r"\bplease (?:recharge|top up)\b",
            r"\b(?:no|missing|valid) payment method",
            "account (?:is |has been )?suspended due to (?:insufficient|billing|payment|unpaid)",
            r"\b(?:account|subscription)~not (?:in )?good standing|\bin good standing\b",
        ])
        .example("Billing hard limit has been reached for this organization"),
    // What was given for nothing is used up, whatever the provider's word for allowances.
    rule("quota.free_used_up", QuotaExhausted)
        .decisive()
        .window()
        .text(&[
            r"\b(?:free|trial|complimentary|promotional|gifted|signup|sign-up|starter) (?:\S{1,14} ){0,2}(?:quota|allowance|allocation|allotment|credits?|grant|usage|tokens|requests) (?:has been |have been |is |are |was |were |limit )?(?:fully |already )?(?:exceeded|exhausted|used up|depleted|consumed|spent|over)\b",
            r"\b(?:exceeded|exhausted|used up|depleted|consumed|spent) (?:\S{1,12} ){0,3}(?:free|trial|complimentary|promotional|signup|starter) (?:\S{1,14} ){0,2}(?:quota|allowance|allocation|allotment|credits?|grant)\b",
        ])
        .not(&["Allocated quota exceeded, please increase your quota limit"])
        .example("Complimentary token grant exhausted"),
    rule("quota.current_quota", QuotaExhausted)
        .text(&[
            r"\bquota of 0\b",
            r"\bno quota\b",

            r"\bout of (?:call|request|token|api) volume\b",
            r"\bquota (?:for|of) (?:\S{1,16} ){1,4}(?:is|was|has been) (?:reached|exceeded|exhausted|used up)\b",
            r"\bquota (?:will be|is) (?:replenished|renewed|refilled)\b",

            "exceeded (?:your|the) (?:current |account |assigned |plan's |subscription |free )?(?:quota|allocation|allotment|allowance)",
            r"\bquota (?:has been |is |was |limit |limit has been )?(?:exceeded|exhausted|used up|reached|depleted)",
            r"\b(?:exhausted|exceeded|exceeds|reached|used up)~\bquota\b",
            r"\bout of (?:quota|extra usage|usage|messages|requests)\b",
            r"\b(?:you're|you are|account is|is now|are now|ran|run|running) out of (?:[a-z-]{1,14} ){0,2}(?:usage|messages|requests|generations|prompts|queries|responses|tokens|completions)\b",
            r"\b(?:no|zero|0) (?:remaining|available|unused) (?:\S{1,12} )?(?:spend|budget|usage|allowance|allotment|quota|balance)\b",
            r"\bno (?:quota|usage) (?:left|remaining|available)",
        ])
        .window()
        .code(&[
            "insufficient_space",
            "storage_quota_exceeded",
            "storageQuotaExceeded",
            "over_quota",
        ])
        .example("You exceeded your current quota of images."),
    rule("quota.plan", QuotaExhausted)
        .code(&[
            "trial_exhausted",
            "trial_ended",
            "credit_limit_reached",
            "spend_limit_reached",
            "spending_limit_exceeded",
            "monthly_limit_reached",
            "daily_limit_reached",
            "weekly_limit_reached",
            "free_tier_exhausted",
            "quota_reached",
            "QuotaExceededException",
            "QuotaExceededError",
            "QuotaExceeded",
            "QuotaError",
            "UsageLimitReached",
            "UsageLimitExceeded",
            "UsageLimitError",
            "PaymentRequired",
            "PaymentRequiredError",
            "InsufficientQuota",
            "InsufficientCredits",
            "InsufficientCreditsError",
            "InsufficientFunds",
            "CreditsExhausted",
            "CreditLimitExceeded",
            "OutOfCredits",
            "no_active_subscription",
            "plan_upgrade_required",
            "upgrade_required",
            "SubscriptionRequired",

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
            r"\b(?:reached|hit|exceeded) (?:your|the) (?:free )?trial (?:\S{1,12} )?limits?\b",
            r"\b(?:reached|hit|exceeded) (?:your|the|its|my|our) (?:plan|subscription|tier|package|trial)(?:'s)? (?:usage |monthly |daily |weekly |included |credit |token )?(?:limits?|quota|cap|allowance)\b",
            r"\b(?:hit|reached|exceeded) (?:your |the |its )?(?:credit|billing|spend|spending|budget|free tier|free plan) (?:quota|cap|allowance)\b",
            r"\b(?:billing|spending|spend|budget|credit|free tier) (?:quota|cap) (?:was |has been |is )?hit\b",
            r"\b(?:reached|hit|exceeded|over|at) (?:your |the |its |my |our )?(?:credit|spend|spending|budget|billing|payment|dollar) limits?\b",
            r"\bplease upgrade to (?:keep|continue)\b",
            r"\bquota ['\x22`][\w.-]{2,60}['\x22`] (?:was |has been |is )?exceeded\b",
            r"\bmaximum credits exceeded\b",
            r"\b(?:ran|run|running) out of (?:\S{1,14} )?(?:searches|queries|messages|minutes|generations|characters|requests|calls|seconds|images|videos|pages)\b",
            r"\bexceed\w{0,3} (?:of )?(?:your |the )?(?:plan|subscription|trial|tier|package)(?:'s)?(?: (?:set|usage|monthly|daily|included|allotted|credit|search|token|video|image)){0,3} (?:limit|quota|allowance|limitation)s?\b",
            r"\b(?:requests?|usage|call|calls) limitations? of your (?:subscription|plan|account|tier)\b",
            r"\btotal (?:v?cpus?|memory|disk|gpus?|storage|ram) (?:limit|quota) (?:was |has been |is )?(?:exceeded|reached)\b",
            r"\bused (?:up )?(?:all )?(?:of )?(?:your|the) (?:free|monthly|daily|weekly|included|trial|premium) ?(?:quota|credits?|usage|requests|messages|allowance|tokens)",
            r"\b(?:usage|plan|message|subscription|free|trial|premium request|fast request|opus|sonnet)s? (?:usage )?(?:limit|quota|cap|allowance)s? (?:has been |have been |was |is |for ~)?(?:reached|exceeded|hit|exhausted|used up)",
            r"\b(?:reached|exceeded|hit|exhausted|used up|used all)~(?:usage|plan|message|subscription|free|trial|premium requests?|included) ?(?:tier )?(?:limit|quota|cap|allowance|allocation|usage|inferences)",
            r"\bused all of your\b",
            r"\bfree (?:trial|tier|plan|quota|allocation|credits|usage|period)~(?:expired|exhausted|ended|is over|used up|finished)",
            r"\btrial (?:has |period )?(?:expired|ended|is over)",
            r"\b(?:upgrade|increase) (?:your )?(?:plan|subscription)~(?:continue|more|access|credits)",
            r"\busage limit (?:reached|exceeded)",
            r"you've hit your (?:\S{1,20} ){0,3}limit",
            r"\b(?:reached|hit) your (?:\S{1,20} ){0,3}limit\b[^a-z]{1,4}(?:it )?(?:will )?resets?\b",
            r"\b(?:hour|hr|hourly) (?:usage |message )?limit (?:reached|exceeded|hit)",
        ])
        .window()
        .example("You have reached your plan limit. Upgrade to continue.")
        .not(&["{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Too many requests\"}}"]),
    rule("quota.window", QuotaExhausted)
        .text(&[
            r"\b(?:daily|monthly|weekly|yearly) (?:request|call|query|message|token|usage|search) (?:count|total|volume|number) (?:was |has been |is )?(?:exceeded|reached|exhausted)\b",
            r"\b(?:day|month|week) limit (?:for|on) (?:\S{1,14} ){1,5}(?:is|was|has been|been) (?:reached|exceeded|hit)\b",
            r"\breached for (?:this|the) (?:day|week|month|billing \w{5,6})\b",
            r"\b(?:limit|maximum|max|cap)\b~\bfor this (?:day|week|month)\b",

            r"\b(?:day|daily|week|weekly|month|monthly) limit: ?\d",
            r"\b(?:per|a|each|every)[-_ ]?(?:day|week|month|billing cycle|billing period)\b~(?:limit|quota|exceeded|reached|exhausted|used)",
            r"(?:limit|quota|exceeded|reached|exhausted|allowance|used)~\b(?:per|a|each|every)[-_ ]?(?:day|week|month|billing cycle|billing period)\b",
            r"\b(?:daily|weekly|monthly|yearly|today's|this month's|24[- ]?hour)\b~(?:limit|quota|allowance|cap|usage|budget|maximum|rate limit|allocation|calls?|requests)~(?:reached|exceeded|exhausted|hit|used|met|over|consumed|depleted)",
            r"\b(?:reached|exceeded|exhausted|hit|used|over|exceeds|consumed)~\b(?:daily|weekly|monthly|yearly|today's|this month's|24[- ]?hour)\b",
            r"\b(?:only|up to|at most|maximum of|limited to|limit of|allows|allowed) (?:\S{1,12} ){0,2}\d{1,7} (?:\S{1,14} ){1,3}?(?:per|a|each|every) (?:day|week|month)\b",
            r"\btry again tomorrow\b",
            r"\b(?:rpd|tpd)\)",
            r"\blimit_(?:rpd|tpd)\b",
            r"\b(?:requests|tokens|calls|messages|queries)[-_ ]per[-_ ](?:day|week|month)\b",
            r"per(?:day|month|week)(?:per|_|-|\b)",
        ])
        .window()
        .example("You have used 100 of 100 requests allowed per day"),
    // A wait is stated as a long one even where no window is named.
    rule("quota.cooling_down", RateLimit)
        .text(&[
            r"\b(?:all|every|each|both) (?:of )?(?:the |your |our )?(?:\S{1,14} ){0,2}?(?:accounts?|keys?|credentials?|providers?|deployments?|channels?|profiles?|tokens?|endpoints?|pools?) (?:\S{1,12} ){0,2}?(?:are |is |were |have been |has been |currently |temporarily ){0,2}(?:limited|rate[- ]limited|throttled|cooling|in cool-?down|on cool-?down|backing off)\b",r"\bcooling down\b", r"\bin cooldown\b", r"\bcooldown (?:period )?(?:active|in effect)"])
        .class()
        .code(&["model_cooldown", "credential_cooldown"])
        .example("All credentials for model x are cooling down"),
    rule("quota.general", QuotaExhausted)
        .class()
        .window()
        .text(&[
            r"\bexceed(?:s|ed|ing)? (?:\S{1,16} ){0,3}(?:daily|weekly|monthly|annual|spending|cost|max(?:imum)?|total) (?:\S{1,12} )?(?:budget|spend|cap|allowance|allotment)\b",
            r"\b(?:max(?:imum)?|total|daily|weekly|monthly|spend(?:ing)?|cost|project|team|user|key|session|task|api|llm|dollar|usd) (?:budget|spend|spending|cost)(?: limit| cap)?(?: of)?(?: \(?[$]?\d[\d.,]{0,9}\)?)? (?:was |is |has been |already )?(?:exceeded|reached|exhausted|used up|spent|hit)\b",
            r"\b(?:not enough|insufficient|zero|lacking|0) (?:\S{1,14} ){0,2}(?:credits?|funds|points|coins|neurons|balance|money|compute units|inference units)\b",

            r"\bno (?:\S{1,14} ){0,2}(?:credits?|funds|points|coins|neurons|compute units|inference units)(?:[.,;:!)\x22]|$| (?:remaining|left|available|to|for|on|in|and|or|please|balance)\b)",

            r"\bcredits? (?:remaining|left|are required|is required|required|needed)\b",
            r"\b(?:exceeds|exceeding) (?:your|the) (?:remaining |available |account )?(?:credits?|balance|funds)\b",
            r"\b(?:purchase|buy|add|get) (?:more |additional |some )?(?:credits?|funds|tokens|points)\b",
            r"\b(?:points|coins|credits?|tokens|balance|funds) (?:have |has |are |is )?(?:been )?(?:used up|run out|exhausted|depleted|insufficient)\b",
            r"\bpayment (?:failed|declined|method (?:is |was )?(?:required|missing|declined|invalid|needed)|issue|problem|is required|is needed)\b",
            r"\bcard (?:was |has been |is )?(?:declined|expired)\b",
            r"\bsubscription (?:has |is |was )?(?:been )?(?:expired|inactive|cancell?ed|ended|lapsed|paused|suspended|not active|required|needed)\b",
            r"\b(?:spend(?:ing)?|budget|cost|usage) (?:cap|ceiling|threshold|limit)\b~\b(?:reached|exceeded|hit|met|over|exhausted)\b",
            r"\b(?:reached|exceeded|hit|over|above|crossed) (?:\S{1,24} ){0,4}(?:spend(?:ing)?|cost|usage|budget) (?:cap|ceiling|threshold|limit)\b",
            r"\bservice (?:has been|is|was) paused\b",
            r"\b(?:pay|settle) (?:your |the |all )?(?:outstanding|overdue|invoice|bill)",
            r"\bupgrade to (?:a |the |our )?(?:\S{1,14} ){0,3}(?:plan|pro|paid|plus|premium|tier|subscription)\b",
            r"\b(?:paid|pro|plus|premium|enterprise) (?:plan|tier|subscription|account) (?:is )?(?:required|needed|only)\b",
            r"\brequires? (?:a |an )?(?:\S{1,14} )?(?:paid|pro|plus|premium|active) (?:plan|tier|subscription|account)\b",
            r"\b(?:no|without an?) active (?:subscription|plan)\b",
            r"\bsubscribe to (?:continue|keep|get|use|unlock|access|proceed|a |the |our |\S{1,14} (?:pro|plus|max|plan|premium)\b)",
            // Advice: also given to whoever only went over a limit per minute.
            r"\badd (?:a |your |another )?(?:valid |default |new )?(?:payment (?:method|details|information|option)|credit card|billing (?:details|information|method))\b",
            r"\bseat(?:s)? (?:limit|required|exhausted)\b|\bno (?:available )?seats?\b",
        ])
        .not(&[
            "Internal error in this step. No credits consumed on this tool call.",
        ])
        .example("Subscribe to keep going"),
    rule("quota.plan_general", QuotaExhausted)
        .class()
        .window()
        .text(&[
            r"\b(?:reached|hit|exceeded|used|consumed|exhausted) (?:\S{1,14} ){0,4}(?:allotment|allocation|allowance)\b",
            r"\bquota of \d\S{0,12} (?:\S{1,14} )?(?:consumed|used|exhausted|reached|exceeded)\b",

            r"\ballotment\b~\b(?:depleted|exhausted|used|exceeded|consumed)\b",
            r"\b(?:come back|try again|available|resets?|renews?) tomorrow\b",
            r"\b(?:free|daily|monthly|weekly) (?:messages|requests|credits|tokens|generations|questions|usage|uses)\b~\b(?:gone|used|left|exhausted|over|none|spent|finished)\b",
            r"\b(?:has|have) spent (?:its|their|your|all|the)\b",
            r"\bspent (?:its|your|the|their) \S{1,12} (?:limit|budget|credit|allowance)\b",
            r"\b(?:monthly|daily|weekly|annual) (?:\S{1,14} ){0,3}(?:budget|cap|allotment|allocation|allowance|quota|limit)\b~\b(?:depleted|exhausted|hit|reached|exceeded|used|gone|spent|over)\b",
            r"\b(?:hit|reached|exceeded|used|spent|over) (?:\S{1,14} ){0,3}(?:monthly|daily|weekly|annual) (?:\S{1,14} ){0,2}(?:budget|cap|allotment|allocation|allowance|quota|limit)\b",
            r"\b(?:quota|billing|credits?|balance|plan|subscription)\b~\b(?:exhausted|depleted|expired|used up|ran out|insufficient|overdue|past due|suspended)\b",

            r"\btrial\b~\b(?:exhausted|over|ended|expired|used up|finished)\b",
            r"\b(?:included|monthly|plan|subscription|bundled|prepaid|on-demand) (?:\S{1,12} )?(?:usage|quota|requests|tokens|messages|credits?|budget)\b~\b(?:consumed|used up|exhausted|spent|depleted|gone|is over|are over)\b",
            r"\b(?:spend|spending|budget|cost|billing|dollar|hard|usd) (?:\S{1,12} )?(?:threshold|cap|ceiling)\b~\b(?:hit|reached|exceeded|crossed|met)\b",
            r"\bused all (?:of )?your\b",
            r"\bused up (?:all )?(?:of )?(?:your|the)\b",
            r"\b(?:usage|inference|plan|message|account|monthly|weekly|daily) (?:limit|cap|quota|allowance)s?\b~\b(?:reached|exceeded|exhausted|hit|used|paused|upgrade)\b",
            r"\b(?:reached|hit|exceeded|used) (?:\S{1,14} ){0,4}(?:usage|inference|message|account|included|allotted) (?:limit|cap|quota|allowance|requests?)\b",
            r"\ballowance\b~\b(?:used|exhausted|exceeded|resets?|consumed)\b",
            r"\bexceeds? (?:your|the) (?:\S{1,12} )?quota\b",
            r"\bno (?:remaining|more) (?:quota|usage|requests)\b|\bno (?:messages|tokens|requests|prompts) (?:left|remaining)\b",
            r"\ball (?:\S{1,14} ){0,2}(?:buckets|accounts|keys|api keys|credentials|profiles|subscriptions|seats) (?:\S{1,14} ){0,2}?(?:are |is |were |have been )?(?:exhausted|used up|depleted|out of quota|over quota)\b",
            r"\bfree[- ](?:tier|plan|trial|quota|limit)\b~\b(?:limit|exceed\w{0,3}|reached|exhausted|used|only|upgrade)\b",
        ])
        .example("The allowance was consumed"),
    // Tokens of an account, not of a prompt.
    rule("quota.tokens", QuotaExhausted)
        .decisive()
        .window()
        .code(&[
            "token_quota_reached",
            "token_quota_exceeded",
            "quota_reached",
            "quota_limit_reached",
            "request_quota_reached",
            "usage_quota_exceeded",
            "daily_limit_exceeded",
            "monthly_limit_exceeded",
            "daily_quota_exceeded",
            "monthly_quota_exceeded",
        ])
        .text(&[
            r"\bno (?:\S{1,14} ){0,2}(?:accounts?|keys?|credentials?|providers?|channels?|profiles?|subscriptions?)\b~\b(?:with|have|has|had) (?:\S{1,12} ){0,2}(?:quota|credits?|balance|budget|usage)\b",
            r"\b(?:daily|weekly|monthly|yearly|annual|per-day|lifetime|account|organi[sz]ation|team|workspace|tenant|plan|trial)(?:'s)? (?:tokens?|usage|request|message|api|compute) (?:limit|quota|budget|cap|allowance|allotment) (?:has been |was |is |already )?(?:exceeded|reached|hit|exhausted|used up|spent|over)\b",
            r"\bresource quota (?:has been |was |is )?(?:exceeded|reached|exhausted)\b",
            r"\b(?:tokens?|requests?|units?|calls?)(?:\(s\))? from (?:the |your )?quota (?:was|were|is) (?:rejected|refused|denied)\b",
            r"\bexceed(?:s|ed)? (?:your |the |its )?(?:account|organi[sz]ation|team|project|workspace|user|plan)(?:'s)? (?:\S{1,12} )?(?:spend|spending|cost|budget|credit) (?:limit|cap)\b",
        ])
        .not(&["Token limit exceeded: 9000 tokens for this prompt"])
        .example("Daily token limit exceeded Used: 3056133, Limit: 3000000"),
    rule("quota.minutes", QuotaExhausted)
        .decisive()
        .text(&[
            r"\b(?:monthly|weekly|daily|included|free|plan|build|actions|compute|gpu) (?:\S{1,12} )?(?:minutes|hours|units|generations|runs|builds|requests) (?:have been |has been |are |were )?(?:used up|exhausted|depleted|consumed|exceeded)\b",
            r"\bout of [a-z]{3,12} usage until\b",
            r"\bsuspended (?:for|due to|because of) (?:non-?payment|unpaid|an? (?:unpaid|overdue))",
        ])
        .example("Your monthly Actions minutes have been used up"),
    rule("quota.payment", QuotaExhausted)
        .decisive()
        .code(&[
            "NOT_ENOUGH_BALANCE",
            "not_enough_credits",
            "balance_not_enough",
            "insufficient_funds",
"INVALID_PAYMENT_INSTRUMENT", "payment_method_invalid", "payment_required"])
        .text(&[
            r"\b(?:a )?valid payment (?:instrument|method)\b~\b(?:must|required|needed|provide|add)",
            r"\b(?:suspended|disabled|blocked|paused|deactivated|locked)\b~\b(?:spending limit|unpaid|past invoices|past due|overdue|non-?payment|billing)\b",
        ])
        .example("INVALID_PAYMENT_INSTRUMENT: A valid payment instrument must be provided"),
    rule("quota.advice", QuotaExhausted)
        .hint()
        .text(&[
            r"\bupdate your (?:payment|billing) (?:method|details|information|info)\b",
        ])
        .example("Please update your payment method to continue"),
];

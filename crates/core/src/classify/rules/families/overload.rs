//! No capacity for anyone right now: overloaded, at capacity, queue full, busy, still loading.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::Overloaded;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("overload.code", Overloaded)
        .code(&[
            "system_busy",
            "insufficient_system_resource",
            "maxlag",
            "UNABLE_TO_LOCK_ROW",
            "conversation_already_has_active_response",
            "conversation_locked",
            "server_is_busy",
            "resource_busy",
            "too_busy",
            "overloaded_error",
            "overloaded",
            "server_overloaded",
            "model_overloaded",
            "engine_overloaded",
            "engine_overloaded_error",
            "system_overloaded",
            "service_overloaded",
            "server_is_overloaded",
            "capacity_exceeded",
            "no_capacity",
            "model_at_capacity",
            "server_busy",
            "busy",
            "queue_full",
            "queue_exceeded",
            "too_many_pending_requests",
            "service_busy",
            "model_loading",
            "model_is_loading",
            "backpressure",
        ])
        .example(r#"{"type":"error","error":{"type":"overloaded_error","message":"try later"}}"#),
    rule("overload.words", Overloaded)
        .text(&[
            r"(?:error|exception|failed|failure|message|reason|response|status|detail|unavailable)[^a-z]{1,6}overloaded\b",

            r"\b(?:is|are|was|currently|temporarily|been|servers?|engine|model|system|service|api|529|errors?|experiencing|repeated) (?:too |very |heavily )?overloaded(?:$|[.,;:!)\x22'}]| with| right| please| at | and | or | try| due| now| errors?| for (?:non|free|all|other|some|your)| \()",
            r"error: overloaded\b",
            r"^overloaded\b",
            r"\boverloaded (?:with|right now|at the moment|error|please|\()",
            r"\bserver overload\b",
            r"\boverloaded\.? please\b",
            r"\bmodel(?: is| are)? busy\b",
        ])
        .example("The engine is currently overloaded, please try again later")
        .not(&["`operator+` is overloaded for three types."]),
    // TGI and vLLM have no room for another sequence.
    rule("overload.cache_blocks", Overloaded)
        .decisive()
        .text(&[r"\bout of available cache blocks\b", r"\bonly \d{1,6} free blocks\b", r"\bkv cache (?:is )?(?:full|exhausted)\b"])
        .example("Server error: Out of available cache blocks: asked 107, only 4 free blocks"),
    rule("overload.capacity", Overloaded)
        .text(&[
            r"\bat (?:full |max |maximum )?capacity\b",
            r"\b(?:no|insufficient|not enough|out of|lack of|limited|reached|exceeded|over|without|exceeds) (?:\S{1,20} )?capacity\b",
            r"\bcapacity (?:exceeded|constraints?|limit|limits|problems?|issues?|exhausted|is full|unavailable|reached)",
            r"\b(?:high|heavy|unusual|elevated|increased|peak|extreme|unprecedented) (?:amounts? of |levels? of |volumes? of )?(?:demand|load|traffic|volume|usage|request volume)\b",
            r"\bunder (?:high|heavy) load\b",
        ])
        .example("We are at capacity, come back later"),
    rule("overload.busy", Overloaded)
        .text(&[
            r"\b(?:backlog|queue) (?:is |was )?too (?:deep|long)\b",
            r"\blisten queue\b~\bfull\b",
            r"\bqueue~\bhas (?:completely )?filled up\b",
            r"\benvoy overloaded\b",
            r"\bexcess queu\w{1,4} for connections\b",
            r"\b(?:resource|memory|cpu|gpu)s?['\x22]? exhausted on \d{1,6} nodes?\b",
            r"\breached (?:the )?(?:pm\.)?max_children\b",
            r"\bappconcurrentrequestlimit (?:setting )?(?:is |was |has been |being ){0,2}exceeded\b",
            r"\bresource limit is reached\b",
            r"\bnot having enough compute\b",
            r"\bno more connections (?:are )?allowed\b",
            r"\bno (?:active |available |free |idle |healthy |ready |more )?(?:\S{1,14} )?(?:servers|workers|gpus|instances|replicas|nodes|machines|runners|slots) (?:are |is |were )?(?:currently )?(?:available|ready|free|online)\b",

            r"\btoo many (?:open |active |concurrent )?connections\b",
            r"\btoo many (?:requests|jobs|tasks|messages|calls) (?:are )?(?:in|on) (?:the |our )?(?:queue|backlog|line)\b",
            r"\b(?:queue|backlog) (?:length|size|depth) (?:has |is |was )?(?:exceed|reach|over|at)",
            r"\bout of (?:available )?(?:cache blocks|kv cache|slots|replicas|workers)\b",
            r"\bnot enough (?:free )?(?:kv )?cache (?:blocks|space)\b",
            r"\bservers? (?:are|is) running (?:too )?hot\b",

            r"\bworker\b~\brequest limit reached\b",
            r"\bqueue position\b|\bposition (?:\d{1,6} )?in (?:the |our )?(?:queue|line)\b|\btoo many (?:current|simultaneous|parallel|waiting) (?:requests|users|jobs)\b",
            r"\bno (?:longer )?(?:any )?(?:\S{1,14} ){0,2}?(?:runtimes?|instances?|gpus?|tpus?|accelerators?|backends?|machines?|sandbox(?:es)?|compute|hosts?|nodes?|pods?|workers?|vms?) (?:is |are |were )?(?:currently |left |still )?available\b",
            r"\bwaiting (?:\S{1,12} ){0,3}to be (?:scheduled|placed|assigned|allocated)\b|\b(?:waiting|queued) for (?:a |an |the |more )?(?:free |available |idle )?(?:gpu|worker|slot|machine|node|instance|runner|capacity|resources)\b",
            r"\b(?:projected|required|estimated|needed) memory\b~\bexceeds?\b|\b(?:not enough|insufficient) (?:free |available )?(?:system |gpu |video )?memory to (?:load|run|serve|host)\b",
            r"\bwhile (?:a|another|the|an) (?:active |previous )?(?:run|request|turn|task|response)\b~\b(?:active|in progress|running|processing|streaming)\b",
            r"\balready has an? (?:active|running|in-progress)\b",
            r"\ba (?:run|turn|response) is already (?:active|in progress|running)\b",
            r"\b(?:agent|session|conversation|thread) is (?:currently |already )?(?:busy|running|processing)\b",
            r"\b(?:server|service|system|model|gpu|worker|backend|endpoint|api|instance|slot)s? (?:is |are )?(?:currently |temporarily |too )?busy\b",
            r"\btoo busy\b",
            r"\bno (?:more |other )?(?:data ?cent(?:er|re)s?|regions?|hosts?|nodes?|backends?|replicas?|workers?) (?:left |available )?to (?:forward|route|send|serve|take|handle|process)\b",
            r"\b(?:queue|backlog|buffer|pool) (?:is |was )?(?:currently )?(?:full|overflow)",
            r"\b(?:maximum|max) (?:pending|queued) requests exceeded",
            r"\bno (?:available |free |idle )?(?:slots?|workers?|instances?|gpus?|replicas?|runners?)(?: (?:is |are )?(?:currently )?available)",
            r"\b(?:currently|already|still) (?:being )?process(?:ing|ed) (?:another|a previous|for this)",
            r"\banother request is (?:currently |already )?(?:being processed|in progress|running)",
            r"\ball (?:\S{1,20} ){0,2}(?:workers|slots|instances|replicas) (?:are )?(?:busy|in use|occupied)",
            r"\bresources? (?:is |are )?(?:currently |temporarily )?(?:busy|exhausted on server)",
        ])
        .code(&[
            "queue.Full",
            "BufferOverflowException",
        ])
        .example("All workers are busy"),
    rule("overload.loading", Overloaded)
        .text(&[
            r"\b(?:currently|still) (?:pulling|downloading|fetching|installing) (?:the |a )?model\b",
            r"\bmodel (?:with name )?\S{1,60} is not (?:yet )?ready\b",
            r"\bmodel~(?:is|are) (?:currently |still |being )?(?:loading|warming up|initializing|starting)\b",
            r"\b(?:loading|warming up|starting up) (?:the )?model\b",
            r"\bmodel (?:is )?(?:not ready|not yet ready|still loading)",
            r"\bcurrently loading\b",
            r"\bcold start\b~(?:progress|wait|retry)",
        ])
        .not(&["Failed to load the model\n\nError loading model. (Exit code: 6)"])
        .example("Model bigscience/bloom is currently loading"),
    // A load that fails because its runner is not up yet.
    rule("overload.load_not_ready", Overloaded)
        .decisive()
        .text(&[
            r"\b(?:could not|couldn't|cannot|can't|unable to|failed to|error|failed) load(?:ing)? (?:the |a )?model\b~\b(?:not (?:yet )?ready|still starting|already (?:loading|being loaded)|another (?:model|load)\b~\b(?:progress|loading))\b",
        ])
        .example("Unable to load the model: runner not yet ready"),
    rule("overload.general", Overloaded)
        .class()
        .text(&[
            r"\b(?:no|not enough|insufficient) (?:free |available |idle )?slots\b",
            r"\b(?:endpoint|server|instance|service|container|engine|runner|deployment|replica) is (?:currently |still )?(?:loading|starting|starting up|being (?:loaded|started|provisioned|deployed|created))\b",
            r"\bmodel \S{1,60} is being loaded\b",
            r"\btoo many pending (?:requests|jobs|tasks|calls)\b",
            r"\brequests? (?:was |were )?(?:shed|dropped) (?:due to|because of) (?:\S{1,10} )?load\b",
            r"\bbackpressure: (?:\S{1,20} ){0,2}(?:rejected|dropped|refused)\b",
            r"\beservice:busy\b",
            r"\bseconds lagged\b",
            r"\bunable to obtain exclusive access\b",
            r"\b(?:resource|sandbox|container|instance|vm|worker) limits? (?:was |has been |is )?(?:reached|exceeded) \(",
            r"\b& reserve (?:\S{1,12} )?(?:resources?|capacity|gpus?|memory|slots?|machine)\b",
            r"\binsufficient (?:memory|cpu|gpu|resources) available\b",
            r"\bmodel is cold\b",
            r"\bnot ready for inference\b",
            r"\bno (?:runner|worker|node|machine|gpu|instance|host|replica|server)s? (?:could|can) (?:be )?(?:allocated|found|assigned|scheduled|reserved|fulfil\w{0,2})\b",
            r"\bno available node types?\b",
            r"\b(?:upstream|server|model|service|provider|engine|backend|api|system|cluster|gateway|node|gpu|instance|worker|endpoint|llm)s? (?:is |was |are |were |currently |temporarily ){0,2}overload(?:ed)?\b",
            r"\b(?:at|under|near|reached|experiencing|due to|seeing|with) (?:a |an |the |its )?(?:\S{1,12} )?(?:full|max(?:imum)?|100%|peak|high|heavy|extreme|unusual|increased|excessive) (?:utili[sz]ation|load|usage|demand|occupancy|traffic)\b",
            r"\b(?:llm|model|server|service|engine|api|provider|system|backend|gpu|worker|host|endpoint|runner|upstream|site|node|instance|agent)s? (?:is |are |was |were |seems? |appears? )(?:to be )?(?:currently |too |very |still |temporarily |now )?busy\b",
            r"\bstill (?:booting|starting|warming|loading|initiali[sz]ing|spinning|coming up|scaling|deploying|being (?:created|provisioned|loaded|deployed|started))\b",
            r"\bcold[- ]start(?:ing|s)?\b",
            r"\b(?:cache|queue|buffer|pool|slots?|backlog|mailbox|scheduler|pipeline|batch|inbox)(?: \S{1,14})? (?:is |are |was |were )?(?:currently |already |completely )?full\b",
            r"\bno available (?:instances?|workers?|slots?|capacity|gpus?|replicas?|servers?)\b",

            r"\b(?:cannot|can't|unable to|not able to|won't|could not) (?:accept|take|handle|serve|admit|queue) (?:any )?(?:more|new|additional|further|other|your) (?:\S{1,12} )?(?:requests?|connections?|jobs?|traffic|work|load)\b",
            r"\b(?:many|lots of|a lot of|so many) (?:people|users|customers) are (?:using|on|trying)\b",
            r"\bdown or overloaded\b",

            r"\b(?:server|system|service|cluster|cpu|gpu|node|machine)s?(?:'s)? load (?:is |was |has been )?(?:currently )?(?:too )?(?:high|heavy|critical)\b",
            r"\b(?:engine|runner|scheduler|router|gateway|node|cluster|host|line|agent)s? (?:is |are )?(?:too |very |currently )?busy\b",
            r"\b(?:requests?|jobs?) (?:are |is )?(?:waiting|queued|deferred|pending)\b~\b(?:capacity|slots?|peak|later)\b",

            r"\b(?:systems?|servers?|services?|lines?|models?|gpus?|we|everyone|things)(?:'re| is| are) (?:\S{1,10} ){0,3}(?:busy|swamped|overwhelmed|stretched)\b",
            r"\b(?:queue|waiting list|wait list|waitlist|waiting room|backlog|line) (?:is |was |has become |currently )?(?:too long|full|closed|at its limit|over)\b",
            r"\btoo much (?:traffic|load|demand)\b",
            r"\bmore (?:traffic|requests|load|demand|users) than (?:\S{1,12} ){1,2}can (?:handle|serve|process|take)\b",
            r"\b(?:receiving|handling|facing|experiencing) (?:\S{1,14} ){0,4}(?:traffic|load|demand|volume)\b",
            r"\b(?:high|large|huge|unusual|unprecedented|increased|elevated|great|massive|excessive|overwhelming) (?:number|amount|volume|influx|level|surge)s? of (?:\S{1,14} ){0,2}(?:requests|users|calls|queries|traffic|jobs)\b",
            r"\bstill (?:downloading|loading|starting|warming|initializing|pulling|deploying)\b",
            r"\bnot (?:loaded|ready|started) yet\b",
            r"\b(?:workers?|gpus?|slots?|replicas?|servers?) (?:are |is )?(?:all |currently )?(?:occupied|busy|taken|full)\b",

            r"\b(?:service|server|engine|backend|worker|instance|endpoint|api|system|runner|llm) (?:is )?(?:not ready|not yet ready|starting up|still starting|warming up|initializing|not available yet)\b",
            r"\bmax(?:imum)? (?:concurrency|concurrent requests|queue (?:size|depth|length)|number of (?:queued|pending|concurrent))\b",
            r"\b(?:gpus?|workers|servers|resources|nodes|replicas|slots|accelerators|machines) (?:are |is )?(?:all |currently |fully )?(?:busy|occupied|in use|saturated|utili[sz]ed|unavailable)\b",
            r"\bqueue (?:is |was |has )?(?:full|too long|overflow\w{0,3}|limit|exceeded|reached)\b",
            r"\b(?:waiting|stuck|still|while) (?:\S{1,12} ){0,3}in (?:the )?queue\b",
            r"\b(?:no|zero|not enough|insufficient) (?:available |free |idle |healthy |ready )?(?:gpus?|workers|replicas|instances|servers|resources|nodes|machines|compute)\b",
            r"\bresource (?:is )?(?:temporarily )?(?:exhausted|unavailable)\b",
            r"\b(?:very|extremely|really|quite|unusually) busy\b",
            r"\b(?:is|are|was|fully|currently|upstream|load) saturated\b",
            r"\b(?:load|demand|traffic) (?:is )?(?:too|very|extremely|unusually|currently) (?:high|heavy|large|great)\b",
            r"\bshedding load\b|\bload ?shed",
            r"\bqueue depth\b",
            r"\b(?:try|come) (?:again|back) when\b~\b(?:less|lower|load|busy)\b",
            r"\bhigh load\b",
            r"\b(?:peak|busy) (?:hours|times|period)\b",
            r"\bcapacity\b~\b(?:exceeded|reached|unavailable|exhausted|temporarily|currently|try again)\b",
            r"\b(?:heavy|high) traffic\b",
            r"\boversubscribed\b|\boverwhelmed\b",
            r"\bprovisioned throughput\b~\b(?:exhaust|capacity)\w{0,4}",
            r"\bwarming up\b",
            r"\b(?:is|still|currently) (?:being )?(?:loaded|loading|deployed|provisioned|scaled|starting|spinning up|booting)\b~\b(?:model|try|wait|retry|moment|shortly)\b",
            r"\bspinning up\b",
            r"\bmodel (?:loading|is being loaded|load in progress|warmup)\b",
            r"\bscal(?:ing|ed) (?:up|from zero|to zero)\b",
        ])
        .example("The line is saturated"),
    // Somebody else's request was more important, or there was no room to wait in.
    rule("overload.dropped", Overloaded)
        .decisive()
        .code(&["REQUEST_DROPPED", "request_preempted", "queue_timeout_exceeded", "queue_size_exceeded", "BackPressureError"])
        .text(&[
            r"\bduring peak load\b",
            r"\brequests? (?:\S{1,40} )?(?:was |were |is |are |has been |have been |got )?(?:dropped|preempted|bumped|evicted) (?:\S{1,12} ){0,3}(?:exceeding|load|capacity|priority|another|backlog|backpressure)\b",
            r"\brequest (?:was |has been |got )?preempted\b",
            r"\b(?:aborted|preempted|evicted|cancell?ed|displaced|interrupted) by (?:a |another |some )?higher[- ]priority\b",
            r"\bqueue (?:size|length|depth|budget|wait|capacity)(?: limit| budget)? (?:has been |was |is )?(?:exceeded|reached|exhausted|full)\b",
            r"\bexceed(?:s|ed|ing) (?:the )?(?:\S{1,16} ){0,3}queue (?:size|length|depth|budget|limit|capacity)\b",
        ])
        .example("The request is aborted by a higher priority request."),
];

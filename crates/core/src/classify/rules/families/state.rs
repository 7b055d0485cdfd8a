//! An id the caller holds is no longer known to the other side.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::StateLost;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("state.code", StateLost)
        .decisive()
        .code(&[
            "file_expired",
            "upload_expired",
            "thread_expired",
            "session_terminated",
            "session_lost",
            "SessionExpiredException",
            "SessionNotFound",
            "ThreadNotFound",
            "RunNotFound",
            "BatchNotFound",
            "ContainerNotFound",
            "SandboxNotFound",
            "sandbox_expired",
            "ResponseNotFound",
            "ConversationNotFound",
            "CheckpointNotFound",
            "NoSuchUpload",
            "ExpiredIteratorException",
            "UNKNOWN_MEMBER_ID",
            "ILLEGAL_GENERATION",
            "file_not_found",
            "document_not_found",
            "stale_thread",
            "NoSuchSessionError",
            "NoSuchWindowError",
            "no_such_window",
            "invalid_previous_response_id",
            "cache_expired",
            "assistant_deleted",

            "previous_response_not_found",
            "thread_not_found",
            "session_not_found",
            "conversation_not_found",
            "assistant_not_found",
            "run_not_found",
            "response_not_found",
            "batch_not_found",
            "container_not_found",
            "container_expired",
            "sandbox_not_found",
            "SandboxNotFoundException",
            "project_not_found",
            "agent_not_found",
            "agent_not_registered",
            "not_registered",
            "invalid_session",
            "invalid_session_id",
            "invalid_encrypted_content",
            "invalid_thread_id",
            "vector_store_not_found",
            "cached_content_not_found",
            "unknown_session",
            "stale_session",
            "session_closed",
            "checkpoint_not_found",
            "workspace_not_found",
            "conversation_expired",
        ])
        .example(r#"{"error":{"code":"thread_not_found"}}"#),
    rule("state.not_found", StateLost)
        .decisive()
        .text(&[
            r"\bmaximum session duration (?:was |has been |is )?(?:reached|exceeded|expired)\b",
            r"\bno (?:active )?sessions$",
            r"\b(?:run|thread|batch|resp|file|asst|vs|conv|sess|msg|msgbatch|cntr|call|item|upload|ctx|sbx|rs|ws|job|task)[-_][a-z0-9_-]{3,90}['\x22`]? (?:is|has|was|were|had) (?:already )?(?:been )?(?:expired|deleted|gone|purged|removed)\b",
            r"\b(?:run|thread|batch|resp|file|asst|vs|conv|sess|msg|msgbatch|cntr|item|upload|ctx|sbx|rs|ws|job|task)[-_][a-z0-9_-]{3,90}['\x22`]? (?:is |was |were |does |did |could |can|has )?(?:not|no longer) (?:be |been )?(?:found|exists?|known|valid|available)\b",
            r"\bno longer registered\b",
            r"\b(?:kernel|repl|interpreter|notebook)\b(?: \S{1,40})? (?:does not exist|not found|no longer exists)\b",
            r"\b(?:agent|session|worker|client|name|project|runner|device|node|subscription|webhook|handler|consumer)\b(?: \S{1,40})? (?:was|is|has been|got) (?:deregistered|unregistered)\b",
            r"\b(?:session|conversation|thread|context|memory|state|cache) (?:data )?(?:was |has been |is |got )?(?:reset|wiped|cleared|flushed) (?:by|on|after|because|due)\b",

            r"\b(?:sandbox|container|session|thread|conversation|batch|upload|workspace|vm|machine|browser)\b(?: \S{1,60})? (?:has |was |is |had )?already been (?:terminated|stopped|removed|destroyed|deleted|closed|shut down)\b",
            r"\bno such (?:container|sandbox|session|thread|conversation|agent|project|checkpoint|snapshot|upload|stream)\b",

            r"\bwith id:? ['\x22`]?[\w:.-]{3,90}['\x22`]? (?:was |is |could )?(?:not (?:be )?found|does not exist|not exist)",
            r"\b(?:file|document|image|asset|node) [\w-]{6,90} (?:was |is )?not found",
            r"\bsession~\bmaximum duration\b",
            r"\bsession:? ?['\x22][^'\x22]{1,120}['\x22] (?:is |has )?(?:expired|invalid)",
            r"\bmcp-session-id\b",
            r"\bunknown session\b",
            r"\b(?:thread|conversation|session|chat|project|agent|run)\b(?: \S{1,60})? (?:is|was|has been) (?:archived|deleted|removed|closed|purged|evicted|cleaned up)\b",
            r"\b(?:session|conversation|thread|context|state)\b~\b(?:was lost|is lost|no longer in memory|could not be restored|cannot be resumed|could not be resumed)",
            r"\b(?:conversation|session|thread|assistant|project|task|agent|chat) not exists?\b",
            r"\b(?:session|thread|conversation|assistant|run|response|batch|container|sandbox|project|agent|window|pane|workspace|vector[ _]store|job|task|operation|cache|cached ?content|checkpoint|stream|chat|terminal|tmux session|rollout|subscription id|room|channel|worker|context id|recipient|contact|memory|upload|fine-tune|tool call session|browser|page session|dialog|fileid|handle)s?\b(?: with)?(?: ids?)?[ :]{0,2}['\x22`<(]?(?:[\w./:@-]{0,80}[\w/@-])?['\x22`>)]?(?: \S{0,30}[^ :]){0,2}? (?:was |is |were |are |could |has been |have been )?(?:not be found|not found|cannot be found|can't be found|does not exists?|doesn't exist|no longer exists|not exist|no longer (?:valid|available|active|exists?)|not registered|unknown|was deleted|has been deleted|deleted|not known|is gone|is closed|already (?:deleted|closed|terminated)|not recognized)\b",
            r"\b(?:sandbox|container|conversation|thread|response|file|cached? ?content|upload|batch|checkpoint|run)\b(?: \S{1,60})? (?:has |is |was )?expired\b",
            r"\bno (?:active |existing |current |valid )?(?:session|thread|conversation|assistant|run|batch|container|sandbox|tmux session|window|pane|workspace|vector store|checkpoint|rollout|chat session|registered agent|stored response|previous response|cached content|mcp session)\b(?: id| ids)?(?:[:.]|$)",
            r"\b(?:no such|unknown|invalid|unrecognized|can't find|cannot find|could not find|couldn't find|missing|lost|expired|stale) (?:an? |the |any |active |existing |current |valid )?(?:session|thread|conversation|assistant|run|batch|container|sandbox|tmux session|window|pane|workspace|vector store|checkpoint|rollout|chat session|registered agent|stored response|previous response|cached content|mcp session)\b(?: id| ids)?(?:[:' \x22`.]|$)",
            r"\bno (?:rollout|conversation|session|thread|checkpoint|transcript|sandbox|container|assistant|workspace|batch|project|window|pane)(?:s|es)? (?:was |were )?found\b",
            r"\b(?:is|are) not registered\b",
            r"\bnot registered (?:for|in|with) project\b",
            r"\bserver not initialized\b",
            r"\bsession (?:has |was )?(?:expired or (?:was|has|been|does|did|never|not|is not|invalid|deleted)|terminated|been (?:terminated|deleted|closed))",
            r"\b(?:encrypted|thinking) content\b(?: for item \S{1,90})?~\bcould not be (?:verified|decrypted)",
            r"\bno tabs? with id\b|\btarget (?:page|closed)\b~\bclosed",
        ])
        .not(&[
            "bash: line 1: claudee: command not found",
            "Tool nosuch not found",
            "404 page not found",
            "Found 3 agents registered in project backend",
        ])
        .example("Error: Thread not found: thread_8f2c11"),
    rule("state.sandbox_gone", StateLost)
        .decisive()
        .text(&[
            r"\bsession\b~\b(?:already|has) (?:completed|finished|ended|been (?:completed|ended|finished))\b",

            r"\b(?:container|sandbox|session|workspace|environment|vm|instance|kernel)\b~\b(?:was|has been|is|got|been) (?:recycled|reclaimed|reaped|garbage[- ]collected|evicted|torn down|hibernated)\b",

            r"\bsandbox\b~(?:was not found|not found|is not running|is (?:probably|likely|apparently) not running|no longer running|has been (?:killed|terminated|paused|shut down)|timed? ?out and)",
            r"\bcontainer (?:\S{1,70} )?is expired",
            r"\b(?:sandbox|container|session|vm|machine|instance)\b~\breached (?:its |the )?end of (?:its )?life\b",
        ])
        .example("The sandbox is not running any more"),
    // What holds state expires otherwise than a login.
    rule("state.session_expired", StateLost)
        .decisive()
        .text(&[
            r"\b(?:browser|sandbox|container|remote|runtime|terminal|shell|notebook|kernel|device|vm|debug|interpreter|chat|mcp|agent|realtime|streaming|websocket|transport|upload|resumable) (?:session|context|connection id|handle) (?:\S{1,60} )?(?:has |is |was )?(?:already )?(?:expired|timed out|been closed|gone|invalid)\b",
            r"\bcaptur(?:e|ing) (?:a )?new snapshot\b",
        ])
        .example("Browser session expired, retry will start a new one"),
    // Handles of a driven browser or terminal.
    rule("state.handle_gone", StateLost)
        .class()
        .code(&[
            "StaleElementReferenceException",
            "StaleElementReferenceError",
            "TargetClosedError",
            "NoSuchWindowException",
            "NoSuchSessionException",
            "InvalidSessionIdException",
            "NoSuchFrameException",
        ])
        .text(&[
            r"\b(?:page|tab|frame|iframe|window|pane|browser|browser context|execution context|context|target|element|webview|debugger session|devtools session|terminal|shell session|pty)(?: ['\x22`#(]?[\w:.-]{1,40}['\x22`)]?)? (?:has |was |is |had |got )(?:already |since |now )?(?:been )?(?:closed|detached|destroyed|disposed|disconnected from|stale|navigated away|removed)\b",
            r"\b(?:target|frame|page|tab|webview) (?:closed|detached|destroyed)\b",
            r"\b(?:cursor|continuation token|page token|iterator|checkpoint|handle|snapshot|lease|session|thread) (?:is |was |has become |became )(?:stale|outdated|too old)\b",
            r"\b(?:response|item|message|completion|artifact|document|vector store|cache entry|cached content|file|upload) ['\x22`]?[\w-]{4,80}['\x22`]? (?:has been |was |is |were )(?:already )?(?:purged|evicted|wiped|deleted|expired|garbage collected)\b",
            r"\bno (?:\S{1,12} )?(?:page|tab|window|browser|pane|terminal)s? (?:\S{1,12} )?(?:is|are) (?:\S{1,12} )?(?:open|selected|active|attached)\b",
            r"\b(?:kernel|container|session|vm|machine|interpreter|repl|notebook|workspace|runtime|shell|browser)\b(?: \S{1,60})? (?:is|are) no longer (?:running|alive|active|available|there|attached|connected)\b",
            r"\b(?:conversation|thread|session|chat|assistant|run|batch|sandbox|container|workspace|project) (?:\S{1,20} ){1,8}?(?:has|have|had) been (?:deleted|removed|purged|archived|closed|wiped|evicted)\b",
            r"\bstale element\b|\b(?:element|node) is (?:not attached|detached|no longer attached)\b",
            r"\bno (?:open |active |selected |current )(?:page|tab|frame|window|pane|browser|target|terminal)s?\b",
            r"\bno such (?:tab|frame|window|pane|browser|terminal)s?\b",
            r"\bno (?:tab|frame|window|pane|target|terminal) (?:with|for|found|matching|is open|selected)\b",
        ])
        .not(&["Found 3 pages open in the browser", "no such page"])
        .example("The iframe was detached"),
    rule("state.general", StateLost)
        .class()
        .text(&[
            r"\b(?:expired|deleted|unknown|nonexistent) request_?id\b",
            r"\b(?:job|task|vector store|subscription|webhook|checkpoint|stream|upload) (?:has |is |was )?expired\b",
            r"\b(?:unknown|invalid|stale|expired|missing) (?:response|message|file|job|task|batch|upload|assistant|stream) id\b",
            r"\bname (?:is |was )?not registered\b",
            r"\bprevious_response_id (?:\S{1,60} )?(?:was |is )?not found\b",
            r"\bno matching (?:session|conversation|thread|run|checkpoint|window|pane)s?\b",
            r"\b(?:webhook|subscription|machine|vm|instance) (?:was |is )?not found\b",
            r"\b(?:lock|lease) (?:was |has been |is )?lost\b",
            r"\btransaction has already (?:been )?(?:completed|committed|ended|closed|finished)\b",
            r"\bunknown stream\b",
            r"^(?:item|message|document) (?:was |is )?not found\b",
            r"\bsession (?:with )?(?:id )?\S{1,60} is not valid\b",
            r"\bstale file handle\b",
            r"\b(?:recover|resume|restore) (?:the |your )?(?:connection|session)\b~\bexpired\b",
            r"\b(?:unknown|expired|invalid) (?:reconnection|resume|resumption|continuation|session|sync|page|cursor) token\b",
            r"\bsync token is no longer valid\b",
            r"\bcould not find (?:class \S{1,60} in schema|(?:collection|index|namespace) \S{1,60})",
            r"\bsession state wrong\b",
            r"\bno screen to be (?:resumed|attached|detached)\b",
            r"\bmissing lock for job\b",
            r"\bno queue ['\x22`]",
            r"\bcontainer ['\x22`]?[\w.-]{1,60}['\x22`]? in namespace\b~\bnot found\b",
            r"\b(?:group|consumer) has already rebalanced\b",
            r"\bno such (?:index|collection|store)\b",
            r"\bno (?:\S{1,12} )?context found for id\b",
            r"\bnot aware of (?:this|that|the) (?:member|session|client|consumer|agent|worker|thread|run)\b",
            r"\bno such (?:view|customer|subscription|invoice|charge|element|frame|document|entity|process group|interaction)\b",
            r"\b(?:receipt|file|upload|stream|session|cursor|resume) (?:handle|token)(?: \S{1,20})? (?:is|has) (?:invalid|expired|not valid)\b",
            r"\bentity not found\b",
            r"\b(?:machine|vm|instance|device|server id|droplet|volume|template|lease)(?: id)?(?: \S{1,40})? (?:was |is |could )?(?:not (?:be )?found|does not exist|no longer exists|unknown)\b",
            r"\binvalid (?:machine|vm|instance|sandbox|container|volume|lease|run|job|task|session|device) id\b",
            r"\bno (?:\S{1,14} )?(?:file|thread|assistant|run|batch|response|session|conversation|container|sandbox|upload|checkpoint|job|task|message)s? (?:was |were |is )?(?:found|exists?|known|matching|stored)(?: with| for| by| under)? (?:that |this |the |given )?(?:id|name|key)\b",
            r"\bno (?:previous|prior|saved|earlier|stored|existing|matching|resumable|recent|past) (?:\S{1,14} )?(?:sessions?|conversations?|threads?|chats?|runs?|checkpoints?|tasks?|transcripts?)(?: was| were| is| are)? (?:found|available|to (?:continue|resume|restore|load)|exists?|left)\b",
            r"\b(?:conversation|chat|session|thread|history|transcript|workspace|checkpoint|project) & be (?:loaded|restored|opened|resumed|recovered|found|continued|reopened)\b",
            r"\bexecution context (?:was |has been |is )?(?:destroyed|not available)\b|\bbrowser (?:context|session|window|tab|page)(?: \S{1,20})? (?:was |has been |is |have been )?(?:destroyed|closed|gone|crashed|disposed|disconnected)\b",
            r"\b& (?:restore|recover|reload|rehydrate|resume|deserialize) (?:\S{1,14} ){0,3}?(?:state|history|context|memory|progress)\b",
            r"\b(?:run|thread|session|job|batch|task|conversation) (?:that )?(?:you|we) (?:are|were|asked|requested)\b~\b(?:expired|gone|not found|no longer|deleted)\b",

            r"\bunknown (?:handle|cursor|token id|ticket|reference|object id|session key)\b",

            r"\b(?:assistant|thread|session|conversation|run|sandbox|container|batch|agent|project|cursor|upload|checkpoint|workspace|file|lease|vm)\b(?: \S{0,60}[^ :]){0,3} (?:was |is |were |has been |have been |are )?(?:removed|deleted|gone|purged|expired|lost|not found|unknown|missing|forgotten|wiped|evicted)\b",
            r"\b(?:assistant|thread|session|conversation|sandbox|container|batch|project|cursor|upload|checkpoint|workspace|file|lease|vm)(?: id)?(?: ['\x22`#(]?[\w:.-]{1,60}['\x22`)]?)? (?:was |is |were |has been |have been |are |already ){0,2}closed\b",
            r"\b(?:cursor|iterator|lease|transaction|savepoint|snapshot|consumer|subscription|watch) (?:id )?(?:\S{1,40} )?(?:not found|expired|is no longer|invalidated|unknown|too old)\b",

            r"\b(?:sandbox|container|session|thread|run|conversation|batch|upload|workspace|instance|vm|machine|browser|job|agent)\b(?: \S{1,60})? (?:has |was |is |had )(?:already |since )?(?:been )?(?:terminated|stopped and removed|reaped|garbage collected|evicted|discarded|cleaned up|destroyed|recycled|shut down|archived)\b",
            r"\bno such (?:container|image|volume|sandbox|object|key|job|task|window|client|pane|session|file object|upload|stream|instance|machine|vm|thread|conversation|agent|project|checkpoint|snapshot|dialog|message|topic|queue|consumer group)\b",
            r"\b(?:upload|file|session|thread|conversation|response|batch|cache|cached content|container|sandbox|checkpoint|lease|reservation|snapshot|url|link|handle|cursor|subscription|invite|result)\b(?: \S{1,60}){0,2} (?:has |is |was |have )?(?:already )?(?:expired|no longer (?:available|valid|exists?|active|found|accessible|stored))\b",
            r"\b(?:does not|doesn't|no longer) (?:exists?|know|recognize|have) (?:the |this |that |your |a |any )?(?:session|thread|conversation|run|agent|project|container|sandbox|batch|response|checkpoint|assistant|upload)\b",
            r"\b(?:session|thread|conversation|run|agent|project|container|sandbox|batch|response|checkpoint|assistant|upload|document|subscription|consumer|member|lease|transaction|cursor|snapshot|memory store|vector store|index) (?:id |key |name )?(?:\S{0,60}[^ :] )?(?:is |was )?(?:unknown|invalid|not (?:open|active|available|recognized|known|registered|present|initialized))\b",
            r"\bnoscript no matching script\b",
            r"\b(?:collection|index|dataset|snapshot|ref|element|node|bucket|namespace|volume|knowledge base|data ?store|store|table|memory|entity|record|object|resource|template|webhook|evaluation|experiment|deployment job|artifact|fork|branch|lock|mailbox)s?(?: with)?(?: id| name| named)?[ :]{0,2}['\x22`<(\[]?[\w./:@-]{1,80}['\x22`>)\]]? (?:was |is |were |could |has been )?(?:does not exists?|doesn't exist|not (?:be )?found|no longer exists|not exist|no longer valid)\b",
            r"\b& (?:resume|restore|reattach|re-attach|attach to|find|locate|load|reopen|continue) (?:(?:the|a|an|your|any|previous|saved) ){0,3}(?:session|thread|conversation|run|checkpoint|transcript|rollout|sandbox|container|pane|window|chat)\b",
            r"\bno (?:session|conversation|thread|transcript|checkpoint|sandbox|container|pane|window|run|agent|chat|document)s? (?:with|named|for|matching|exists?|available|by|under)\b",
            r"\bre-?(?:register|initiali[sz]e|create) (?:the |your |a )?(?:session|agent|project|thread)\b",
            r"\bunknown (?:thread|conversation|agent|project|container|sandbox|batch|run|checkpoint|assistant|document|subscription|consumer|member)\b",
            r"\buntracked document\b|\bdocument (?:\S{1,80} )?(?:is )?not open\b|\bnon-added document\b",
        ])
        .code(&[
            "search_context_missing_exception",
            "UnknownMemberIdException",
            "ReceiptHandleIsInvalid",
            "InvalidCollectionException",
            "CollectionNotFound",
            "IndexNotFoundException",
            "index_not_found_exception",
            "CursorNotFound",
            "NoSuchTransaction",
            "LeaseExpired",
            "LeaseNotFound",
            "StaleSession",
        ])
        .example("This server does not know the sandbox"),
    // Resources that are named by their path.
    rule("state.named", StateLost)
        .decisive()
        .text(&[
            r"\b(?:files|cachedcontents|operations|batches|sessions|uploads|threads|conversations|interactions|responses|containers|sandboxes|checkpoints|jobs)/[\w.-]{2,90}['\x22`]? (?:has |is |was |had |have )?(?:already |since )?(?:been )?(?:expired|deleted|purged|gone|evicted|not found|no longer (?:exists|available|valid))\b",
            r"\b(?:session|sandbox|conversation|thread|container|kernel) (?:\S{1,40} )?is not (?:in )?(?:an? )?['\x22`]?active(?: state|['\x22`]|[.,]|$)",
        ])
        .example("cachedContents/abc-123 has expired"),
    // Engines that keep runs, cursors and memberships for their callers.
    rule("state.engine", StateLost)
        .decisive()
        .code(&[
            "INTERACTION_NOT_RESUMABLE",
            "NOT_RESUMABLE",
            "run_not_resumable",
            "WorkflowNotFound",
            "WorkflowNotFoundError",
            "WorkflowExecutionAlreadyCompleted",
            "WorkflowExecutionAlreadyCompletedError",
            "SESSION_NOT_FOUND_EXCEPTION",
            "session_binding_mismatch",
            "REBALANCE_IN_PROGRESS",
            "FENCED_INSTANCE_ID",
            "CursorNotFound",
            "ChangeStreamHistoryLost",
            "NOSCRIPT",
        ])
        .text(&[
            r"\bworkflow (?:execution |run |instance )?(?:\S{1,40} )?(?:is |was |has )?(?:already (?:completed|closed|finished|terminated)|not found|does not exist)\b",
            r"\bnot (?:a )?(?:part|member) of (?:an |the )?active group\b",
            r"\brevision has been compacted\b",
            r"\bresume (?:token|point|cursor|id|handle) (?:\S{1,40} )?(?:was |is |has )?(?:not found|invalid|expired|no longer)\b",
            r"\bno (?:\S{1,14} )?(?:state|checkpoint|history|snapshot|memory) (?:was |is |were )?(?:found|available|stored|saved) for (?:this |the )?(?:thread|session|conversation|run|task|agent|user|workflow)",
            r"\b& (?:resume|restore|rehydrate|reattach to|re-attach to|reconnect to) (?:the |this |a |your |previous |existing ){0,3}(?:session|conversation|thread|run|workflow|chat|task|sandbox|container|job)\b",
            r"\bis not a working tree\b",
            r"\b(?:thread|session|conversation|container|run|sandbox|checkpoint|batch)_id\b(?: \S{1,60})? (?:has no saved|is expired|has expired|not in|is unknown|is not known)\b",
            r"\bsaved (?:progress|state|session) & be (?:verified|restored|loaded|read)\b",
        ])
        .example("workflow execution already completed"),
    // Who may not know whether a thing exists is told neither.
    rule("state.or_gone", StateLost)
        .text(&[
            r"\b(?:issue|page|file|document|project|repository|record|ticket|board|item|object|channel|task|thread|message|workspace|folder)\b(?: \S{1,60}){0,3} (?:does not exist|doesn't exist|not found|cannot be found),? or (?:that )?you (?:do not|don't) have (?:access|permission)",r"\b(?:file|files|cached ?content|cache|batch|operation|thread|session|conversation|assistant|vector store|container|corpus|document|upload|response|run)\b(?: ['\x22`]?[\w./-]{1,80}['\x22`]?)?,? or (?:it|they) (?:may|might|does|do) not exist\b"])
        .example("You lack access to the file 'a7' or it might not exist"),
    // Under a 404 nearly every noun is a thing that somebody stored.
    rule("state.thing_missing", StateLost)
        .status(&[404])
        .class()
        .code(&["NoSuchKey", "NoSuchBucket", "BlobNotFound", "NoSuchEntity", "object_not_found", "record_not_found"])
        .text(&[
            r"\brequest does not exist\b",
            r"\bthe (?:specified |requested |given )?(?:reasoning ?engine|engine|agent|job|task|session|run|corpus|pipeline|function|stack|environment|schedule|trigger|connection|integration) does not exist\b",
            r"\b(?:chatflow|agentflow|assistant|knowledge|credential|variable|page|question|answer|player|crate|image|app|application)(?: id)? [\w'-]{6,60} (?:was |is |could )?(?:not (?:be )?found|does not exist)\b",
            r"\b(?:flow|customer|issue|ticket|order|record|row|item|entity|message|channel|webhook|member|interaction|comment|post|notebook|dataset|database|collection|index|bucket|object|blob|repository|branch|commit|gist|workflow|pipeline|build|execution|event|subscription|invoice|payment|charge|product|contact|lead|deal|workspace|folder|document|image|video|audio|voice|template|experiment|evaluation|snapshot|backup|volume|disk|instance|cluster|machine|device|node|entry|prediction|generation|crawl|scrape|search|report|form|list|board|card|label|rule|alarm|queue|topic|stream|secret|parameter group|certificate|chunk|vector|point|memory|note|block|view|dashboard|monitor|recording|transcript|transcription|call|meeting|playlist|track)s?(?: (?:identifier|id|name|uuid|key))?(?: with (?:the )?(?:id|name|key|uuid))?[ :=]{0,3}['\x22`<(\[]?[\w./:@-]{0,80}['\x22`>)\]]?(?: \S{1,40})? (?:was |is |were |could |has been |have been |does |do )?(?:not (?:be )?(?:found|exists?|located)|cannot be found|doesn't exist|unknown|deleted|removed|archived|expired)\b",
            r"\b(?:no such|unknown|could not find(?: the| a| any| referenced)?|cannot find(?: the| a| any)?) (?:\S{1,14} )?(?:flow|customer|issue|ticket|order|record|row|item|entity|message|channel|webhook|member|interaction|comment|post|notebook|dataset|database|collection|index|bucket|object|blob|repository|branch|commit|gist|workflow|pipeline|build|execution|event|subscription|invoice|payment|charge|product|contact|folder|document|image|video|voice|template|snapshot|backup|volume|instance|cluster|machine|device|prediction|generation|crawl|report|queue|topic|stream|memory|note|block|recording|transcript|call|meeting)s?\b",
        ])
        .not(&["404 page not found", "404 model not found"])
        .example(r#"{"status":404,"detail":"Flow identifier customer-bot-2 not found"}"#),
];

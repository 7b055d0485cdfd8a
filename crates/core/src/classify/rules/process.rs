//! Local processes: exits, signals, memory, containers, terminals.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{Cancelled, NetworkTransient, ProcessDied, StateLost, Timeout, Unknown};

pub(super) const RULES: &[Rule] = &[
    rule("process.oom", ProcessDied)
        .decisive()
        .code(&[
            "OutOfMemory",
            "out_of_memory",
            "ErrorOutOfDeviceMemory",
"OOMKilled"])
        .text(&[
            r"\bout-of-memory (?:detected|condition|error|killer|event|kill|exception)",
            r"\boom-killed\b",
            r"\bfork: retry\b",

            r"\bout of (?:\S{1,12} )?memory\b~\b(?:kill|terminat|crash|exit|alloc|error|fatal|abort)",
            r"\bmemory allocation of \d{1,18} bytes failed\b",
            r"\ballowed memory size of\b",
            r"\bout of memory[!.]?$",
            r"^out of memory\b",
            r"\bunable to allocate\b",
            r"\bmemory limit (?:exceeded|reached|of)\b",
            r"\b(?:exceeded|over|above|beyond) (?:the |its )?memory limit\b",
            r"\bmemory exhausted\b",
            r"\binsufficient memory\b",
            r"\bnot enough (?:\S{1,12} )?memory\b",
            r"\blow memory killer\b|\blowmemorykiller\b|\bjetsam\b|\bearlyoom\b|\bsystemd-oomd\b",
            r"\bcuda(?:malloc)?\b~\b(?:out of memory|failed)\b",
            r"\b(?:cuda|hip|sycl|vk)\w{2,24}\b~\bout of (?:\S{1,8} )?memory\b",
            r"\b(?:gpu|vram|device|tensor|kv cache|accelerator|npu|xpu|metal|cudnn|nccl)\b~\b(?:out of memory|alloc\w{0,10} fail\w{0,4})\b",
            r"\bfailed to allocate (?:\S{1,14} ){0,4}(?:memory|buffers?|tensors?|kv cache|cache|bytes|[kmg]i?b)\b",
            r"\bcudnn_status_\w{4,30}\b|\bcuda_error_out_of_memory\b|\berr_alloc\b",
            r"\bcublas_status_\w{4,30}\b",
            r"\bout of (?:gpu|device|host|video|vram|system|physical|virtual) memory\b",
            r"\bmps backend out of memory\b",
            r"\bhip error\b|\brocm error\b|\bvulkan\b~\b(?:out of|devicelost|device lost)\b",

            r"\boom[-_ ]?kill",
            r"\bout of memory: killed process",
            r"\boutofmemory\b",
            r"killed process \d",
            "memory cgroup out of memory",
            r"(?:process|worker|container|runner)\b~\bout of memory",
            r"\bran out of memory\b",
        ])
        .example("oom-kill:constraint=CONSTRAINT_MEMCG,task=claude"),
    rule("process.quit", ProcessDied)
        .text(&[
            r"\b(?:agent|worker|child|server|sidecar|helper|runner|tool|cli|adapter|host) process (?:closed|ended|quit|stopped|vanished|disappeared|went away)\b",
            r"\bprocess (?:closed|ended|quit|stopped|exited) before (?:responding|answering|it could|sending|returning|completing|initiali[sz])",
        ])
        .example("agent process closed before responding"),
    rule("process.gone", ProcessDied)
        .class()
        .text(&[
            r"\b(?:kernel|interpreter|worker|runner|daemon|subprocess|child|sidecar|language server|helper|agent process)\b(?: \S{1,30}){0,2} (?:has |have |appears to have |seems to have |may have |probably )(?:died|crashed|exited|quit|hung|stopped)\b",
            r"\b(?:process|subprocess|worker|runner|daemon|stub|sidecar|child)(?: process)? (?:is |was )?(?:not (?:healthy|alive|running any more|running anymore)|unhealthy|dead|defunct|no longer (?:alive|running))\b",
            r"\b(?:container|pod|runtime|sandbox|process|server|worker|job|task) (?:\S{1,80} )?(?:has |have )(?:unexpectedly |already )?(?:exited|crashed|died|terminated unexpectedly)\b",
            r"\boverflowed its stack\b|\bstack overflow(?:ed)?\b~\b(?:abort|crash|fatal|thread)\w{0,3}\b|\bmaximum call stack size exceeded\b",
        ])
        .example("The sidecar seems to have crashed"),
    // The loading of a model is only where its runner died.
    rule("process.load_died", ProcessDied)
        .decisive()
        .text(&[
            r"\b(?:could not|couldn't|cannot|can't|unable to|failed to|error|failed) (?:load|start|loading|starting|spawn|launch)\w{0,3} (?:the |a )?(?:\S{1,30} )?(?:model|runner|backend|llama-server)\b~\b(?:server: eof|: eof|unexpected eof|exited|signal|killed|crash\w{0,3}|terminated|broken pipe|segfault|segmentation|core dumped|panic\w{0,3}|died|sigkill|oom)\b",
        ])
        .not(&["failed to load model: model not found"])
        .example("failed to load model: the backend died"),
    rule("process.signal", ProcessDied)
        .code(&[
            "SIGKILL",
            "SIGSEGV",
            "SIGABRT",
            "SIGTERM",
            "SIGBUS",
            "SIGHUP",
            "SIGILL",
            "SIGFPE",
            "SIGPIPE",
            "SIGTRAP",
        ])
        .text(&[
            r"\b(?:gone|lost|missing|dead)\b[^a-z]{1,4}(?:sig(?:segv|kill|abrt|bus|term|ill))\b",

            r"(?:killed|terminated|died|exited|ended|stopped|crashed)\b~\bsignal \d{1,2}\b",
            r"\bsignal: ?\d{1,2}\b",
            "pane is dead",
            "died with <?signals",
            r"(?:received|got|caught) (?:a )?signal \d",
        ])
        .not(&["asyncio.CancelledError"])
        .example("Process exited with signal SIGKILL"),
    rule("process.core", ProcessDied)
        .decisive()
        .text(&[
            r"\bbuffer overflow detected\b",
            r"\bstack overflow detected\b",

            r"\bsegfault\b",
            r"\bsegmentation violation\b",
            r"\bfatal runtime error\b",
            r"\bfatal error has been detected by the java\b",
            r"\bhs_err_pid\d",
            r"\b(?:kernel pid|runtime) terminat(?:ed|ing)\b",
            r"\berl_crash\.dump\b",
            r"\bassertion\b~\bfailed\b~\babort",
            r"\bheap corruption\b",
            r"\bcorrupted size vs\. prev_size\b",
            r"\bmunmap_chunk\b|\bmalloc\(\): \w",
            r"\binternal clr error\b",
            r"\bcore dump(?:ed)?\b",
            r"\bminidump\b",
            r"\bcrash ?(?:dump|report) (?:written|saved|generated)\b",
            r"\bgpu process\b~\b(?:crash|gone|exited)",
            r"\brender(?:er)? process (?:gone|crashed|killed|exited)\b",
            r"\b0xc000000[05d]\w{0,2}\b",

            "std::bad_alloc",
            "terminate called after throwing",
            "trace/bpt trap",
            r"\bkilled: 9\b",
            "exc_bad_access",
            r"\babort\(\) called\b",
            r"\bcore dumped\b",
            r"\bsegmentation fault\b",
            r"\bbus error\b",
            r"\billegal instruction\b",
            r"\bfloating point exception\b",
            r"\bstack smashing\b",
            r"\baccess violation\b",
            r"\bstack overflow\b~(?:abort|crash|core|exception)",
            "double free or corruption",
        ])
        .example("Aborted (core dumped)"),
    rule("process.killed", ProcessDied)
        .text(&[
            r"\bprocess has terminated: (?:exit|signal)",
            r"\bcode=(?:killed|dumped)\b",
            r"\bcode=exited,? status=[1-9]\d{0,2}\b",
            r"\bstatus=[1-9]\d{0,2}/[a-z]{2,12}\b",
            r"\b(?:runner|worker|engine|executor|kernel|interpreter|subprocess|daemon|scheduler|detokenizer)\b(?: \S{1,40})? (?:has |was |is |got |unexpectedly )?(?:disconnected|went away|vanished|lost|disappeared|hung up)\b",

            r"\bnot be restarted\b",
            r"\bserver got closed\b",
            r"\bfatal state\b",
            r"\btoo many (?:restarts|start retries|crashes)\b",
            r"\bworker timeout \(pid",
            r"\bstart request repeated too quickly\b",
            r"\bexited too quickly\b",

            r"line \d{1,6}: \d{1,8} (?:killed|terminated|aborted|hangup)\b",
            "zsh: (?:killed|terminated|abort|hangup|alarm|quit|trace trap|invalid system call|illegal hardware|floating point|exec format)",
            r"^(?:killed|terminated|aborted|hangup)(?:[.!:;]|$| \(| by\b| at\b)",
            r"\b(?:process|worker|container|child|task runner|subprocess|session|agent|job)\b(?: \S{1,40}){0,2} (?:was |has been |got |is )?(?:killed|terminated unexpectedly|crashed|dead|died|gone)\b",
        ])
        .example("bash: line 1:  4054 Killed                  sh -c x"),
    rule("process.command_missing", ProcessDied)
        .decisive()
        .text(&[
            r"\bexecutable named \S{1,40} (?:is |was )?not\b",
            r"\bexec\b \S{1,60} failed\b",
            r"\b(?:sh|bash|zsh|dash|ash|fish|ksh)\b: (?:line )?(?:\d{1,5}: )?(?:\S{1,60}: )?(?:command )?(?:not found|permission denied|cannot execute|no such file or directory|bad interpreter)",
            r"\bbad interpreter\b",
            r"\bexec user process caused\b",
            r"\b(?:library|image) not loaded\b",
            r"\berror while loading shared libraries\b",
            r"\bcannot open shared object file\b",
            r"\bsymbol (?:lookup error|not found)\b",
            r"\bundefined symbol\b",
            r"\bcould not find or load main class\b",
            r"\bcould not create the java virtual machine\b",

            "failed to run command",
            "cannot run program",
            "unable to access jarfile",
            "is not executable by this user",
            "error=2, no such file",
            r"\bconnect enoent\b",
            "cannot find module",
            r"\bcommand not found\b",
            "is not recognized as (?:an internal|the name of)",
            r"no such file or directory\b~\bexec",
            "exec format error",
            r"exec:? \S{1,60}: (?:not found|no such file)",
            "cannot execute(?: binary file)?",
        ])
        .example("bash: line 1: claudee: command not found"),
    // Something did not start or panicked: what it says besides may name the cause.
    rule("process.not_started", ProcessDied)
        .text(&[
            r"\bpanicked at\b",
            r"\b& (?:spawn|exec|launch|start) (?:the )?(?:process|command|child|subprocess|worker|server|service|container)\b",
            r"\b& create (?:shim|containerd|task)\b",
            r"\berror response from daemon\b~\b(?:cannot|failed|oci|driver|conflict)\b",
        ])
        .not(&["Failed to start container: read timed out", "panicked at src/main.rs:1: request timed out"])
        .example("Instance 7 failed to start container"),
    // A wrapper as often as a cause: what it names besides decides.
    rule("process.not_created", ProcessDied)
        .class()
        .text(&[
            r"\b& (?:create|start|run|setup|set up) (?:the |a |an )?(?:pod )?(?:sandbox|container|pod|containerd task|shim task|network for sandbox)\b",
        ])
        .not(&["Failed to create sandbox: Total CPU limit exceeded."])
        .example("Failed to create pod sandbox"),
    rule("process.exit_timeout", Timeout)
        .class()
        .text(&[r"\bexit(?:ed)?(?: with)?(?: code| status)?[ =:]{1,2}124\b"])
        .example("exit=124"),
    rule("process.exit_interrupt", Cancelled)
        .class()
        .text(&[r"\bexit(?:ed)?(?: with)?(?: code| status)?[ =:]{1,2}130\b"])
        .example("exit=130"),
    rule("process.exit_signal", ProcessDied)
        .class()
        .text(&[
            r"^status (?:13[1-9]|14[0-9])$",
            r"\bexit(?:ed)?(?: with)?(?: code| status|code)?(?:\x22)?[ =:(]{1,3}(?:13[1-9]|14[0-9]|15[0-9]|126|127)\b",
            r"\bexitcode\x22?: ?[1-9]",
        ])
        .example("exited with code 137"),
    rule("process.ended_well", Unknown)
        .class()
        .text(&[
            r"\bexit(?:ed)?(?: normally| cleanly| gracefully)?(?: with)?:? ?\(?(?:exit )?(?:code|status)?[ :=(]{1,2}0(?:[)\].,; ]|$)",
        ])
        .example("process 429 exited with code 0"),
    rule("process.exit", ProcessDied)
        .hint()
        .text(&[
            r"\bexecution of the postgresql server is not permitted\b",
            r"\b(?:process|worker|subprocess|runner|container|server|child|agent|daemon) (?:could not|couldn't|cannot|can't) be (?:started|launched|spawned|executed)\b",
            r"\b(?:process|subprocess|container|mcp server|daemon|child) has stopped\b",
            r"\b(?:runner|mcp server|language server|daemon|server process) (?:was|got|has been) killed\b",
            r"\brespawning too fast\b",
            r"\brunner (?:was |has )?terminated\b",
            r"\b(?:claude code|codex|gemini|cli|binary|executable)(?: cli)? not found\. (?:install|please install)\b",
            r"\bmay have run out of memory\b",
            r"\bclient closed for command\b",
            r"\bchild process \[?\d{1,8}\]? died\b",
            r"\bkernel \S{1,60} died\b",
            r"\bstalled more than\b",
            r"\bnode down: not properly\b",
            r"\bfallen off the bus\b",
            r"\bagent lost\)",
            r"\bjob for \S{1,60} failed\b",
            r"\breached (?:the |its )?(?:specified )?backoff limit\b",
            r"\b(?:runner|agent|worker|node|executor|slave|builder)\b(?: \S{1,40}){0,3} lost communication\b",
            r"\breceived ['\x22`]?(?:killed|kill|terminated)['\x22`]? signal\b",
            r"\btoo many (?:unstable )?restarts\b",
            r"\bstarting (?:the )?(?:root )?(?:container|sandbox)\b~\bfailed\b",
            r"\b(?:actor|node|replica|engine|kernel|runner|executor|driver|scheduler|raylet|helper|instance|interpreter|extension host|plugin|bridge|sidecar|engine core)s? (?:\S{1,20} )?(?:has |have |had |just )?(?:died|crashed|been killed)\b",
            r"\b(?:exit|exited) code: ?[1-9]\d{0,2}\)",
            r"\bunhandled 'error' event\b",

            r"\b(?:terminal|runtime|shell|session) (?:ended|lost|died)\b",
            r"\bpermission denied: \./\S",

            r"\berrno 1(?:3[1-9]|26|27)\b",
            r"\bexited via signal\b",
            r"\bprocess exited\b",

            r"\bserver shut ?down\b",
            r"\bshut down unexpectedly\b",
            r"\bunknown command\b",
            r"\bmissing script\b",
            r"\bcannot find (?:package|module|the (?:file|path|module))\b",
            r"\bliveness probe\b",
            r"\bwill be restarted\b",
            r"\bbuffer overflow detected\b",
            r"\bfailed to start\b",
            r"\bexit [1-9]\d{0,2}\b",
            r"\bexiterror\b",
            r"\bterminated by\b",

            r"\bentered fatal state\b",
            r"\bfatal state\b",
            r"\bexited too quickly\b",
            r"\bstart request repeated too quickly\b",
            r"\bfailed with result\b",
            r"\bmain process exited\b",
            r"\bworker timeout\b",
            r"\bnot be restarted\b",
            r"\bserver (?:\S{1,30} )?crashed\b",
            r"\bcrashed \d{1,3} times\b",
            r"\bcrash(?:ed|ing)? (?:loop|unexpectedly|repeatedly)\b",
            r"\bchild exited\b",
            r"\bexited (?:with|code|status|\()\b~[1-9]",
            r"\bexited \(\d{1,3}\)",
            r"\bexit(?:ed)? (?:with )?(?:error )?code:? ?\[?-?[1-9]\d{0,9}\b",
            r"\bexit status:? [1-9]",
            r"\bexit_?code\b[^a-z0-9]{1,4}-?[1-9]",
            r"\breturn ?code\b[^a-z0-9]{1,4}-?[1-9]\d{0,3}\b",
            r"\breturned non-zero\b",
            r"\berrored with exit code\b",
            r"\bquit unexpectedly\b",
            r"\bterminated unexpectedly\b",
            r"\b(?:process|worker|server|runner|agent|container|pane|session|subprocess|daemon) (?:\S{1,40} )?(?:is |was |has |had )?(?:no longer running|not running|not alive|stopped responding|vanished|disappeared|been killed)\b",
            r"\bpane (?:\S{1,12} )?(?:is |was )?(?:dead|gone|exited)\b",
            r"\brestart(?:ing|ed)? (?:loop|\(\d)",
            r"\btoo many (?:restarts|start retries|crashes)\b",
            r"\bserver got closed\b",
            r"\b(?:unhandled|uncaught) (?:exception|rejection|error|promise)\b",
            r"\bdied (?:unexpectedly|while|during|before|with|on)\b",
            r"\blost (?:the )?(?:child|worker|runner|process)\b",
            r"\b(?:process|child|worker) (?:has )?(?:died|crashed)\b",
            r"\bcrash(?:ed|es)\b",
            r"\bunclean exit\b",
            r"\bsubprocess (?:error|failed|failure)\b",

            r"\bcommand failed: \S",
            r"\b(?:backend|daemon|gateway|service|sidecar|language server|helper|app-server|extension host) (?:has |was )?(?:stopped|exited|crashed|terminated|died)\b",
            "process finished with exit code [1-9]",
            r"\belifecycle\b",
            r"\b(?:process|daemon|worker|supervisor|runner) (?:is|was) (?:not|no longer) (?:running|alive)\b",
            r"\bunexpectedly quit\b",
            r"\bexit(?:ed)?(?: with)?(?: a)?(?: non-zero)?(?: exit)?(?: code| status|code)[ =:]{1,2}-?[1-9]\d{0,19}\b",
            r"\bnon-?zero exit\b",
            r"\breturned (?:exit )?code [1-9]",
            r"\bexit=[1-9]\d{0,2}\b",
            r"\b(?:process|worker|server|child|runner|container|subprocess) (?:\S{1,40} )?(?:has )?(?:unexpectedly )?(?:exited|terminated|ended|quit)(?: unexpectedly| prematurely| early)?\b",
            r"\bexited (?:unexpectedly|prematurely|early|abnormally)\b",
            r"\bunexpected(?:ly)? exit",
        ])
        .code(&[
            "CLINotFoundError",
            "BackoffLimitExceeded",
        ])
        .example("worker exited with code 1"),
    rule("process.kubernetes", ProcessDied)
        .decisive()
        .code(&[
            "ShardCannotStart",
            "FailedCreatePodSandBox",
            "FailedCreatePodContainer",
            "CreateContainerConfigError",
            "InvalidImageName",
            "StartError",
            "FailedPostStartHook",
            "CrashLoopBackOff",
            "ContainerCannotRun",
            "ImagePullBackOff",
            "ErrImagePull",
            "CreateContainerError",
            "RunContainerError",
            "DeadlineExceededPod",
            "Evicted",
            "NodeLost",
            "ContainerDied",
        ])
        .text(&[
            "back-off restarting failed container", "the node was low on resource"])
        .example(r#"{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}"#),
    rule("process.tmux", ProcessDied)
        .decisive()
        .text(&[
            "no server running on ",
            r"lost server\b",
            "server exited unexpectedly",
            r"error connecting to /\S{1,60}tmux",
        ])
        .example("no server running on /tmp/tmux-1000/default"),
    rule("process.tmux_target", StateLost)
        .decisive()
        .text(&[
            r"cant find (?:session|window|pane|client)",
"can't find (?:session|window|pane|client)", "no such (?:session|window|pane)"])
        .example("can't find session: agents"),
    rule("process.stdio", ProcessDied)
        .text(&[
            "(?:stdin|stdout|stdio|pipe) (?:is |was |has been )?(?:closed|broken|ended)",
            "eof on stdin",
            "child process (?:has )?(?:exited|closed|died|crashed)",
            r"(?:transport|process|stdin) is not ready for writing",
        ])
        .code(&["ProcessExit", "ProcessExited", "ProcessExitedError", "ContainerExited", "WorkerDied"])
        .example("Error: write after end: stdin is closed"),
    rule("process.docker", ProcessDied)
        .decisive()
        .on(Surface::Network, NetworkTransient)
        .text(&[
            r"\bis restarting, wait until\b",
            r"\bliveness probe failed\b",

            r"container \S{1,70} is not running",
            "cannot connect to the docker daemon",
            "oci runtime (?:create|exec) failed",
        ])
        .example("Error response from daemon: container abc is not running"),
    rule("process.panic", ProcessDied)
        .class()
        .text(&["unhandled (?:exception|rejection)", "uncaught exception", "fatal python error", "fatal error: "])
        .example("fatal: unhandled exception, terminating"),
    // The shell could not read the script.
    rule("process.shell_syntax", ProcessDied)
        .decisive()
        .text(&[r"\bsyntax error near unexpected token\b", r"\bunexpected eof while looking for matching\b"])
        .example("bash: -c: line 31: syntax error near unexpected token `('"),
    rule("process.start_general", ProcessDied)
        .class()
        .text(&[
            r"\bexited with (?:code|status) 0 (?:unexpectedly|before|while|without)\b",
            r"\bdid not pass the (?:\S{1,10} )?health check\b",
            r"\bcontainer creation failed\b",
            r"\b(?:engine|core|server|worker|runtime|shard|executor|backend|kernel|plugin|extension|driver|process|container|agent|browser|gpu|cuda)(?: \S{1,14})? (?:initiali[sz]ation|startup|start-up|launch|boot) (?:has )?(?:failed|error|failure)\b",
            r"\bsyntax error: unexpected\b",
            r"\bcontainer \S{1,40} is unhealthy\b",
            r"\bdependency failed to start\b",

            r"\bexec(?:ve|vp)?\b[ :(]~\b(?:failed|format error|no such file|not found|permission denied|bad file)\b",
            r"\b& (?:spawn|exec|fork|launch)\b",
            r"\bfork: (?:retry|cannot)\b",
            r"\b& (?:find|locate) (?:the )?(?:executable|binary|command|program|interpreter|\S{1,20} executable|\S{1,20} binary)\b",
            r"\b(?:executable|binary|interpreter|program) (?:\S{1,60} )?(?:was |is )?(?:not found|missing|does not exist|not executable)\b",
            r"\bglibc\S{0,8} not found\b",
            r"\bno module named\b",
            r"\bwinerror (?:2|5|193)\b",
            r"\bcreateprocess\b~\b(?:failed|error)\b",
            r"\b& (?:start|launch|spawn|boot|bring up) (?:the |a |an )?(?:\S{1,30} ){0,3}(?:process|server|worker|container|agent|runner|subprocess|daemon|service|sandbox|shell|session|browser|command|program|mcp|language server|sidecar|engine)\b",
        ])
        .example("Could not launch quux"),
    rule("process.signal_general", ProcessDied)
        .class()
        .text(&[
            r"\b(?:return ?code|exit ?code|rc|exit ?status|status|returncode)\b[ =:]{0,3}-(?:[1-9]|1[0-5]|2\d)\b",
            r"\b(?:killed|terminated|died|exited|stopped|crashed|ended) (?:by|with|on|due to|via|after|from) (?:a |an |the )?(?:\S{1,12} )?(?:sig[a-z]{3,5}|signal)\b",
            r"\bsignal [1-9]\d?\b",
            r"\bsignal (?:sig)?(?:kill|term|segv|abrt|bus|hup|ill|fpe)\b",
            r"\bsent sig[a-z]{3,5}\b",
            r"\bgot sig[a-z]{3,5}\b",
            r"\breceived sig(?:kill|term|segv|abrt|hup)\b",
        ])
        .example("the shell reports returncode=-9"),
    // What a watchdog does not hear from, it ends.
    rule("process.watchdog", ProcessDied)
        .decisive()
        .text(&[
            r"\bexited with code \[\d{1,3}\] via signal\b",
            r"\bwatchdog (?:timeout|timed out|expired|bark\w{0,3}|triggered|killed)\b",
            r"\bfailed with result ['\x22`]?watchdog\b",
            r"\breceived sig(?:quit|term|abrt|segv|kill|bus|ill) from a child\b",
            r"\binterrupted by signal (?:[3-9]|1\d|2\d)\b",
        ])
        .not(&["interrupted by signal 2: SIGINT"])
        .example("[TP3] Watchdog timeout (self.watchdog_timeout=300)"),
    rule("process.memory", ProcessDied)
        .code(&[
            "STATUS_ACCESS_VIOLATION",
            "STATUS_STACK_OVERFLOW",
            "STATUS_HEAP_CORRUPTION",
            "STATUS_STACK_BUFFER_OVERRUN",
            "STATUS_DLL_NOT_FOUND",
            "ERROR_NOT_ENOUGH_MEMORY",
            "ERROR_OUTOFMEMORY",
            "ERROR_COMMITMENT_LIMIT",
            "CreateContainerConfigError",
            "CreateContainerError",
            "ContainerCannotRun",
            "ContainerStatusUnknown",
            "InvalidImageName",
        ])
        .text(&[
            r"\b(?:double free|heap corruption|corrupted (?:size|top size|double-linked list|unsorted chunks))\b",
            r"\bpaging file is too small\b",
            r"\bnccl (?:error|operation failed|communicator was aborted|watchdog)\b",
            r"\bunhandled cuda error\b",
        ])
        .example("free(): double free detected in tcache 2"),
    rule("process.vanished", ProcessDied)
        .decisive()
        .text(&[
            r"\bfatal python error\b",
            r"\b(?:chrome|firefox|browser|chromium|safari|msedge) (?:is |was )?not reachable\b",
            r"\b(?:chrome|firefox|browser|chromium) (?:has |was |is )?(?:crashed|disconnected|failed to start)\b",
            r"\bexecutable (?:doesn't|does not) exist\b",
r"\bfork\b[^a-z]{1,4}(?:retry: )?(?:resource temporarily unavailable|cannot allocate memory|no child)", r"\b(?:gpu|browser|renderer|worker|child|helper|main) process (?:was|is|has been|got) (?:lost|gone|unresponsive)\b"])
        .example("Message: chrome not reachable"),
    // The names of signals as shells print them, alone or behind the number of a process.
    rule("process.signal_name", ProcessDied)
        .decisive()
        .text(&[
            r"^(?:alarm clock|bad system call|trace/breakpoint trap|user defined signal [12]|virtual timer expired|profiling timer expired|(?:cpu ?time|file ?size) limit exceeded|stack fault|abort trap|emt trap|real-time signal \d{1,2}|quit: 3)(?:: \d{1,2})?(?: \(core dumped\))?$",
            r"\bline \d{1,6}: \d{1,8} (?:alarm clock|bad system call|trace/breakpoint trap|user defined signal [12]|virtual timer expired|profiling timer expired|(?:cpu ?time|file ?size) limit exceeded|stack fault|abort trap|quit|broken pipe|real-time signal)\b",
        ])
        .example("run.sh: line 4: 4054 Alarm clock ./agent"),
    // A shell's word for SIGABRT, and everyone else's for a call that was given up.
    rule("process.aborted", Cancelled)
        .on(Surface::Process, ProcessDied)
        .decisive()
        .text(&[r"^aborted\.?$"])
        .example("Aborted"),
    rule("process.no_bus", Unknown)
        .text(&[r"\b& (?:connect to|get|open) (?:the )?(?:system |session |user |d-)?(?:scope )?(?:message )?bus(?: connection)?(?::|$)"])
        .example("Failed to connect to bus: Host is off"),
];

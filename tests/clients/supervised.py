"""Real agents under `steadfast run`: driven, watched, and resumed after their death.

Each is started by its adapter, so these cases hold what docs/supervisor.md says of them against the programs themselves.
"""

import json
from pathlib import Path

from agents import AGENTS as RUNS
from stage import environment, run
from table import AGENTS, COMMAND, DIALECTS, MODELS, call

# What lets an agent run its shell tool without asking, and what it calls a model of its vendor.
ALLOWED = {
    "claude": (["--allowedTools", "Bash"], "{}"),
    "codex": (["-s", "danger-full-access"], "{}"),
    "gemini": (["--approval-mode", "yolo"], "{}"),
    "opencode": ([], "openai/{}"),
}

# The shell tool of each, and what it calls its command.
SHELLS = {"claude": ("Bash", "command"), "codex": ("exec_command", "cmd"), "gemini": ("run_shell_command", "command"),
          "opencode": ("bash", "command")}

# Kills the agent that runs it, the first time.
DEADLY = f"test -e once && {COMMAND} || {{ touch once; kill -9 $PPID; sleep 60; }}"

# A project that nobody is let into without a key. The agent has none of its own.
TEAM = '[projects.team]\nkeys = [{{ file = "{key}" }}]\n'

# What a whole run may take: restarts wait for seconds.
RUN_SECONDS_MAX = 180


def supervised_cases(name):
    dialect = DIALECTS[AGENTS[name]["api"]]
    yield f"{name}: supervised", supervised, (name, [([dialect], AGENTS[name]["tool"])], [], {"attempts": 1, "made": True})
    shell, field = SHELLS[name]
    # Some tell the model of the tool that broke off, and this model is content with that.
    again = {"made": True} if name in ["claude", "gemini"] else {}
    yield f"{name}: supervised: killed", supervised, (name, [([dialect], call(shell, {field: DEADLY}))], [], {"attempts": 2, **again})
    # Each is told so in words that stop it, such as a quota for Gemini CLI; the task is judged by what happened.
    dead = {"success": False, "attempts": 1, "error_type": "server_error"}
    yield f"{name}: supervised: dead", supervised, (name, [([dialect], "status=500")], [], dead)
    keys = (name, [([dialect], AGENTS[name]["tool"])], ["--project", "team"], {"attempts": 1, "made": True})
    yield f"{name}: supervised: with a key of its project", supervised, keys
    other = "claude" if name != "claude" else "codex"
    second = DIALECTS[AGENTS[other]["api"]]
    targets = [([dialect], "status=500"), ([second], AGENTS[other]["tool"])]
    yield f"{name}: supervised: rescued by {other}", supervised, (name, targets, ["--chain", f"{other}:{MODELS[second]}"], {"attempts": 2})


def supervised(stage, _, name, targets, arguments, wanted):
    """A whole task, by its result: done, in so many attempts, or given up."""
    wanted = {"success": True, **wanted}
    scene = stage.scene(targets)
    Path(scene.folder, "key").write_text("team-key-1234567890")
    scene.more = TEAM.format(key=scene.folder / "key")
    with scene:
        work = scene.folder / "work"
        work.mkdir()
        allowed, called = ALLOWED[name]
        variables = {}
        for agent in RUNS:
            variables |= RUNS[agent]("")[1]
        env = environment(scene.home, NO_COLOR="1", **variables)
        config = ["--config", str(scene.folder / "steadfast.toml")]
        if name == "gemini":
            code, _, said = run([stage.binary, *config, "setup", name, "--write"], scene.folder, env, 30)
            assert code == 0, f"setup: {said}"
        model = called.format(MODELS[DIALECTS[AGENTS[name]["api"]]])
        command = [stage.binary, "run", *config, "--agent", name, "--model", model, "-t", "go", "--json", *arguments, "--", *allowed]
        code, out, err = run(command, work, env, RUN_SECONDS_MAX)
        made = Path(work, "made.txt").exists()
        attempts, requests = scene.attempts(), scene.requests()
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    result = lines[-1].get("result", {}) if lines else {}
    seen = {field: {**result, "made": made}.get(field) for field in wanted}
    told = f"exit {code}, {seen}; {requests} requests, attempts {attempts}; {json.dumps(result)[:600]} {err[-300:]}"
    assert seen == wanted, told
    assert (code == 0) == wanted["success"], told
    return told[:100]

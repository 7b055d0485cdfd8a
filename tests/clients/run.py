"""Real clients through a real gateway, with a provider behind it that fails by script. Run by `cargo xtask clients`.

    run.py BINARY NODE_MODULES [WORD ..]      only cases whose names contain all the words

Every case has a gateway of its own. What a client gets is compared with the whole answer, and what it cost is counted where it
arrives: `requests` at the gateway, `attempts` at the fake.
"""

import fnmatch
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from agents import AGENTS as RUNS
from stage import Stage, environment, run
from supervised import supervised_cases
from table import (AGENTS, ASKED_AGAIN, AWAITING, DIALECTS, FAULTS, FEATURES, FOREIGN, GIVEN, KNOWN_AS, MODELS, SDKS, SLOW, STREAMS_ONLY, TRANSLATES,
                   WHOLE_WITHOUT_END, WORDS)

# What one turn may cost, as a multiple of what it costs when all is well.
FACTOR = 1.3
# Nothing waits for this while all is well: a turn takes seconds, on a machine that does nothing else.
TURN_SECONDS_MAX = 120


class Problem(Exception):
    """What a client saw, or what it cost, is not what it should be."""


def expect(holds, what):
    if not holds:
        raise Problem(what)


class Runner:
    """One of the SDK runners, started when it is first needed and again when it died."""

    def __init__(self, command, home):
        self.command, self.home, self.process = command, home, None

    def ask(self, job):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            stderr=subprocess.DEVNULL, env=environment(self.home))
        limit = threading.Timer(60, self.process.kill)
        limit.start()
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        finally:
            limit.cancel()
        return json.loads(line) if line else {"error": "the runner did not answer within 60 s"}

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(timeout=20)


# ── SDKs ──


def sdk_cases(client, api):
    dialect = DIALECTS[api]
    for feature, (answer, wanted) in FEATURES.items():
        yield f"{client}: {feature}", sdk_answer, (client, feature, [([dialect], answer)], wanted)
        for other in FOREIGN[dialect] if TRANSLATES else []:
            targets = [([dialect], FAULTS["500"]), ([other], answer)]
            yield f"{client}: {feature}: by {other}", sdk_answer, (client, feature, targets, wanted, [MODELS[other]])
    yield f"{client}: stream: beat", sdk_beat, (client, [([dialect], f"ok {SLOW}")])
    for fault, spec in FAULTS.items():
        for feature in ["chat", "stream"]:
            if feature == "chat" and fault in STREAMS_ONLY:
                continue
            targets = [([dialect], spec), ([dialect], "ok")]
            yield f"{client}: {feature}: {fault}: rescued", sdk_answer, (client, feature, targets, FEATURES[feature][1])
            if fault != "no end" or api not in WHOLE_WITHOUT_END:
                yield f"{client}: {feature}: {fault}: dead", sdk_dead, (client, feature, targets[:1])


def sdk_ask(stage, runner, targets, client, feature, stream="fast", chain=None):
    """What the client got, what it cost, and what arrived."""
    with stage.scene(targets, stream, chain) as scene:
        result = runner.ask({"client": client, "base": scene.base, "feature": feature, "given": GIVEN})
        bodies = scene.bodies() if feature == "image" else []
        attempts, requests = scene.attempts(), scene.requests()
    return result, attempts, requests, bodies


def cost(requests, attempts):
    return f"{requests} requests, {'+'.join(map(str, attempts))} attempts"


def expect_answer(result, wanted, counted):
    expect("error" not in result, f"{result.get('error')}; {counted}")
    if "json" in wanted:
        expect(json.loads(result["text"]) == wanted["json"], f"said {result['text']}")
        return
    expect(result["text"] == wanted["text"], f"said {result['text']}")
    expect((result.get("calls") or []) == wanted.get("calls", []), f"called {result.get('calls')}")


def sdk_answer(stage, runner, client, feature, targets, wanted, chain=None):
    """The whole answer, in one request; where the first target fails, from the second."""
    stream = "fast" if len(targets) == 1 else "safe"
    result, attempts, requests, bodies = sdk_ask(stage, runner, targets, client, feature, stream, chain)
    counted = cost(requests, attempts)
    expect_answer(result, wanted, counted)
    turns = 2 if feature == "tools" else 1
    expect(requests == turns and max(attempts) <= turns, counted)
    if feature == "image":
        # One vendor's SDK may write base64 with other letters.
        plain = bodies[-1].replace("\\/", "/").replace("-", "+").replace("_", "/")
        expect(GIVEN["image"].rstrip("=") in plain, f"the image did not arrive: {bodies}")
    return counted


def sdk_beat(stage, runner, client, targets):
    """The whole answer of a slow provider, in one request, with heartbeats before and within it."""
    with stage.scene(targets, beats_for=KNOWN_AS[client]) as scene:
        result = runner.ask({"client": client, "base": scene.base, "feature": "stream", "given": GIVEN})
        beats, attempts, requests, askers = scene.beats(), scene.attempts(), scene.requests(), scene.askers()
    counted = f"{cost(requests, attempts)}, {beats} heartbeats"
    expect(askers == [KNOWN_AS[client]], f"taken for {askers}")
    expect_answer(result, FEATURES["stream"][1], counted)
    expect(requests == 1 and attempts == [1] and beats > 0, counted)
    return counted


def sdk_dead(stage, runner, client, feature, targets):
    """An exception, after one request."""
    result, attempts, requests, _ = sdk_ask(stage, runner, targets, client, feature)
    counted = cost(requests, attempts)
    expect("error" in result, f"no exception for a failed answer: {result.get('text')}; {counted}")
    expect(sum(attempts) <= FACTOR and requests <= FACTOR, counted)
    return f"{counted}; {result['error'][:60]}"


# ── Agents ──


def agent_cases(name, agent):
    dialect, tool = DIALECTS[agent["api"]], agent["tool"]
    turn = agent["requests"] + 1
    yield f"{name}: tool", agent_turn, (name, turn, [([dialect], tool)], None)
    yield f"{name}: tool: beat", agent_beat, (name, turn, [([dialect], f"{SLOW} {tool}")])
    for number, (fault, spec) in enumerate(FAULTS.items()):
        # Who names no session is remembered by the request alone: each request of the turn breaks off once.
        more = turn + (fault in ASKED_AGAIN) * (1 if agent.get("session", True) else turn)
        targets = [([dialect], f"{spec} {tool}"), ([dialect], tool)]
        yield f"{name}: tool: {fault}: rescued", agent_turn, (name, more, targets, None)
        # Without its end a stream has said everything: the tool runs, and the next request is no repeat.
        if fault != "no end":
            yield f"{name}: tool: {fault}: dead", agent_dead, (name, fault, targets[:1])
        if TRANSLATES:
            other = FOREIGN[dialect][number % 2]
            targets = [([dialect], f"{spec} {tool}"), ([other], tool)]
            yield f"{name}: tool: {fault}: rescued by {other}", agent_turn, (name, more, targets, [MODELS[other]])


def agent_run(stage, name, targets, chain=None, attempts_max=None, beats_for=None):
    """How it ended, what it said, what its tool made, what that cost, the heartbeats it got, and its last words."""
    with stage.scene(targets, "fast", chain, beats_for) as scene:
        work = scene.folder / "work"
        work.mkdir()
        command, variables, answer = RUNS[name](MODELS[DIALECTS[AGENTS[name]["api"]]])
        env = environment(scene.home, NO_COLOR="1", **variables)
        setup = [stage.binary, "--config", str(scene.folder / "steadfast.toml"), "setup", name, "--write"]
        code, _, said = run(setup, scene.folder, env, 30)
        expect(code == 0, f"setup: {said}")
        too_many = lambda: attempts_max is not None and sum(scene.attempts()) > attempts_max
        code, out, err = run(command, work, env, TURN_SECONDS_MAX, too_many)
        made = Path(work, "made.txt")
        made = made.read_text().strip() if made.exists() else None
        beats, attempts, requests = scene.beats(), scene.attempts(), scene.requests()
    return code, answer(out), made, attempts, requests, beats, (err or out).strip()[-300:]


def agent_turn(stage, _, name, turn, targets, chain):
    """A whole turn with a tool call, in so many requests."""
    return expect_turn(turn, *agent_run(stage, name, targets, chain))


def agent_beat(stage, _, name, turn, targets):
    """The same from a slow provider, with heartbeats."""
    *ran, beats, said = agent_run(stage, name, targets, beats_for=KNOWN_AS[name])
    counted = f"{expect_turn(turn, *ran, beats, said)}, {beats} heartbeats"
    expect(beats > 0, counted)
    return counted


def expect_turn(turn, code, answer, made, attempts, requests, _, said):
    counted = cost(requests, attempts)
    expect(code is not None, f"not done after {TURN_SECONDS_MAX} s; {counted}; {said}")
    # Gemini CLI keeps what it had got of an answer that broke off before the whole one.
    expect((answer or "").endswith(WORDS), f"exit {code}, said {answer}; {counted}; {said}")
    expect(made == "made-by-tool", f"the tool did not run; {counted}")
    expect(requests <= FACTOR * turn, counted)
    # No target is asked twice for one request, so the bound of the requests holds for each of them.
    expect(max(attempts) <= requests, counted)
    return counted


def agent_dead(stage, _, name, fault, targets):
    """A turn that cannot succeed: it fails, soon, and nobody asks again; once, where only the client can."""
    turn, again = AGENTS[name]["requests"], fault in ASKED_AGAIN
    limit = FACTOR * (turn + again)
    code, answer, made, attempts, requests, _, said = agent_run(stage, name, targets, attempts_max=limit)
    counted = cost(requests, attempts)
    expect(sum(attempts) <= limit, f"asks again: {counted}")
    # What broke off twice is answered from memory the third time, and then it stops.
    expect(requests <= FACTOR * (turn + 2 * again), f"does not stop at once: {counted}")
    expect(code is not None, f"still going after {TURN_SECONDS_MAX} s; {counted}; {said}")
    expect(answer is None and made is None, f"said {answer}, made {made}; {counted}")
    return counted


# ── All of them ──


def lanes(node_modules, home):
    """What can go on side by side: the cases of each lane, in order, and the runner it needs."""
    node = Path(node_modules, ".bin", "node")
    commands = {"sdk.py": [sys.executable], "sdk.mjs": [str(node)]}
    here = Path(__file__).parent
    for script, clients in SDKS.items():
        command = [*commands[script], str(here / script), str(Path(node_modules).parent / "package.json")]
        yield Runner(command, home), [case for client, api in clients.items() for case in sdk_cases(client, api)]
    # The slow ones begin first; two at a time, for whoever takes the next.
    waiting = [case for name in ["opencode", "gemini", "claude", "codex"] for case in [*agent_cases(name, AGENTS[name]), *supervised_cases(name)]]
    yield None, waiting[0::2]
    yield None, waiting[1::2]


def awaited(name):
    """Why a case is known to fail, if it is."""
    return next((why for pattern, why in AWAITING.items() if fnmatch.fnmatch(name, pattern)), None)


def attempt(stage, runner, check, arguments):
    """What it said, and what was wrong."""
    try:
        return check(stage, runner, *arguments), None
    except Problem as problem:
        return None, str(problem)
    except Exception as error:  # noqa: BLE001: a case that breaks must not take the others with it
        return None, f"{type(error).__name__}: {error}"


# Real programs on a busy machine: a case that fails runs once more, and that is said. Many that fail are no accident.
second_chances = iter(range(3))


def perform(stage, runner, cases, results):
    for name, check, arguments in cases:
        began = time.monotonic()
        said, wrong = attempt(stage, runner, check, arguments)
        if wrong and not awaited(name) and next(second_chances, None) is not None:
            print(f"again {name:<48} for at first: {wrong}", flush=True)
            said, wrong = attempt(stage, runner, check, arguments)
        results.put((name, said, wrong, time.monotonic() - began))
    if runner:
        runner.end()
    results.put(None)


def main(binary, node_modules, *words):
    os.environ["PATH"] = f"{Path(node_modules, '.bin')}{os.pathsep}{os.environ['PATH']}"
    results, problems, waiting, passed = queue.Queue(), [], [], 0
    began = time.monotonic()
    with Stage(str(Path(binary).resolve())) as stage:
        threads = []
        for runner, cases in lanes(node_modules, stage.folder):
            cases = [case for case in cases if all(word in case[0] for word in words)]
            threads.append(threading.Thread(target=perform, args=(stage, runner, cases, results), daemon=True))
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            result = results.get()
            if result is None:
                running -= 1
                continue
            name, said, wrong, seconds = result
            mark = awaited(name)
            if wrong and mark:
                waiting.append(name)
                print(f"wait  {name:<48} {seconds:5.1f} s  {wrong} ({mark})", flush=True)
            elif wrong:
                problems.append(name)
                print(f"FAIL  {name:<48} {seconds:5.1f} s  {wrong}", flush=True)
            else:
                passed += 1
                print(f"ok    {name:<48} {seconds:5.1f} s  {said}", flush=True)
    seconds = time.monotonic() - began
    print(f"{passed} cases of real clients well, {len(waiting)} known to fail, {len(problems)} problems, {seconds:.0f} s")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    # Told to end, it takes everything it started with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main(*sys.argv[1:])

"""Real processes for one case: a gateway of its own in front of the one fake, in a folder of its own."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

# No attempt is made twice at the same target, so what a client asks again is seen as such at the fake. What
# stalls is found out soon; nothing else here depends on how long anything takes.
POLICY = """
[policies.default]
extends = "default"
stream = "{stream}"
timeouts = {timeouts}
[policies.default.on]
default = ["fallback"]
rate_limit = ["fallback"]
overloaded = ["fallback"]
server_error = ["fallback"]
network_transient = ["fallback"]
network_permanent = ["fallback"]
timeout = ["fallback"]
stream_interrupted = ["fallback"]
bad_output = ["fallback"]
"""

IMPATIENT = '{ first_token = "1s", idle = "1s" }'
# For those who wait for a slow provider: they get heartbeats, and nobody gives up.
PATIENT = '{ first_token = "60s", idle = "60s", heartbeat = "100ms" }'


def ask(url, method="GET", data=None):
    request = urllib.request.Request(url, data=data, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


# Every process group that was started and has not ended: none of them outlives the suite.
GROUPS = set()


def spawned(command, folder, env, **streams):
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, start_new_session=True, **streams)
    GROUPS.add(process.pid)
    return process


def kill_group(group):
    GROUPS.discard(group)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def started(command, folder, url, env):
    """A process of the binary, once it answers at `url`; what it says is kept in its folder."""
    with open(Path(folder, "said.txt"), "ab") as said:
        process = spawned(command, folder, env, stdout=said, stderr=said)
    for _ in range(400):
        with contextlib.suppress(OSError):
            ask(url)
            return process
        if process.poll() is not None:
            break
        time.sleep(0.02)
    kill_group(process.pid)
    raise RuntimeError(f"{command} does not answer at {url}: {Path(folder, 'said.txt').read_text()}")


def environment(home, **more):
    """What a process gets to see of this machine: where programs are, and a home of its own."""
    kept = {name: os.environ[name] for name in ["PATH", "LANG", "LC_ALL"] if name in os.environ}
    home = str(home)
    return {**kept, "HOME": home, "XDG_CONFIG_HOME": f"{home}/.config", "XDG_STATE_HOME": f"{home}/.local/state",
            "XDG_DATA_HOME": f"{home}/.local/share", "XDG_CACHE_HOME": f"{home}/.cache", "TMPDIR": home, **more}


class Stage:
    """The fake, and the folder in which everything happens."""

    def __init__(self, binary):
        self.binary, self.numbers, self.lock = binary, itertools.count(), threading.Lock()

    def __enter__(self):
        self.rest = contextlib.ExitStack()
        self.folder = Path(self.rest.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        address = free_address()
        self.fake = f"http://{address}"
        command = [self.binary, "fake", "--listen", address]
        self.process = started(command, self.folder, f"{self.fake}/__fake/counts", environment(self.folder))
        return self

    def __exit__(self, *_):
        for group in list(GROUPS):
            kill_group(group)
        self.process.wait()
        self.rest.close()

    def scene(self, targets, stream="fast", chain=None, beats_for=None):
        """`targets`: (dialects, script) in the order in which they are asked; `chain`: the models behind the one asked for;
        `beats_for`: the client that gets heartbeats, as the gateway knows it."""
        with self.lock:
            return Scene(self, f"case-{next(self.numbers)}", targets, stream, chain or [], beats_for)


class Scene:
    """One gateway and its targets, which nobody else uses."""

    def __init__(self, stage, name, targets, stream, chain, beats_for):
        self.stage, self.name, self.targets, self.stream, self.chain = stage, name, targets, stream, chain
        self.beats_for = beats_for
        # More of the configuration, for whoever needs it.
        self.more = ""
        self.folder = stage.folder / name
        self.home = self.folder / "home"
        self.home.mkdir(parents=True)

    def __enter__(self):
        address = free_address()
        self.base = f"http://{address}"
        config = f'listen = "{address}"\n[log]\ndecisions = {{ path = "decisions.jsonl" }}\n'
        for number, (dialects, script) in enumerate(self.targets):
            self.script(number, script)
            for dialect in dialects:
                config += f'[endpoints.{dialect}-{number}]\ndialect = "{dialect}"\nurl = "{self.url(number)}"\n'
        if self.chain:
            # For every model: some agents use more than one.
            config += f"[projects.default]\nchain = {json.dumps(self.chain)}\n"
        if self.beats_for:
            # The head is not held back for longer than the provider is silent.
            config += f'[clients.{self.beats_for}]\nhead_wait = "1s"\n'
        policy = POLICY.format(stream=self.stream, timeouts=PATIENT if self.beats_for else IMPATIENT)
        Path(self.folder, "steadfast.toml").write_text(config + policy + self.more)
        self.process = started([self.stage.binary, "serve", "--drain", "1"], self.folder, f"{self.base}/health",
                               environment(self.home))
        return self

    def __exit__(self, *_):
        ended(self.process)

    def url(self, number):
        return f"{self.stage.fake}/@{self.name}-{number}"

    def script(self, number, script):
        ask(f"{self.stage.fake}/__fake/script/{self.name}-{number}", "PUT", script.encode())

    def attempts(self):
        """How many requests the targets got, in their order."""
        counts = json.loads(ask(f"{self.stage.fake}/__fake/counts"))["counts"]
        return [counts.get(f"{self.name}-{number}", 0) for number in range(len(self.targets))]

    def beats(self):
        """How many heartbeats the gateway has sent."""
        lines = ask(f"{self.base}/metrics").decode().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("steadfast_heartbeats_total "))

    def bodies(self):
        """The bodies the targets got, as far as the fake keeps them."""
        requests = json.loads(ask(f"{self.stage.fake}/__fake/requests"))["requests"]
        return [request["body"] for request in requests if request["endpoint"].startswith(f"{self.name}-")]

    def requests(self):
        """How many requests the client made: what the gateway began, by its decision log once it has stopped."""
        ended(self.process)
        return len(self.askers())

    def askers(self):
        """For whom the gateway took the client, request by request; once it has stopped."""
        log = Path(self.folder, "decisions.jsonl")
        lines = map(json.loads, log.read_text().splitlines() if log.exists() else [])
        return [line["client"] for line in lines if line["event"] == "start"]


def run(command, folder, env, seconds, enough=lambda: False):
    """A client's whole run: exit code and what it said. None for a code where it was stopped, because it took too long or
    somebody has seen enough. Its children end with it."""
    with open(Path(folder, "out.txt"), "wb") as out, open(Path(folder, "err.txt"), "wb") as err:
        process = spawned(command, folder, env, stdout=out, stderr=err)
        limit, code = time.monotonic() + seconds, None
        while code is None and time.monotonic() < limit and not enough():
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=0.5)
        kill_group(process.pid)
        process.wait()
    out, err = (Path(folder, name).read_text(errors="replace") for name in ["out.txt", "err.txt"])
    return code, out, err


def ended(process):
    """Asked to end, so that the log is whole; then made to."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=20)
    kill_group(process.pid)
    process.wait()


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"

"""The real binary, in a home folder of its own."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import sys
import time
import urllib.request
from typing import Iterator

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

CONFIG = """
[policies.session-manager]
extends = "session-manager"
[policies.session-manager.on]
default = [{ retry = 2, every = "20ms" }, "fallback"]
"""

AGENT = """#!/bin/sh
# Plays an agent: `agent MODEL TASK`.
case "$2" in
  *limited*) [ "$1" = good ] || { echo "Error: 429 Too Many Requests" >&2; exit 1; } ;;
  *missing*) [ "$1" = good ] || { echo "Error: model not found: $1" >&2; exit 1; } ;;
  *broken*) echo "2 tests failed" >&2; exit 1 ;;
  *slow*) sleep 60 ;;
esac
echo "$1 did: $2"
"""


@pytest.fixture
def home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a configuration and an agent, which is where everything is kept."""
    for name in list(os.environ):
        if name.startswith("STEADFAST_") and name != "STEADFAST_BINARY":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steadfast.toml").write_text(CONFIG)
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    return tmp_path


@pytest.fixture
def agent(home: pathlib.Path) -> "list[str]":
    """The command of the agent."""
    return [str(home / "agent"), "{model}", "{task}"]


@pytest.fixture
def server(home: pathlib.Path) -> Iterator[str]:
    """A running server, by its address."""
    log = (home / "serve.log").open("wb")
    process = subprocess.Popen(
        [os.environ["STEADFAST_BINARY"], "serve", "--listen", "127.0.0.1:0"],
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
    )
    try:
        yield _address(process, home / "serve.log")
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _address(process: "subprocess.Popen[bytes]", log: pathlib.Path) -> str:
    limit = time.monotonic() + 30
    while time.monotonic() < limit and process.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith("steadfast is listening on "):
                url = line.rsplit(" ", 1)[1]
                urllib.request.urlopen(url + "/health").read()
                return url
        time.sleep(0.05)
    raise AssertionError(f"the server does not start: {log.read_text()}")

"""The control API as others see it: schemathesis against the OpenAPI document, exports in DuckDB and pandas, and the
official MCP client.

Run by `cargo xtask api`, which installs all of them into a folder of its own.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import duckdb
import pandas
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import schema

TOKEN = "api-check-token-1234567890"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}

CONFIG = """
listen = "127.0.0.1:{port}"
[endpoints.anthropic]
dialect = "anthropic"
url = "{fake}/@a"
[models.claude-small]
vendor = "anthropic"
endpoints = ["anthropic"]
price = {{ input = 1.0, output = 5.0 }}
[models.claude-large]
vendor = "anthropic"
endpoints = ["anthropic"]
price = {{ input = 5.0, output = 25.0 }}
[ladders]
claude = ["claude-small", "claude-large"]
[projects.default]
spend = {{ usd_per_day = 1000.0 }}
[policies.default.on]
server_error = [{{ retry = 1, every = "20ms" }}]
[store]
url = "sqlite:{folder}/steadfast.db"
[admin]
token = {{ env = "STEADFAST_TOKEN" }}
"""

# An endless answer is nothing for a tool that waits for its end; tests/it/api.rs follows it.
EXCLUDED = ["/api/events"]

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    # Not "ignored_auth": the token given with --header is sent with the request that should lack it.
    # crates/gateway/tests/it/owners.rs asks every route without one.
]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(base, method, path, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {**AUTHORIZATION, "content-type": "application/json", **(headers or {})}
    request = urllib.request.Request(base + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        text = error.read()
    return json.loads(text) if text else None


def wait_for(url):
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{url} does not answer")


def turn(base, session):
    body = {"model": "claude-small", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"x-steadfast-session": session, "anthropic-version": "2023-06-01"}
    return ask(base, "POST", "/v1/messages", body, headers)


def make_history(base, fake):
    """Something of everything, so that routes have something to show."""
    turn(base, "s1")
    request = urllib.request.Request(fake + "/__fake/script/a", data=b"server_error x4; ok", method="PUT")
    urllib.request.urlopen(request, timeout=5).read()
    for session in ["s1", "s2", "s1"]:
        turn(base, session)
    ask(base, "PUT", "/api/policies/mine", {"extends": "hardened"})
    ask(base, "POST", "/api/projects/default/keys", {"label": "one"})
    ask(base, "DELETE", "/api/projects/default/keys/none")


def schemathesis(base, folder):
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        "run",
        f"{base}/api/openapi.json",
        "--header",
        f"authorization: Bearer {TOKEN}",
        "--checks",
        ",".join(CHECKS),
        "--phases",
        "examples,coverage,fuzzing",
        "--max-examples",
        "8",
        "--seed",
        "1",
        "--workers",
        "2",
        "--request-timeout",
        "10",
        "--no-color",
    ]
    for path in EXCLUDED:
        command += ["--exclude-path", path]
    # It keeps what it found where it runs.
    return subprocess.run(command, check=False, cwd=folder).returncode


def exports(base, folder):
    """The same rows in every format, as the tools people use read them."""
    readers = {
        "csv": (pandas.read_csv, "read_csv"),
        "jsonl": (lambda path: pandas.read_json(path, lines=True), "read_json"),
        "parquet": (pandas.read_parquet, "read_parquet"),
    }
    for table, number in [("requests", "attempts"), ("attempts", "attempt")]:
        counts = set()
        for format, (in_pandas, in_duckdb) in readers.items():
            request = urllib.request.Request(f"{base}/api/export/{table}.{format}", headers=AUTHORIZATION)
            path = Path(folder) / f"{table}.{format}"
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert f'filename="steadfast-{path.name}"' in answer.headers["content-disposition"], answer.headers
                path.write_bytes(answer.read())
            frame = in_pandas(path)
            found = duckdb.sql(f"select count(*), sum({number}), count(distinct request) from {in_duckdb}('{path}')").fetchall()[0]
            assert found == (len(frame), frame[number].sum(), frame["request"].nunique()), (path.name, found)
            counts.add(found)
            if format == "parquet":
                moment = "started" if table == "requests" else "time"
                assert str(frame[moment].dtype) == "datetime64[ms, UTC]", frame.dtypes
        assert len(counts) == 1 and min(counts)[0] >= 4, (table, counts)


async def mcp(binary, base):
    server = StdioServerParameters(
        command=binary, args=["mcp", "--url", base], env={"STEADFAST_TOKEN": TOKEN, "PATH": os.environ["PATH"]}
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name for tool in (await session.list_tools()).tools}
        wanted = {"why_did_my_request_fail", "which_models_are_healthy", "what_is_my_budget", "explain_error"}
        assert tools == wanted, tools

        async def told(name, arguments):
            answer = await session.call_tool(name, arguments)
            return answer.content[0].text

        why = await told("why_did_my_request_fail", {"session": "s1"})
        assert "server_error" in why and "session  s1" in why, why
        assert "claude-small: can be asked" in await told("which_models_are_healthy", {}), "models"
        assert "of $1000.00 spent today" in await told("what_is_my_budget", {}), "budget"
        explained = await told("explain_error", {"text": "Rate limit reached, try again in 7s", "status": 429})
        assert explained.startswith("rate_limit"), explained


def main(binary):
    schema.check(binary)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        fake, base = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{port}"
        config = Path(folder) / "steadfast.toml"
        config.write_text(CONFIG.format(port=port, fake=fake, folder=folder))
        environment = {**os.environ, "STEADFAST_TOKEN": TOKEN, "XDG_STATE_HOME": folder}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, "env": environment}
        running = [
            subprocess.Popen([binary, "fake", "--quiet", "--listen", fake.removeprefix("http://")], **quiet),
            subprocess.Popen([binary, "--config", str(config), "serve"], **quiet),
        ]
        try:
            wait_for(fake + "/__fake/counts")
            wait_for(base + "/api/health")
            make_history(base, fake)
            time.sleep(0.5)
            asyncio.run(mcp(binary, base))
            print("the official MCP client is answered", flush=True)
            exports(base, folder)
            print("DuckDB and pandas read every export, and the same in each", flush=True)
            code = schemathesis(base, folder)
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(timeout=40)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1])

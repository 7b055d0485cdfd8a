"""The real SDKs as clients of the gateway, with a provider that fails by script behind it.

Run by `cargo xtask sdk`, which installs the SDKs into a folder of its own. For every stream mode
and every fault each SDK must see exactly what the contract in docs/gateway.md promises.
"""

import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import anthropic  # noqa: E402
import openai  # noqa: E402
from google import genai  # noqa: E402
from google.genai import types  # noqa: E402

WHOLE = [f"word-{number}" for number in range(1, 17)]
MARK = "[Connection lost mid-response]"

CONFIG = """
listen = "127.0.0.1:{port}"
[endpoints.anthropic]
dialect = "anthropic"
url = "{fake}/@a"
[endpoints.openai]
dialect = "openai"
url = "{fake}/@a"
[endpoints.gemini]
dialect = "gemini"
url = "{fake}/@a"
[policies.default.on]
server_error = [{{ retry = 2, every = "20ms" }}]
stream_interrupted = [{{ retry = 2, every = "20ms" }}]
bad_output = [{{ retry = 2, every = "20ms" }}]
overloaded = [{{ retry = 2, every = "20ms" }}]
"""


def messages(base, headers, stream):
    client = anthropic.Anthropic(base_url=base, api_key="k", max_retries=0, default_headers=headers)
    question = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    if not stream:
        return client.messages.create(**question).content[0].text
    with client.messages.stream(**question) as answer:
        text = "".join(answer.text_stream)
        assert answer.get_final_message().stop_reason == "end_turn"
        return text


def chat(base, headers, stream):
    client = openai.OpenAI(base_url=base + "/v1", api_key="k", max_retries=0, default_headers=headers)
    question = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
    if not stream:
        return client.chat.completions.create(**question).choices[0].message.content
    text, finished = "", None
    for chunk in client.chat.completions.create(**question, stream=True):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
            finished = chunk.choices[0].finish_reason or finished
    assert finished == "stop", finished
    return text


def responses(base, headers, stream):
    client = openai.OpenAI(base_url=base + "/v1", api_key="k", max_retries=0, default_headers=headers)
    if not stream:
        return client.responses.create(model="gpt-5", input="hi").output_text
    with client.responses.stream(model="gpt-5", input="hi") as answer:
        text = "".join(event.delta for event in answer if event.type == "response.output_text.delta")
        final = answer.get_final_response()
        assert final.status == "completed" and final.output_text == text
        return text


def gemini(base, headers, stream):
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=base, headers=headers))
    if not stream:
        return client.models.generate_content(model="gemini-2.5-pro", contents="hi").text
    text, finished = "", None
    for chunk in client.models.generate_content_stream(model="gemini-2.5-pro", contents="hi"):
        text += chunk.text or ""
        finished = (chunk.candidates and chunk.candidates[0].finish_reason) or finished
    assert finished == types.FinishReason.STOP, finished
    return text


CLIENTS = [messages, chat, responses, gemini]
BEFORE = ["overloaded x1; ok", "error=0 x1; ok", "cut=0 x1; ok", "end=0 x1; ok", "nocontent x1; ok"]
AFTER = ["cut=5 x1; ok", "end=5 x1; ok", "error=5 x1; ok", "malformed=5 x1; ok"]


def problem(ask, base, script, mode, fault):
    """What is wrong with what this client sees; None where it is what was promised."""
    script(fault)
    # A conversation of its own: the same turn that breaks off again and again would be a loop.
    headers = {"x-steadfast-stream": mode, "x-steadfast-session": f"{ask.__name__} {mode} {fault}"}
    try:
        text = ask(base, headers, stream=True)
    except Exception as error:  # noqa: BLE001: any exception is a failure the caller notices
        if mode == "fast" and fault in AFTER:
            return None
        return f"raised {type(error).__name__}: {str(error)[:200]}"
    if mode == "fast" and fault in AFTER:
        return f"no exception for a broken answer: {text}"
    if mode == "regenerate" and fault in AFTER:
        before, _, text = text.partition(MARK)
        if not before.split() or before.split() != WHOLE[: len(before.split())]:
            return f"before the mark: {before}"
    return None if text.split() == WHOLE else f"said {text}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url):
    for _ in range(200):
        try:
            return urllib.request.urlopen(url, timeout=1).read()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{url} does not answer")


def main(binary):
    fake, base = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "steadfast.toml")
        config.write_text(CONFIG.format(port=re.search(r"\d+$", base)[0], fake=fake))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        running = [
            subprocess.Popen([binary, "fake", "--quiet", "--listen", fake.removeprefix("http://")], **quiet),
            subprocess.Popen([binary, "--config", str(config), "serve"], **quiet),
        ]
        try:
            wait_for(f"{fake}/__fake/counts")
            wait_for(f"{base}/health")

            def script(specs):
                request = urllib.request.Request(f"{fake}/__fake/script/a", data=specs.encode(), method="PUT")
                urllib.request.urlopen(request, timeout=5).read()

            problems, checked = [], 0
            for ask in CLIENTS:
                script("server_error x1; ok")
                text = ask(base, {}, stream=False)
                if text.split() != WHOLE:
                    problems.append(f"{ask.__name__}: whole: said {text}")
                for mode in ["fast", "safe", "regenerate", "resume"]:
                    for fault in ["ok", *BEFORE, *AFTER]:
                        checked += 1
                        if wrong := problem(ask, base, script, mode, fault):
                            problems.append(f"{ask.__name__}: {mode}: {fault}: {wrong}")
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(timeout=40)
    print(f"{checked} streams through the real SDKs, {len(problems)} problems")
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main(sys.argv[1])

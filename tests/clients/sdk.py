"""The Python SDKs: one job per line on stdin, one result per line on stdout. The table of cases is in table.py.

Every client is used as its documentation shows, with its own retries on: a gateway must live with them.
"""

import base64
import json
import sys
import warnings

warnings.filterwarnings("ignore")

import anthropic  # noqa: E402
import openai  # noqa: E402
from google import genai  # noqa: E402
from google.genai import types  # noqa: E402


def openai_chat(base, feature, given):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="k")
    content = [{"type": "text", "text": given["prompt"]}]
    if feature == "image":
        content.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{given['image']}"}})
    question = {"model": "gpt-5", "messages": [{"role": "user", "content": content}]}
    if feature == "json":
        schema = {"name": "person", "schema": given["schema"], "strict": True}
        question["response_format"] = {"type": "json_schema", "json_schema": schema}
    if feature not in ("stream", "tools"):
        return {"text": client.chat.completions.create(**question).choices[0].message.content}
    if feature == "stream":
        return {"text": chat_stream(client, question)[0]}
    question["tools"] = [{"type": "function", "function": {"name": "weather", "parameters": given["tool"]}}]
    _, calls = chat_stream(client, question)
    question["messages"].append({"role": "assistant", "tool_calls": calls})
    question["messages"] += [{"role": "tool", "tool_call_id": call["id"], "content": "rain"} for call in calls]
    text, _ = chat_stream(client, question)
    return {"text": text, "calls": [[call["function"]["name"], json.loads(call["function"]["arguments"])] for call in calls]}


def chat_stream(client, question):
    text, calls, finished = "", [], None
    for chunk in client.chat.completions.create(**question, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finished = choice.finish_reason or finished
            for part in choice.delta.tool_calls or []:
                if part.index == len(calls):
                    calls.append({"id": part.id, "type": "function", "function": {"name": part.function.name, "arguments": ""}})
                calls[part.index]["function"]["arguments"] += part.function.arguments or ""
    assert finished == ("tool_calls" if calls else "stop"), f"finished: {finished}"
    return text, calls


def openai_responses(base, feature, given):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="k")
    content = [{"type": "input_text", "text": given["prompt"]}]
    if feature == "image":
        content.append({"type": "input_image", "image_url": f"data:image/png;base64,{given['image']}"})
    question = {"model": "gpt-5", "input": [{"role": "user", "content": content}]}
    if feature == "json":
        question["text"] = {"format": {"type": "json_schema", "name": "person", "schema": given["schema"], "strict": True}}
    if feature not in ("stream", "tools"):
        return {"text": client.responses.create(**question).output_text}
    if feature == "stream":
        return {"text": responses_stream(client, question).output_text}
    question["tools"] = [{"type": "function", "name": "weather", "parameters": given["tool"], "strict": False}]
    answer = responses_stream(client, question)
    calls = [item for item in answer.output if item.type == "function_call"]
    for call in calls:
        question["input"].append({"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments})
        question["input"].append({"type": "function_call_output", "call_id": call.call_id, "output": "rain"})
    text = responses_stream(client, question).output_text
    return {"text": text, "calls": [[call.name, json.loads(call.arguments)] for call in calls]}


def responses_stream(client, question):
    with client.responses.stream(**question) as answer:
        said = "".join(event.delta for event in answer if event.type == "response.output_text.delta")
        final = answer.get_final_response()
    assert final.status == "completed", f"status: {final.status}"
    assert final.output_text == said, f"streamed: {said}"
    return final


def anthropic_messages(base, feature, given):
    client = anthropic.Anthropic(base_url=base, api_key="k")
    content = [{"type": "text", "text": given["prompt"]}]
    if feature == "image":
        content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": given["image"]}})
    question = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": content}]}
    if feature == "json":
        question["output_config"] = {"format": {"type": "json_schema", "schema": given["schema"]}}
    if feature not in ("stream", "tools"):
        return {"text": client.messages.create(**question).content[0].text}
    if feature == "stream":
        return {"text": messages_stream(client, question, "end_turn").content[0].text}
    question["tools"] = [{"name": "weather", "input_schema": given["tool"]}]
    answer = messages_stream(client, question, "tool_use")
    calls = [block for block in answer.content if block.type == "tool_use"]
    question["messages"].append({"role": "assistant", "content": answer.content})
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "rain"} for call in calls]
    question["messages"].append({"role": "user", "content": results})
    text = messages_stream(client, question, "end_turn").content[0].text
    return {"text": text, "calls": [[call.name, call.input] for call in calls]}


def messages_stream(client, question, stop):
    with client.messages.stream(**question) as answer:
        final = answer.get_final_message()
    assert final.stop_reason == stop, f"stop reason: {final.stop_reason}"
    return final


def google_genai(base, feature, given):
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=base))
    contents, config = [types.Part.from_text(text=given["prompt"])], {}
    if feature == "image":
        contents.append(types.Part.from_bytes(data=base64.b64decode(given["image"]), mime_type="image/png"))
    if feature == "json":
        config = {"response_mime_type": "application/json", "response_json_schema": given["schema"]}
    question = {"model": "gemini-2.5-pro", "contents": [types.Content(role="user", parts=contents)], "config": config}
    if feature not in ("stream", "tools"):
        return {"text": client.models.generate_content(**question).text}
    if feature == "stream":
        return {"text": "".join(part.text or "" for part in genai_stream(client, question))}
    declared = types.FunctionDeclaration(name="weather", parameters_json_schema=given["tool"])
    question["config"] = {"tools": [types.Tool(function_declarations=[declared])]}
    parts = genai_stream(client, question)
    calls = [part.function_call for part in parts if part.function_call]
    question["contents"].append(types.Content(role="model", parts=parts))
    results = [types.Part.from_function_response(name=call.name, response={"said": "rain"}) for call in calls]
    question["contents"].append(types.Content(role="user", parts=results))
    text = "".join(part.text or "" for part in genai_stream(client, question))
    return {"text": text, "calls": [[call.name, call.args] for call in calls]}


def genai_stream(client, question):
    parts, finished = [], None
    for chunk in client.models.generate_content_stream(**question):
        for candidate in chunk.candidates or []:
            parts += (candidate.content and candidate.content.parts) or []
            finished = candidate.finish_reason or finished
    assert finished == types.FinishReason.STOP, f"finished: {finished}"
    return parts


CLIENTS = {
    "openai-python chat": openai_chat,
    "openai-python responses": openai_responses,
    "anthropic-python": anthropic_messages,
    "google-genai-python": google_genai,
}

for line in sys.stdin:
    job = json.loads(line)
    try:
        result = CLIENTS[job["client"]](job["base"], job["feature"], job["given"])
    except Exception as error:  # noqa: BLE001: whatever a caller of the SDK would have to catch
        result = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    print(json.dumps(result), flush=True)

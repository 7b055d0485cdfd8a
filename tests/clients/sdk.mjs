// The JavaScript SDKs: one job per line on stdin, one result per line on stdout. The table of cases is in table.py.
//
// Every client is used as its documentation shows, with its own retries on: a gateway must live with them.

import assert from "node:assert";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// The packages are installed under `target/`, not beside this file.
const packages = createRequire(process.argv[2]);
const load = async (name) => import(pathToFileURL(packages.resolve(name)));
const { default: OpenAI } = await load("openai");
const { default: Anthropic } = await load("@anthropic-ai/sdk");
const { generateText, streamText, tool, jsonSchema, Output, isStepCount } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const { createGoogle } = await load("@ai-sdk/google");

async function openaiChat(base, feature, given) {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "k" });
  const content = [{ type: "text", text: given.prompt }];
  if (feature === "image") {
    content.push({ type: "image_url", image_url: { url: `data:image/png;base64,${given.image}` } });
  }
  const question = { model: "gpt-5", messages: [{ role: "user", content }] };
  if (feature === "json") {
    const json_schema = { name: "person", schema: given.schema, strict: true };
    question.response_format = { type: "json_schema", json_schema };
  }
  if (feature === "stream") return { text: (await chatStream(client, question, "stop")).content };
  if (feature !== "tools") {
    const answer = await client.chat.completions.create(question);
    return { text: answer.choices[0].message.content };
  }
  question.tools = [{ type: "function", function: { name: "weather", parameters: given.tool } }];
  const message = await chatStream(client, question, "tool_calls");
  question.messages.push(message);
  for (const call of message.tool_calls) {
    question.messages.push({ role: "tool", tool_call_id: call.id, content: "rain" });
  }
  const { content: text } = await chatStream(client, question, "stop");
  return { text, calls: message.tool_calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]) };
}

async function chatStream(client, question, finish) {
  const answer = await client.chat.completions.stream(question).finalChatCompletion();
  assert.equal(answer.choices[0].finish_reason, finish);
  return answer.choices[0].message;
}

async function openaiResponses(base, feature, given) {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "k" });
  const content = [{ type: "input_text", text: given.prompt }];
  if (feature === "image") {
    content.push({ type: "input_image", detail: "auto", image_url: `data:image/png;base64,${given.image}` });
  }
  const question = { model: "gpt-5", input: [{ role: "user", content }] };
  if (feature === "json") {
    question.text = { format: { type: "json_schema", name: "person", schema: given.schema, strict: true } };
  }
  if (feature === "stream") return { text: (await responsesStream(client, question)).output_text };
  if (feature !== "tools") return { text: (await client.responses.create(question)).output_text };
  question.tools = [{ type: "function", name: "weather", parameters: given.tool, strict: false }];
  const answer = await responsesStream(client, question);
  const calls = answer.output.filter((item) => item.type === "function_call");
  for (const { call_id, name, arguments: text } of calls) {
    question.input.push({ type: "function_call", call_id, name, arguments: text });
    question.input.push({ type: "function_call_output", call_id, output: "rain" });
  }
  const { output_text: text } = await responsesStream(client, question);
  return { text, calls: calls.map((call) => [call.name, JSON.parse(call.arguments)]) };
}

async function responsesStream(client, question) {
  const stream = client.responses.stream(question);
  let said = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") said += event.delta;
  const final = await stream.finalResponse();
  assert.equal(final.status, "completed");
  assert.equal(final.output_text, said);
  return final;
}

async function anthropicMessages(base, feature, given) {
  const client = new Anthropic({ baseURL: base, apiKey: "k" });
  const content = [{ type: "text", text: given.prompt }];
  if (feature === "image") {
    content.push({ type: "image", source: { type: "base64", media_type: "image/png", data: given.image } });
  }
  const question = { model: "claude-sonnet-4-5", max_tokens: 1000, messages: [{ role: "user", content }] };
  if (feature === "json") question.output_config = { format: { type: "json_schema", schema: given.schema } };
  if (feature === "stream") return { text: (await messagesStream(client, question, "end_turn")).content[0].text };
  if (feature !== "tools") return { text: (await client.messages.create(question)).content[0].text };
  question.tools = [{ name: "weather", input_schema: given.tool }];
  const answer = await messagesStream(client, question, "tool_use");
  const calls = answer.content.filter((block) => block.type === "tool_use");
  question.messages.push({ role: "assistant", content: answer.content });
  const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "rain" }));
  question.messages.push({ role: "user", content: results });
  const final = await messagesStream(client, question, "end_turn");
  return { text: final.content[0].text, calls: calls.map((call) => [call.name, call.input]) };
}

async function messagesStream(client, question, stop) {
  const final = await client.messages.stream(question).finalMessage();
  assert.equal(final.stop_reason, stop);
  return final;
}

/** The Vercel AI SDK is the same for every provider. */
const aiSdk = (model) => async (base, feature, given) => {
  const content = [{ type: "text", text: given.prompt }];
  if (feature === "image") {
    content.push({ type: "file", mediaType: "image/png", data: Buffer.from(given.image, "base64") });
  }
  const question = { model: model(base), messages: [{ role: "user", content }] };
  if (feature === "json") question.output = Output.object({ schema: jsonSchema(given.schema) });
  if (feature !== "stream" && feature !== "tools") return { text: (await generateText(question)).text };
  const calls = [];
  if (feature === "tools") {
    const execute = (input) => (calls.push(["weather", input]), "rain");
    question.tools = { weather: tool({ inputSchema: jsonSchema(given.tool), execute }) };
    question.stopWhen = isStepCount(3);
  }
  let failed;
  const answer = streamText({ ...question, onError: ({ error }) => (failed ??= error) });
  let text = "";
  for await (const part of answer.textStream) text += part;
  if (failed) throw failed;
  assert.equal(await answer.finishReason, "stop");
  return { text, calls };
};

const options = (base, version) => ({ baseURL: `${base}/${version}`, apiKey: "k" });
const CLIENTS = {
  "openai-js chat": openaiChat,
  "openai-js responses": openaiResponses,
  "anthropic-js": anthropicMessages,
  "ai-sdk openai responses": aiSdk((base) => createOpenAI(options(base, "v1")).responses("gpt-5")),
  "ai-sdk openai chat": aiSdk((base) => createOpenAI(options(base, "v1")).chat("gpt-5")),
  "ai-sdk anthropic": aiSdk((base) => createAnthropic(options(base, "v1"))("claude-sonnet-4-5")),
  "ai-sdk google": aiSdk((base) => createGoogle(options(base, "v1beta"))("gemini-2.5-pro")),
};

// A promise nobody awaits (a stream's totals after its error) is no reason to lose the other cases.
process.on("unhandledRejection", () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const { client, base, feature, given } = JSON.parse(line);
  let result;
  try {
    result = await CLIENTS[client](base, feature, given);
  } catch (error) {
    result = { error: `${error?.constructor?.name}: ${String(error?.message ?? error).slice(0, 300)}` };
  }
  console.log(JSON.stringify(result));
}

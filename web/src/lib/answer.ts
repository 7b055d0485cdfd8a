// The words of a model's answer, out of whichever format the session's client speaks.

interface Json {
  [name: string]: Json;
}

/** The text in one event of a stream, or in a whole answer. */
export function words(value: unknown): string {
  const json = value as Json;
  if (!json || typeof json !== "object") return "";
  const text = (found: unknown): string => (typeof found === "string" ? found : "");
  const list = (found: unknown): Json[] => (Array.isArray(found) ? (found as Json[]) : []);
  // Chat completions.
  const choice = list(json.choices)[0];
  if (choice) return text(choice.delta?.content) || text(choice.message?.content);
  // Gemini.
  const candidate = list(json.candidates)[0];
  if (candidate) return list(candidate.content?.parts).map((part) => text(part.text)).join("");
  switch (json.type as unknown) {
    // Anthropic messages.
    case "content_block_delta":
      return text(json.delta?.text);
    case "message":
      return list(json.content).map((block) => text(block.text)).join("");
    // Responses.
    case "response.output_text.delta":
      return text(json.delta);
    default:
      break;
  }
  if ((json.object as unknown) === "response") {
    return list(json.output).flatMap((item) => list(item.content)).map((part) => text(part.text)).join("");
  }
  return "";
}

/** Reads an answer as it comes and calls back with its words. */
export async function read(response: Response, said: (text: string) => void): Promise<void> {
  const streamed = response.headers.get("content-type")?.includes("text/event-stream");
  if (!streamed) {
    const body = await response.text();
    try {
      said(words(JSON.parse(body)) || body);
    } catch {
      said(body);
    }
    return;
  }
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data:") || line.includes("[DONE]")) continue;
      try {
        const event = JSON.parse(line.slice(5)) as { error?: { message?: string } };
        if (event.error) throw new Error(event.error.message ?? "the answer broke off");
        said(words(event));
      } catch (error) {
        if (error instanceof SyntaxError) continue;
        throw error;
      }
    }
  }
}

// The openai package, Chat Completions.
import OpenAI from "openai";
import { base, each, names, schemas, spend, think } from "./loop.mjs";

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 });
const tools = names.map((name) => ({ type: "function", function: { name, parameters: schemas[name], strict: true } }));

const thoughtOf = (part) => part?.reasoning_content ?? part?.reasoning ?? ""; // the names that vendors give it

async function whole(asked) {
  const done = await client.chat.completions.create(asked);
  return [done, thoughtOf(done.choices[0].message)];
}

async function streamed(asked) {
  const stream = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } });
  let thought = ""; // the helper itself keeps only the last piece of a field that it does not know
  stream.on("chunk", (chunk) => (thought += thoughtOf(chunk.choices[0]?.delta)));
  return [await stream.finalChatCompletion(), thought];
}

await each(async ({ model, question, ...one }, heard, run) => {
  const messages = [{ role: "user", content: question }];
  for (;;) {
    const asked = { model, messages, tools, reasoning_effort: "medium" };
    const [done, thought] = one.streamed ? await streamed(asked) : await whole(asked);
    const message = done.choices[0].message;
    think(heard, thought);
    spend(heard, done.usage.prompt_tokens, done.usage.completion_tokens);
    messages.push(message);
    if (!message.tool_calls?.length) {
      heard.text = message.content;
      return;
    }
    for (const call of message.tool_calls) {
      const content = run(call.function.name, JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
});

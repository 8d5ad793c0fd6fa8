// @anthropic-ai/sdk
import Anthropic from "@anthropic-ai/sdk";
import { base, each, names, schemas, spend, think } from "./loop.mjs";

const client = new Anthropic({ baseURL: base, apiKey: "any", maxRetries: 0 });
const tools = names.map((name) => ({ name, input_schema: schemas[name] }));
const thinking = { type: "enabled", budget_tokens: 2048 };

await each(async ({ model, question, ...one }, heard, run) => {
  const messages = [{ role: "user", content: question }];
  for (;;) {
    const asked = { model, messages, tools, thinking, max_tokens: 8192 };
    const done = one.streamed
      ? await client.messages.stream(asked).finalMessage()
      : await client.messages.create(asked);
    for (const block of done.content) if (block.type === "thinking") think(heard, block.thinking);
    const cached = (done.usage.cache_read_input_tokens ?? 0) + (done.usage.cache_creation_input_tokens ?? 0);
    spend(heard, done.usage.input_tokens + cached, done.usage.output_tokens);
    messages.push({ role: "assistant", content: done.content });
    const calls = done.content.filter((block) => block.type === "tool_use");
    if (!calls.length) {
      heard.text = done.content.at(-1).text ?? ""; // as agents do: the last block is the answer
      return;
    }
    const results = calls.map(({ id, name, input }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: run(name, input),
    }));
    messages.push({ role: "user", content: results });
  }
});

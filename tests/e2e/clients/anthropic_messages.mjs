// @anthropic-ai/sdk. Arguments: BASE MODEL whole|streamed
import Anthropic from "@anthropic-ai/sdk";
import { report, schema, weather } from "./weather.mjs";

const [base, model, way] = process.argv.slice(2);
const client = new Anthropic({ baseURL: base, apiKey: "any", maxRetries: 0 });
const tools = [{ name: "weather", input_schema: schema }];
const messages = [{ role: "user", content: "Does it rain in Köln?" }];

for (;;) {
  const asked = { model, messages, tools, max_tokens: 4096 };
  const done =
    way === "streamed" ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
  messages.push({ role: "assistant", content: done.content });
  const calls = done.content.filter((block) => block.type === "tool_use");
  if (!calls.length) {
    report(done.content.map((block) => block.text ?? "").join(""));
    break;
  }
  const content = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: weather(call.input) }));
  messages.push({ role: "user", content });
}

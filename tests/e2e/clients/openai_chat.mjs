// The openai package, Chat Completions. Arguments: BASE MODEL whole|streamed
import OpenAI from "openai";
import { report, schema, weather } from "./weather.mjs";

const [base, model, way] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 });
const tools = [{ type: "function", function: { name: "weather", parameters: schema, strict: true } }];
const messages = [{ role: "user", content: "Does it rain in Köln?" }];

for (;;) {
  const asked = { model, messages, tools };
  const done =
    way === "streamed"
      ? await client.chat.completions.stream(asked).finalChatCompletion()
      : await client.chat.completions.create(asked);
  const message = done.choices[0].message;
  messages.push(message);
  if (!message.tool_calls?.length) {
    report(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    const content = weather(JSON.parse(call.function.arguments));
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}

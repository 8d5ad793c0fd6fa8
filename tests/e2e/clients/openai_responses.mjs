// The openai package, Responses. Arguments: BASE MODEL whole|streamed
import OpenAI from "openai";
import { report, schema, weather } from "./weather.mjs";

const [base, model, way] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 });
const tools = [{ type: "function", name: "weather", parameters: schema, strict: true }];
const input = [{ role: "user", content: "Does it rain in Köln?" }];

for (;;) {
  const asked = { model, input, tools, store: false, include: ["reasoning.encrypted_content"] };
  const done =
    way === "streamed"
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
  input.push(...done.output);
  const calls = done.output.filter((item) => item.type === "function_call");
  if (!calls.length) {
    report(done.output_text);
    break;
  }
  for (const call of calls) {
    const output = weather(JSON.parse(call.arguments));
    input.push({ type: "function_call_output", call_id: call.call_id, output });
  }
}

// The openai package, Responses.
import OpenAI from "openai";
import { base, each, names, schemas, spend, think } from "./loop.mjs";

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 });
const tools = names.map((name) => ({ type: "function", name, parameters: schemas[name], strict: true }));
const include = ["reasoning.encrypted_content"];
const reasoning = { effort: "medium", summary: "auto" };

await each(async ({ model, question, ...one }, heard, run) => {
  const input = [{ role: "user", content: question }];
  for (;;) {
    const asked = { model, input, tools, store: false, include, reasoning };
    const done = one.streamed
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    for (const item of done.output) {
      if (item.type === "reasoning") think(heard, item.summary.map((part) => part.text).join(""));
    }
    spend(heard, done.usage.input_tokens, done.usage.output_tokens);
    input.push(...done.output);
    const calls = done.output.filter((item) => item.type === "function_call");
    if (!calls.length) {
      heard.text = done.output_text;
      return;
    }
    for (const call of calls) {
      const output = run(call.name, JSON.parse(call.arguments));
      input.push({ type: "function_call_output", call_id: call.call_id, output });
    }
  }
});

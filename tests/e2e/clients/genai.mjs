// @google/genai. Arguments: BASE MODEL whole|streamed
import { GoogleGenAI } from "@google/genai";
import { report, schema, weather } from "./weather.mjs";

const [base, model, way] = process.argv.slice(2);
const client = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl: base } });
const config = { tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: schema }] }] };
const contents = [{ role: "user", parts: [{ text: "Does it rain in Köln?" }] }];

for (;;) {
  const parts = [];
  if (way === "streamed") {
    for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    }
  } else {
    const done = await client.models.generateContent({ model, contents, config });
    parts.push(...done.candidates[0].content.parts);
  }
  contents.push({ role: "model", parts });
  const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  if (!calls.length) {
    report(parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join(""));
    break;
  }
  const results = calls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { output: weather(args) } } }));
  contents.push({ role: "user", parts: results });
}

// @google/genai
import { GoogleGenAI } from "@google/genai";
import { base, each, names, schemas, spend, think } from "./loop.mjs";

const client = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl: base } });
const functionDeclarations = names.map((name) => ({ name, parametersJsonSchema: schemas[name] }));
const config = { tools: [{ functionDeclarations }], thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } };

async function chunks(streamed, asked) {
  if (!streamed) return [await client.models.generateContent(asked)];
  const all = [];
  for await (const chunk of await client.models.generateContentStream(asked)) all.push(chunk);
  return all;
}

await each(async ({ model, question, ...one }, heard, run) => {
  const contents = [{ role: "user", parts: [{ text: question }] }];
  for (;;) {
    const all = await chunks(one.streamed, { model, contents, config });
    const parts = all.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
    const usage = all.at(-1).usageMetadata;
    const words = (thought) => parts.filter((part) => !!part.thought === thought).map((part) => part.text ?? "").join("");
    think(heard, words(true));
    spend(heard, usage.promptTokenCount, usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0));
    contents.push({ role: "model", parts });
    const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
    if (!calls.length) {
      heard.text = words(false);
      return;
    }
    const results = calls.map(({ id, name, args }) => ({
      functionResponse: { id, name, response: { output: run(name, args) } },
    }));
    contents.push({ role: "user", parts: results });
  }
});

// The Vercel AI SDK. Arguments: BASE MODEL whole|streamed chat|responses|anthropic|google
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { report, weather } from "./weather.mjs";

const [base, name, way, kind] = process.argv.slice(2);
const apiKey = "any";
const models = {
  chat: () => createOpenAI({ baseURL: `${base}/v1`, apiKey }).chat(name),
  responses: () => createOpenAI({ baseURL: `${base}/v1`, apiKey }).responses(name),
  anthropic: () => createAnthropic({ baseURL: `${base}/v1`, apiKey })(name),
  google: () => createGoogleGenerativeAI({ baseURL: `${base}/v1beta`, apiKey })(name),
};
const asked = {
  model: models[kind](),
  system: "Be brief.",
  prompt: "Does it rain in Köln?",
  maxRetries: 0,
  stopWhen: stepCountIs(5),
  tools: { weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async (input) => weather(input) }) },
};

if (way === "streamed") {
  let text = "";
  const result = streamText({ ...asked, onError: ({ error }) => { throw error; } });
  for await (const piece of result.textStream) text += piece;
  report(text);
} else {
  report((await generateText(asked)).text);
}

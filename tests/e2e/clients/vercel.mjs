// The Vercel AI SDK. Kinds: chat, responses, anthropic, google
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { base, each, kind, spend, think } from "./loop.mjs";

const apiKey = "any";
const pathOf = (name) => (name.includes("/") ? `models/${name}` : name); // this SDK takes a slash for a whole path
const models = {
  chat: (name) => createOpenAI({ baseURL: `${base}/v1`, apiKey }).chat(name),
  responses: (name) => createOpenAI({ baseURL: `${base}/v1`, apiKey }).responses(name),
  anthropic: (name) => createAnthropic({ baseURL: `${base}/v1`, apiKey })(name),
  google: (name) => createGoogleGenerativeAI({ baseURL: `${base}/v1beta`, apiKey })(pathOf(name)),
};
const openai = { reasoningEffort: "medium", forceReasoning: true };
const options = {
  chat: { openai },
  responses: { openai: { ...openai, reasoningSummary: "auto", store: false } },
  anthropic: { anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } },
  google: { google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } } },
};
const inputs = { weather: z.object({ city: z.string() }), wind: z.object({ place: z.string(), days: z.number().int() }) };

async function streamed(asked) {
  let failure = null;
  const result = streamText({ ...asked, onError: ({ error }) => (failure = error) });
  for await (const _ of result.fullStream);
  if (failure) throw failure;
  return result;
}

await each(async (one, heard, run) => {
  const tools = Object.fromEntries(
    Object.entries(inputs).map(([name, inputSchema]) => [
      name,
      tool({ inputSchema, execute: async (input) => run(name, input) }),
    ]),
  );
  const asked = {
    model: models[kind](one.model),
    system: "Be brief.",
    prompt: one.question,
    maxRetries: 0,
    maxOutputTokens: 8192,
    stopWhen: stepCountIs(5),
    providerOptions: options[kind],
    tools,
  };
  const done = one.streamed ? await streamed(asked) : await generateText(asked);
  const steps = await done.steps;
  for (const step of steps) think(heard, step.reasoningText);
  const usage = await done.totalUsage;
  spend(heard, usage.inputTokens, usage.outputTokens);
  heard.text = steps.at(-1).text;
});

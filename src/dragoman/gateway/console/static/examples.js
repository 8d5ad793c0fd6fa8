// Conversations to begin with: each is refused by some provider as it is.

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

export const EXAMPLES = {
  "A history made with another model (Chat)": {
    messages: [
      { role: "system", content: "You are brief." },
      { role: "user", content: "What is the weather in Paris?" },
      { role: "assistant", content: null, reasoning_content: "I should look it up.", tool_calls: [
        { id: "call_8Xk2_weather-Paris", type: "function", index: 0, function: { name: "weather.now", arguments: '{"city": "Paris"}' } }] },
      { role: "tool", tool_call_id: "call_8Xk2_weather-Paris", content: "Sunny, 24 degrees." },
      { role: "system", content: "Answer in French." },
    ],
    tools: [{ type: "function", function: { name: "weather.now", parameters: city } }],
    temperature: 1.4,
    max_tokens: 400,
  },
  "A tool that was interrupted (Anthropic)": {
    max_tokens: 1024,
    messages: [
      { role: "user", content: "What is the weather in Paris?" },
      { role: "assistant", content: [
        { type: "thinking", thinking: "I should look.", signature: "RXJrSGVsbG8gdGhlcmU=" },
        { type: "text", text: "I'll look it up." },
        { type: "tool_use", id: "toolu_01A", name: "weather", input: { city: "Paris" } }] },
      { role: "user", content: "Never mind. Tell me a joke instead." },
    ],
    tools: [{ name: "weather", input_schema: city }],
  },
  "A result whose call was cut away (Responses)": {
    input: [
      { type: "message", role: "user", content: "What is the weather in Paris?" },
      { type: "function_call_output", call_id: "call_cut_away", output: "Sunny, 24 degrees." },
      { type: "message", role: "user", content: "And tomorrow?" },
    ],
  },
  "A schema with all of JSON Schema (Gemini)": {
    contents: [{ role: "user", parts: [{ text: "What is the weather in Paris?" }] }],
    tools: [{ functionDeclarations: [{ name: "weather", description: "The weather in a city.", parameters: {
      $schema: "http://json-schema.org/draft-07/schema#", type: "object", additionalProperties: false,
      properties: { city: { type: "string" }, unit: { const: "celsius" } } } }] }],
  },
};

// The tool that every client is given, and the line that tells the test what became of it.
const asked = [];

export const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

export function weather({ city }) {
  asked.push(city);
  return `It pours in ${city}.`;
}

export function report(text) {
  console.log(JSON.stringify({ text, asked }));
}

// What the JavaScript clients share. Arguments: BASE CASES (JSON: [{tag, model, question, way}]) KIND
export const [base, , kind] = process.argv.slice(2);
const cases = JSON.parse(process.argv[3]);

const object = (properties) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
export const schemas = {
  weather: object({ city: { type: "string" } }),
  wind: object({ place: { type: "string" }, days: { type: "integer" } }),
};
export const names = Object.keys(schemas);

// One loop after the other; each tells on a line of its own what the client ended up with.
export async function each(loop) {
  for (const one of cases) {
    const heard = { tag: one.tag, text: "", calls: [], thoughts: [], usage: [0, 0] };
    const run = (name, input) => {
      heard.calls.push([name, input]);
      return `Report on ${input.city ?? input.place}`;
    };
    try {
      await loop({ ...one, streamed: one.way === "streamed" }, heard, run);
      console.log(JSON.stringify(heard));
    } catch (error) {
      console.log(JSON.stringify({ tag: one.tag, error: String(error?.stack ?? error) }));
    }
  }
}

export function think(heard, thought) {
  if (thought) heard.thoughts.push(thought);
}

export function spend(heard, input, output) {
  heard.usage[0] += input;
  heard.usage[1] += output;
}

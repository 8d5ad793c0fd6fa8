// JSON as it was written: numbers keep their digits, members their order, and every value knows its pointer.

const SPACE = /[ \t\r\n]*/y;
const LITERAL = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/ys;
const DEEPEST = 400;

/** @typedef {{kind: "object"|"array"|"value", at: string, key: string|null, raw?: string, children?: JsonNode[], size: number}} JsonNode */

/** The tree of a text, or null where it is not JSON. `size` is the number of lines that it takes. */
export function readJson(text) {
  const reader = { text, at: 0 };
  try {
    skip(reader);
    const node = value(reader, "", null, 0);
    skip(reader);
    return reader.at === text.length ? node : null;
  } catch {
    return null;
  }
}

function skip(reader) {
  SPACE.lastIndex = reader.at;
  SPACE.exec(reader.text);
  reader.at = SPACE.lastIndex;
}

function value(reader, at, key, depth) {
  if (depth > DEEPEST) throw new Error("too deep");
  const first = reader.text[reader.at];
  if (first === "{") return group(reader, at, key, depth, "object", "}");
  if (first === "[") return group(reader, at, key, depth, "array", "]");
  return { kind: "value", at, key, raw: literal(reader), size: 1 };
}

function literal(reader) {
  LITERAL.lastIndex = reader.at;
  const found = LITERAL.exec(reader.text);
  if (!found) throw new Error("not JSON");
  reader.at = LITERAL.lastIndex;
  return found[0];
}

function group(reader, at, key, depth, kind, end) {
  const children = [];
  reader.at += 1;
  skip(reader);
  let size = 2;
  while (reader.text[reader.at] !== end) {
    if (children.length) expect(reader, ",");
    const name = kind === "object" ? memberName(reader) : null;
    const step = name === null ? String(children.length) : escaped(JSON.parse(name));
    const child = value(reader, `${at}/${step}`, name, depth + 1);
    children.push(child);
    size += child.size;
    skip(reader);
    if (reader.at >= reader.text.length) throw new Error("not JSON");
  }
  reader.at += 1;
  return { kind, at, key, children, size: children.length ? size : 1 };
}

function expect(reader, sign) {
  if (reader.text[reader.at] !== sign) throw new Error("not JSON");
  reader.at += 1;
  skip(reader);
}

function memberName(reader) {
  const name = literal(reader);
  if (name[0] !== '"') throw new Error("not JSON");
  skip(reader);
  expect(reader, ":");
  return name;
}

const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** The text of a node in one line. */
export function compact(node) {
  if (node.kind === "value") return node.raw;
  const inner = node.children.map((child) => (child.key === null ? compact(child) : `${child.key}:${compact(child)}`));
  return node.kind === "object" ? `{${inner.join(",")}}` : `[${inner.join(",")}]`;
}

/** The text of a request with another model. A path may name the model instead. */
export function withModel(text, model) {
  const tree = readJson(text);
  if (tree?.kind !== "object") return text;
  const name = JSON.stringify(model);
  const others = tree.children.filter((child) => child.key !== '"model"');
  return `{"model":${name}${others.map((child) => `,${child.key}:${compact(child)}`).join("")}}`;
}

/** A path with the model that a request is for. The name is one segment of it, whatever stands in it. */
export function pathWithModel(path, model) {
  return path.replace("{model}", () => encodeURIComponent(model));
}

/** What is said in an answer or a stream of any dialect, for people to read. */
export function answerText(text) {
  const whole = parse(text);
  if (whole !== undefined) return said(whole);
  const events = text.split("\n").map((line) => line.replace(/^data: ?/, "")).map(parse);
  return events.filter((event) => event !== undefined && !isSummary(event)).map((event) => said(event)).join("");
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isSummary = (event) => /\.(completed|done|created|in_progress|added)$|_(start|stop)$/.test(event?.type ?? "");

const SAID = ["choices", "message", "delta", "candidates", "content", "output", "parts", "contentBlockDelta"];

function said(found, depth = 0) {
  if (typeof found === "string") return found;
  if (found === null || typeof found !== "object" || depth > 12) return "";
  if (Array.isArray(found)) return found.map((one) => said(one, depth + 1)).join("");
  const own = typeof found.text === "string" ? found.text : "";
  return own + SAID.filter((name) => name in found).map((name) => said(found[name], depth + 1)).join("");
}

// A text field for YAML: line numbers, lines with problems, and completion by a JSON Schema.

import { h, replace } from "./dom.js";

const MOST = 12;

export class YamlEditor {
  constructor(text, schema, names, onchange) {
    this.schema = schema;
    this.names = names;
    this.bad = new Set();
    this.numbers = h("div", { class: "numbers", "aria-hidden": "true" });
    this.area = h("textarea", { spellcheck: "false", wrap: "off", "aria-label": "Configuration", "data-filter": "first", value: text });
    this.menu = h("ul", { class: "completions", role: "listbox", hidden: true });
    this.area.addEventListener("input", () => { this.draw(); this.offer(false); onchange(); });
    this.area.addEventListener("keydown", (event) => this.onkey(event, onchange));
    this.area.addEventListener("scroll", () => { this.numbers.scrollTop = this.area.scrollTop; });
    this.area.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
    this.element = h("div", { class: "editor" }, this.numbers, this.area, this.menu);
    this.draw();
  }

  get text() {
    return this.area.value;
  }

  problems(found) {
    this.bad = new Set(found.map((one) => one.line));
    this.draw();
  }

  draw() {
    const lines = this.text.split("\n").length;
    replace(this.numbers, Array.from({ length: lines }, (_, at) => h("div", { class: this.bad.has(at + 1) ? "bad" : "" }, at + 1)));
    this.numbers.scrollTop = this.area.scrollTop;
  }

  goto(line) {
    const before = this.text.split("\n").slice(0, Math.max(line - 1, 0)).join("\n").length;
    this.area.focus();
    this.area.setSelectionRange(before ? before + 1 : 0, before ? before + 1 : 0);
    this.area.scrollTop = Math.max((line - 6) * 20, 0);
  }

  onkey(event, onchange) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.offer(true);
    } else if (!this.menu.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (!this.menu.hidden && (event.key === "Enter" || event.key === "Tab")) {
      event.preventDefault();
      this.take(this.at);
      onchange();
    } else if (!this.menu.hidden && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.hide();
    } else if (event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      this.insert("  ");
      onchange();
    }
  }

  /** What fits at the cursor. Without being asked, only where something was begun. */
  offer(asked) {
    const line = this.text.slice(0, this.area.selectionStart).split("\n").at(-1);
    const place = placeOf(this.text.slice(0, this.area.selectionStart));
    const found = suggestions(this.schema, this.names, place).filter((one) => one.text.startsWith(place.typed) && one.text !== place.typed);
    if (!found.length || (!asked && !place.typed) || line.trimStart().startsWith("#")) return this.hide();
    this.found = found.slice(0, MOST);
    this.typed = place.typed;
    this.isKey = place.isKey;
    this.at = 0;
    replace(this.menu, this.found.map((one, at) => h("li", { role: "option", onmousedown: (event) => { event.preventDefault(); this.take(at); } }, h("b", {}, one.text), h("small", {}, one.about))));
    const row = this.text.slice(0, this.area.selectionStart).split("\n").length;
    this.menu.hidden = false;
    const below = row * 20 - this.area.scrollTop + 8;
    const fits = below + this.menu.offsetHeight <= this.element.clientHeight;
    this.menu.style.top = `${fits ? below : Math.max(below - 22 - this.menu.offsetHeight, 4)}px`;
    this.move(0);
  }

  move(step) {
    this.at = (this.at + step + this.found.length) % this.found.length;
    [...this.menu.children].forEach((one, at) => one.classList.toggle("chosen", at === this.at));
  }

  take(at) {
    const end = this.isKey ? ": " : "";
    this.insert(this.found[at].text.slice(this.typed.length) + end);
    this.hide();
  }

  insert(text) {
    this.area.focus();
    this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
    this.draw();
  }

  hide() {
    this.menu.hidden = true;
  }
}

/** Where the cursor is: the keys above it, what is typed there, and whether that is a key or a value. */
export function placeOf(before) {
  const lines = before.split("\n");
  const line = lines.pop();
  const value = /^(\s*)(?:- )?([\w.-]+):\s+(.*)$/.exec(line);
  const indent = /^\s*/.exec(line)[0].length;
  const path = [];
  let limit = indent;
  for (const above of lines.reverse()) {
    const found = /^(\s*)(?:- )?([\w./*-]+|"[^"]*"):/.exec(above);
    if (!found || above.trimStart().startsWith("#") || found[1].length >= limit) continue;
    path.unshift(found[2].replaceAll('"', ""));
    limit = found[1].length;
    if (!limit) break;
  }
  if (value) return { path: [...path, value[2]], typed: value[3], isKey: false };
  return { path, typed: line.trimStart().replace(/^- /, ""), isKey: true };
}

export function suggestions(schema, names, place) {
  let here = resolve(schema, schema);
  for (const step of place.path) here = here && inner(schema, here, step);
  if (!here) return [];
  if (place.isKey) {
    const own = Object.entries(here.properties ?? {}).map(([text, about]) => ({ text, about: about.description ?? resolve(schema, about)?.description ?? "" }));
    return own.length ? own : (names[place.path.at(-1)] ?? []).map((text) => ({ text, about: "" }));
  }
  const values = choices(schema, here);
  return (values.length ? values : names[place.path.at(-1)] ?? []).map((text) => ({ text: String(text), about: "" }));
}

function resolve(schema, node) {
  if (node?.$ref) return { ...schema.$defs[node.$ref.split("/").at(-1)], ...(node.description ? { description: node.description } : {}) };
  const option = (node?.anyOf ?? []).find((one) => one.$ref);
  return option ? resolve(schema, option) : node;
}

function inner(schema, node, step) {
  const found = node.properties?.[step] ?? (typeof node.additionalProperties === "object" ? node.additionalProperties : node.items);
  return found ? resolve(schema, found) : null;
}

function choices(schema, node) {
  if (node.enum) return node.enum;
  if (node.type === "boolean") return ["true", "false"];
  return (node.anyOf ?? []).flatMap((one) => choices(schema, resolve(schema, one) ?? {}));
}

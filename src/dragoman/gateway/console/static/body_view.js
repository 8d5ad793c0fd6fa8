// A JSON body with marks where rules changed it. What is long and not marked is folded.

import { h, replace, visible } from "./dom.js";
import { count } from "./format.js";
import { compact, readJson } from "./json_text.js";

const WHOLE = 160; // lines that are shown without folding
const SHOWN_TEXT = 320; // characters of a text
const LONGEST_TEXT = 40_000;
const MANY = 120; // children of a list that are shown one by one
const OPENED = 150; // marks whose places are unfolded
const LONGEST_RAW = 60_000;

/**
 * `marks` is a list of {at, number, kind, loses, title}. Where a pointer leads nowhere, its nearest parent is marked.
 * Calls `onselect(number)` when a mark is clicked.
 */
export function bodyView(text, marks = [], onselect = () => {}) {
  const tree = readJson(text);
  if (tree === null) return rawText(text);
  const view = { marks: placed(tree, marks), open: new Set(), all: tree.size <= WHOLE, onselect };
  let opened = 0;
  for (const at of view.marks.keys()) if (opened++ < OPENED) for (const parent of parents(at)) view.open.add(parent);
  return h("div", { class: "json", tabindex: "0" }, node(tree, view, 0, ""));
}

export function rawText(text) {
  const shown = h("pre", { class: "raw" }, text.slice(0, LONGEST_RAW));
  if (text.length > LONGEST_RAW) shown.append(h("em", {}, `\n… ${count(text.length - LONGEST_RAW)} more characters`));
  return shown;
}

/** Show which marks belong to a change, and bring the first of them into sight. */
export function selectMarks(pane, number) {
  for (const one of pane.querySelectorAll(".mark.chosen")) one.classList.remove("chosen");
  const chosen = number === null ? [] : [...pane.querySelectorAll(`.mark[data-numbers~="${number}"]`)];
  for (const one of chosen) one.classList.add("chosen");
  const scroller = pane.querySelector(".json");
  if (!chosen.length || !scroller) return;
  const offset = chosen[0].getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  scroller.scrollTop += offset - scroller.clientHeight / 4;
}

function* parents(at) {
  const steps = at.split("/");
  for (let end = steps.length; end > 0; end -= 1) yield steps.slice(0, end).join("/");
}

function placed(tree, marks) {
  const known = new Set();
  collect(tree, known);
  const found = new Map();
  for (const mark of marks) {
    const at = [...parents(mark.at)].find((one) => known.has(one)) ?? "";
    const shown = at === mark.at ? mark : { ...mark, kind: "changed" };
    if (!found.has(at)) found.set(at, []);
    if (!found.get(at).some((one) => one.number === mark.number)) found.get(at).push(shown);
  }
  return found;
}

function collect(tree, known) {
  known.add(tree.at);
  for (const child of tree.children ?? []) collect(child, known);
}

function node(tree, view, depth, comma) {
  const marks = view.marks.get(tree.at) ?? [];
  const block = h("div", blockProps(tree, marks));
  if (tree.kind === "value" || !tree.children.length) {
    block.append(line(depth, badges(marks, view), keyOf(tree), plain(tree), comma));
    return block;
  }
  const isOpen = view.all || view.open.has(tree.at) || depth === 0;
  (isOpen ? unfold : fold)(block, tree, view, depth, comma, marks);
  return block;
}

function blockProps(tree, marks) {
  if (!marks.length) return { class: "node" };
  const whole = tree.at === "" ? "whole" : ""; // about all of it: a badge is enough
  return { class: `node mark ${whole} ${marks[0].kind ?? ""} loss-${marks[0].loses}`, data: { numbers: marks.map((one) => one.number).join(" ") } };
}

function unfold(block, tree, view, depth, comma, marks) {
  const [first, last] = tree.kind === "object" ? "{}" : "[]";
  const again = () => fold(block, tree, view, depth, comma, marks);
  const children = runs(tree, view).map((run) => (run.length > 1 ? skipped(run, tree, view, depth) : child(run[0], tree, view, depth)));
  replace(block, line(depth, badges(marks, view), twisty("▾", "Fold", again), keyOf(tree), first), children, line(depth, last, comma));
}

const child = (at, tree, view, depth) => node(tree.children[at], view, depth + 1, at + 1 < tree.children.length ? "," : "");

/** The children of a long list, those together that nothing happened to. */
function runs(tree, view) {
  const found = [];
  const long = tree.children.length > MANY;
  tree.children.forEach((one, at) => {
    const plain = long && !view.open.has(one.at) && !view.marks.has(one.at);
    const last = found.at(-1);
    if (plain && last?.plain) last.push(at);
    else found.push(Object.assign([at], { plain }));
  });
  return found;
}

/** A line for many children, until somebody wants to see them: so many at a time. */
function skipped(run, tree, view, depth) {
  const block = h("div", { class: "node" });
  const open = () => {
    const shown = run.slice(0, MANY).map((at) => child(at, tree, view, depth));
    block.replaceWith(...shown, ...(run.length > MANY ? [skipped(run.slice(MANY), tree, view, depth)] : []));
  };
  block.append(line(depth + 1, h("button", { type: "button", class: "preview", onclick: open }, `… ${count(run.length)} items …`)));
  return block;
}

function fold(block, tree, view, depth, comma, marks) {
  const again = () => {
    view.open.add(tree.at);
    unfold(block, tree, view, depth, comma, marks);
  };
  const preview = h("button", { type: "button", class: "preview", onclick: again }, summary(tree));
  replace(block, line(depth, badges(marks, view), twisty("▸", "Unfold", again), keyOf(tree), preview, comma));
}

function summary(tree) {
  const sign = tree.kind === "object" ? "{" : "[";
  const role = tree.children.find((child) => child.key === '"role"' || child.key === '"type"' || child.key === '"name"');
  const inner = tree.size < 400 ? compact(tree).slice(1, 90) : role ? `${role.key}: ${compact(role)}` : "";
  return `${sign} ${inner}… ${tree.kind === "array" ? `${count(tree.children.length)} items` : ""} ${sign === "{" ? "}" : "]"}`;
}

const twisty = (sign, label, onclick) => h("button", { type: "button", class: "twisty", "aria-label": label, onclick }, sign);

const line = (depth, ...content) => {
  const row = h("div", { class: "line" }, content);
  row.style.paddingInlineStart = `${42 + depth * 14}px`;
  return row;
};

const keyOf = (tree) => (tree.key === null ? null : [h("span", { class: "key" }, tree.key), ": "]);

function badges(marks, view) {
  if (!marks.length) return null;
  const buttons = marks.slice(0, 3).map((mark) =>
    h("button", { type: "button", class: `badge loss-${mark.loses}`, title: mark.title, onclick: () => view.onselect(mark.number) }, mark.number));
  return h("span", { class: "badges" }, buttons);
}

function plain(tree) {
  if (tree.kind !== "value") return tree.kind === "object" ? "{}" : "[]";
  const kind = tree.raw[0] === '"' ? "text" : "word";
  if (tree.raw.length <= SHOWN_TEXT) return h("span", { class: kind }, tree.raw);
  const holder = h("span", { class: kind }, tree.raw.slice(0, SHOWN_TEXT));
  const more = h("button", { type: "button", class: "more" }, `… ${count(tree.raw.length - SHOWN_TEXT)} more`);
  more.addEventListener("click", () => {
    holder.textContent = visible(tree.raw.slice(0, LONGEST_TEXT));
    if (tree.raw.length > LONGEST_TEXT) holder.append(` … ${count(tree.raw.length - LONGEST_TEXT)} more characters`);
  });
  holder.append(more);
  return holder;
}

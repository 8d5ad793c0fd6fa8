// Message patterns and targets: what each takes as it is, what is repaired, at what loss, and on whose word.

import { api, query } from "./api.js";
import { emptyState, h, problem, replace } from "./dom.js";
import { LOSSES, LOSS_SIGNS } from "./format.js";
import { ruleCard } from "./rule_card.js";

const AT_FIRST = 9;
const SIGNS = { "as-is": ["✓", "as it is"], repaired: ["●", "repaired"], refused: ["✕", "refused"] };

export function open() {
  return new Compatibility();
}

class Compatibility {
  constructor() {
    this.targets = [];
    this.columns = new Map();
    this.patterns = [];
    this.table = h("div", { class: "matrix" }, h("p", { class: "waiting" }, "Computing…"));
    this.side = h("aside", { class: "side-panel", hidden: true });
    this.add = h("input", { placeholder: "model or PROVIDER/MODEL", "aria-label": "Add a target", "data-filter": "first", list: "all-models" });
    this.known = h("datalist", { id: "all-models" });
    const form = h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); this.addTarget(); } }, this.add, this.known, h("button", {}, "Add"));
    const legend = h("p", { class: "legend" }, h("span", {}, h("i", { class: "good" }, "✓"), "accepted as it is"),
      LOSSES.map((loss) => h("span", {}, h("i", { class: `loss-text loss-${loss}` }, LOSS_SIGNS[loss]), loss === "nothing" ? "respelled, nothing lost" : `repaired, loses ${loss}`)),
      h("span", {}, h("i", { class: "bad" }, "✕"), "refused with a reason"));
    this.element = h("section", { class: "compatibility" }, h("div", { class: "bar" }, h("h1", {}, "Compatibility"), form), legend, h("div", { class: "matrix-body" }, this.table, this.side));
    this.start();
  }

  async start() {
    try {
      const found = await api.get("models");
      for (const one of found.models) this.known.append(h("option", { value: one.name }));
      const first = new Map();
      for (const one of found.models) {
        const provider = one.targets[0].split("/")[0];
        if (!first.has(provider)) first.set(provider, one.targets[0]);
      }
      this.targets = [...first.values()].slice(0, AT_FIRST);
      await this.load();
    } catch (error) {
      replace(this.table, problem(error));
    }
  }

  async addTarget() {
    const name = this.add.value.trim();
    if (!name || this.targets.includes(name)) return;
    this.targets = [...this.targets, name];
    this.add.value = "";
    await this.load().catch((error) => replace(this.table, problem(error)));
  }

  /** Ask for the columns that are not known yet, one after another, and show each as it comes. */
  async load() {
    this.draw();
    for (const name of this.targets) {
      if (this.columns.has(name)) continue;
      const found = await api.get(`compatibility${query({ targets: name })}`);
      this.patterns = found.rows;
      this.columns.set(name, found.cells.map((row) => row[0]));
      this.draw();
    }
  }

  draw() {
    if (!this.targets.length) return replace(this.table, emptyState("No targets", h("p", {}, "Configure a provider, or add any PROVIDER/MODEL.")));
    const known = this.targets.filter((name) => this.columns.has(name));
    if (!known.length) return replace(this.table, h("p", { class: "waiting" }, "Computing…"));
    const found = { targets: known, rows: this.patterns, cells: this.patterns.map((_, row) => known.map((name) => this.columns.get(name)[row])) };
    const head = h("tr", {}, h("th", {}, "Pattern"), found.targets.map((name) => h("th", { scope: "col" }, columnName(name), h("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: () => this.remove(name) }, "×"))));
    const rows = found.rows.map(([pattern, request], row) => h("tr", {}, h("th", { scope: "row" }, pattern),
      found.cells[row].map((cell, at) => h("td", {}, this.cell(cell, pattern, request, found.targets[at])))));
    return replace(this.table, h("table", {}, h("thead", {}, head), h("tbody", {}, rows)));
  }

  remove(name) {
    this.targets = this.targets.filter((one) => one !== name);
    this.draw();
  }

  cell(cell, pattern, request, target) {
    const [sign, label] = SIGNS[cell.verdict];
    const content = cell.verdict === "repaired" ? h("i", { class: `fill loss-text loss-${cell.loses}` }, LOSS_SIGNS[cell.loses]) : h("i", { class: cell.verdict === "as-is" ? "good" : "bad" }, sign);
    const lost = cell.verdict === "repaired" ? `, loses ${cell.loses}` : "";
    return h("button", { type: "button", class: "cell", title: `${pattern} → ${target}: ${label}${lost}`, "aria-label": `${pattern}, ${target}: ${label}${lost}`, onclick: () => this.open(cell, pattern, request, target) }, content);
  }

  open(cell, pattern, request, target) {
    const judge = (name, verdict) => (verdict ? h("p", {}, h("b", {}, name), " ", h("span", { class: verdict.status < 400 ? "good" : "bad" }, verdict.status < 400 ? "accepted" : `${verdict.status} ${verdict.message}`)) : null);
    replace(this.side,
      h("button", { type: "button", class: "quiet close", "aria-label": "Close", onclick: () => { this.side.hidden = true; } }, "×"),
      h("h2", {}, pattern), h("p", { class: "note" }, target),
      cell.message ? h("div", { class: "problem" }, cell.message) : null,
      cell.report ? cell.report.rules.map((rule, at) => ruleCard(rule, at + 1, cell.report.changes, () => {})) : cell.message ? null : h("p", {}, "It goes out as it is."),
      h("div", { class: "card small" }, h("h3", {}, "The strict emulator says"), cell.unrepaired || !cell.report ? judge("without the repair:", cell.unrepaired) : h("p", {}, h("b", {}, "without the repair:"), " it cannot be written in this dialect"), judge("to what is sent:", cell.repaired), cell.repaired ? null : h("p", { class: "note" }, "No emulator judges this target.")),
      h("a", { href: playground(request, target) }, "Open in the playground"));
    this.side.hidden = false;
  }

  onkey(event) {
    if (event.key !== "Escape" || this.side.hidden) return false;
    this.side.hidden = true;
    return true;
  }
}

function columnName(name) {
  const [provider, ...model] = name.split("/");
  return h("span", { title: name }, h("b", {}, provider), h("small", {}, model.join("/")));
}

function playground(request, target) {
  const text = JSON.stringify({ text: JSON.stringify(request, null, 2), from: "openai-chat", targets: [target] });
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return `#/playground?c=${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

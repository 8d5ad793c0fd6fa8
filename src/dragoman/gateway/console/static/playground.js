// A conversation in any dialect, and what each target would get, as you type. Nothing is sent until you say so.

import { api, sendToModel } from "./api.js";
import { copyButton, debounce, emptyState, h, problem, replace, select } from "./dom.js";
import { dialectName, duration, plural } from "./format.js";
import { answerText, pathWithModel, withModel } from "./json_text.js";
import { clientMarks, pane, upstreamMarks } from "./request_detail.js";
import { selectMarks } from "./body_view.js";
import { ruleCard } from "./rule_card.js";
import { EXAMPLES } from "./examples.js";

const FIRST = 3; // targets that are chosen at the beginning

export function open({ search, session }) {
  return new Playground(search, session.dialects);
}

class Playground {
  constructor(search, dialects) {
    this.targets = [];
    this.place = 0;
    this.source = "auto";
    this.text = h("textarea", { spellcheck: "false", "aria-label": "Conversation", "data-filter": "first", oninput: debounce(() => this.run(), 250) });
    this.chips = h("div", { class: "chips" });
    this.known = h("datalist", { id: "known-targets" });
    this.result = h("div", { class: "result" }, h("p", { class: "waiting" }, "Compiling…"));
    this.add = h("input", { placeholder: "model or PROVIDER/MODEL", "aria-label": "Add a target", list: "known-targets" });
    const form = h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); this.addTarget(this.add.value.trim()); } }, this.add, this.known, h("button", {}, "Add"));
    const examples = select([["", "examples…"], ...Object.keys(EXAMPLES).map((name) => [name, name])], "", (name) => name && this.load(EXAMPLES[name]));
    examples.setAttribute("aria-label", "Examples");
    this.dialect = select([["auto", "recognise the dialect"], ...Object.entries(dialects)], "auto", (name) => { this.source = name; this.run(); });
    this.dialect.setAttribute("aria-label", "Dialect");
    const bar = h("div", { class: "bar" }, h("h1", {}, "Playground"), examples, this.dialect, h("button", { type: "button", onclick: () => this.tidy() }, "Tidy"), copyButton("Share", () => this.link()));
    const left = h("div", { class: "play-left" }, this.text, h("p", { class: "note" }, "Nothing is sent while you type. A shared link holds the conversation after the #, which browsers keep to themselves."));
    this.element = h("section", { class: "playground" }, bar, h("div", { class: "play" }, left, h("div", { class: "play-right" }, this.chips, form, this.result)));
    this.start(search);
  }

  async start(search) {
    const shared = search.get("c");
    const [found, models] = await Promise.all([shared ? unpack(shared) : null, api.get("models").catch(() => ({ models: [], providers: [] }))]);
    for (const one of models.models) this.known.append(h("option", { value: one.name }));
    this.targets = found?.targets ?? firstTargets(models.models);
    if (found?.from) this.source = this.dialect.value = found.from;
    this.load(found?.text ?? Object.values(EXAMPLES)[0]);
  }

  load(text) {
    this.text.value = typeof text === "string" ? text : JSON.stringify(text, null, 2);
    this.run();
  }

  tidy() {
    try {
      this.load(JSON.parse(this.text.value));
    } catch (error) {
      replace(this.result, problem(error));
    }
  }

  addTarget(name) {
    if (name && !this.targets.includes(name)) {
      this.targets.push(name);
      this.place = this.targets.length - 1;
    }
    this.add.value = "";
    this.run();
  }

  async run() {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.drawChips([]);
    if (!this.text.value.trim()) return replace(this.result, emptyState("Paste a conversation", h("p", {}, "A request body of any dialect, or choose an example.")));
    if (!this.targets.length) return replace(this.result, emptyState("Choose a target", h("p", {}, "Add a model of this gateway, or any PROVIDER/MODEL.")));
    try {
      this.found = await api.post("dry-runs", { request: this.text.value, from: this.source, targets: this.targets }, signal);
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") replace(this.result, problem(error));
    }
  }

  drawChips(runs) {
    replace(this.chips, this.targets.map((name, at) => {
      const [sign, kind] = verdict(runs[at]);
      return h("span", { class: `chip ${at === this.place ? "chosen" : ""}` },
        h("button", { type: "button", onclick: () => { this.place = at; this.draw(); } }, h("i", { class: kind }, sign), name),
        h("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: () => this.remove(at) }, "×"));
    }));
  }

  remove(at) {
    this.targets.splice(at, 1);
    this.place = Math.min(this.place, Math.max(this.targets.length - 1, 0));
    this.run();
  }

  draw() {
    const { found } = this;
    if (!found) return;
    this.drawChips(found.runs);
    if (found.refused) return replace(this.result, refusal(found));
    const run = found.runs[Math.min(this.place, found.runs.length - 1)];
    replace(this.result, h("p", { class: "note" }, `read as ${found.title} · about ${plural(found.tokens, "token")}`), run.refused ? refusal(run) : this.accepted(run));
  }

  accepted(run) {
    const text = this.text.value;
    const panes = [
      pane(`${dialectName(this.found.source)} · your request`, { text, cut: 0, path: "" }, clientMarks(run.report), (number) => choose(number)),
      pane(`${dialectName(run.dialect)} · to ${run.name}`, { text: run.body, cut: 0, path: run.path }, upstreamMarks(run.report), (number) => choose(number)),
    ];
    const cards = run.report.rules.map((rule, at) => ruleCard(rule, at + 1, run.report.changes, () => choose(at + 1)));
    function choose(number) {
      cards.forEach((card, at) => card.classList.toggle("chosen", at + 1 === number));
      for (const one of panes) selectMarks(one, number);
    }
    const what = run.report.rules.length ? `${plural(run.report.rules.length, "rule")}, loses ${run.report.loses}` : "goes out as it is";
    const judged = run.judged ? h("span", { class: run.judged.status < 400 ? "good" : "bad" }, run.judged.status < 400 ? "the emulator accepts it" : `the emulator refuses it: ${run.judged.message}`) : null;
    return [h("p", { class: "verdict" }, h("b", {}, what), judged, this.sender(run)), h("div", { class: "cards" }, cards), h("div", { class: "panes" }, panes), this.answer = h("div", {})];
  }

  sender(run) {
    if (!run.configured) return h("span", { class: "note" }, "no provider is configured for it");
    const send = async () => {
      replace(this.answer, h("p", { class: "waiting" }, "Sending…"));
      try {
        const { resend } = this.found;
        const body = resend.model_in_body ? withModel(this.text.value, run.target) : this.text.value;
        const now = await sendToModel(pathWithModel(resend.path, run.target), body);
        replace(this.answer, h("section", { class: "card" }, h("h2", {}, now.status, " ", now.model, h("small", {}, ` ${duration(now.total / 1000)} `), h("a", { href: `#/requests/${encodeURIComponent(now.id)}` }, "open")), h("blockquote", {}, answerText(now.text) || now.text.slice(0, 8000))));
      } catch (error) {
        replace(this.answer, problem(error));
      }
    };
    return h("button", { type: "button", class: "primary", onclick: send }, "Send it");
  }

  link() {
    const hash = pack({ text: this.text.value, from: this.source, targets: this.targets });
    return `${location.origin}${location.pathname}#/playground?c=${hash}`;
  }

  close() {
    this.abort?.abort();
  }
}

function refusal(run) {
  return h("div", { class: "problem" }, h("b", {}, "Refused: "), run.refused.message, run.refused.at ? h("code", {}, run.refused.at) : null, run.refused.hint ? h("p", {}, run.refused.hint) : null);
}

function verdict(run) {
  if (!run) return ["·", ""];
  if (run.refused) return ["✕", "bad"];
  return run.report.rules.length ? ["●", `loss-text loss-${run.report.loses}`] : ["✓", "good"];
}

/** One model of each of the first providers, so that the first look compares dialects. */
function firstTargets(models) {
  const seen = new Map();
  for (const one of models) if (!seen.has(one.dialect)) seen.set(one.dialect, one.name);
  return [...seen.values()].slice(0, FIRST);
}

function pack(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function unpack(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(bytes));
    return typeof found.text === "string" && Array.isArray(found.targets) ? { ...found, targets: found.targets.map(String).slice(0, 12) } : null;
  } catch {
    return null;
  }
}

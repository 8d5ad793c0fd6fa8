// One request: what came in and what went out, side by side, with every change where it happened and why.

import { api, sendToModel } from "./api.js";
import { bodyView, rawText, selectMarks } from "./body_view.js";
import { copyButton, h, problem, replace, visible } from "./dom.js";
import { count, dialectName, duration, fullTime, lossWeight, money, plural } from "./format.js";
import { answerText, pathWithModel, withModel } from "./json_text.js";
import { ruleCard } from "./rule_card.js";

export function open({ rest }) {
  return new RequestDetail(rest[0]);
}

class RequestDetail {
  constructor(id) {
    this.chosen = null;
    this.element = h("section", { class: "detail" }, h("p", { class: "waiting" }, "Loading…"));
    this.abort = new AbortController();
    this.load(id);
  }

  close() {
    this.abort.abort();
  }

  async load(id) {
    try {
      this.view = await api.get(`requests/${encodeURIComponent(id)}/view`, this.abort.signal);
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") replace(this.element, back(), h("h1", {}, "Request"), problem(error));
    }
  }

  draw() {
    const { view } = this;
    replace(this.element, head(view), view.entry.error ? errorBox(view.entry) : null, this.changed(), timeline(view), tools(view), answer(view), this.again(), samples(view));
  }

  /** The changes, and both bodies. */
  changed() {
    const { view } = this;
    const rules = view.report.rules;
    const cards = rules.map((rule, at) => ruleCard(rule, at + 1, view.report.changes, () => this.choose(at + 1)));
    this.cards = cards;
    const list = h("div", { class: "changes" }, h("h2", {}, rules.length ? `${plural(rules.length, "rule")} changed it` : view.entry.target ? "Nothing was changed" : "Not sent"),
      rules.length ? cards : h("p", { class: "note" }, sameBody(view)),
      view.report.omitted ? h("p", { class: "note" }, `${count(view.report.omitted)} more changes of these rules are not listed.`) : null,
      view.decision ? decision(view.decision) : null);
    if (view.client.text === null) return h("div", { class: "compare bare" }, list, h("p", { class: "empty small" }, view.note));
    this.panes = [
      pane(`${dialectName(view.client.dialect)} · from the client`, view.client, clientMarks(view.report), (number) => this.choose(number)),
      pane(view.entry.target ? `${dialectName(view.upstream.dialect)} · to ${view.entry.target}` : "To no provider", view.upstream, upstreamMarks(view.report), (number) => this.choose(number)),
    ];
    const from = view.kept === "memory" ? "in memory only" : "from the store";
    return h("div", { class: "compare" }, list, h("div", { class: "panes", title: `Bodies ${from}` }, this.panes));
  }

  choose(number) {
    this.chosen = this.chosen === number ? null : number;
    this.cards.forEach((card, at) => card.classList.toggle("chosen", at + 1 === this.chosen));
    this.cards[this.chosen - 1]?.scrollIntoView({ block: "nearest" });
    for (const one of this.panes ?? []) selectMarks(one, this.chosen);
  }

  onkey(event) {
    if (event.key === "Escape") location.hash = "#/requests";
    else if ((event.key === "j" || event.key === "k") && this.cards?.length) {
      const at = (this.chosen ?? 0) + (event.key === "j" ? 1 : -1);
      this.choose(Math.min(Math.max(at, 1), this.cards.length));
    } else return false;
    return true;
  }

  /** Send it to another model, and compare. */
  again() {
    const { view } = this;
    if (view.client.text === null || !view.resend || view.client.cut) return null;
    const model = h("input", { placeholder: "model or PROVIDER/MODEL", "aria-label": "Model", list: "known-models" });
    const known = h("datalist", { id: "known-models" });
    api.get("models", this.abort.signal).then((found) => found.models.forEach((one) => known.append(h("option", { value: one.name }))), () => {});
    const result = h("div", { class: "again-result" });
    const button = h("button", { class: "primary" }, "Send");
    const send = async (event) => {
      event.preventDefault();
      if (!model.value.trim()) return model.focus();
      button.disabled = true;
      replace(result, h("p", { class: "waiting" }, "Sending…"));
      try {
        const body = view.resend.model_in_body ? withModel(view.client.text, model.value.trim()) : view.client.text;
        replace(result, compared(view, await sendToModel(pathWithModel(view.resend.path, model.value.trim()), body, this.abort.signal)));
      } catch (error) {
        replace(result, problem(error));
      }
      button.disabled = false;
    };
    return h("section", { class: "card" }, h("h2", {}, "Send again to another model"),
      h("form", { class: "inline", onsubmit: send }, model, known, button, h("span", { class: "note" }, "This asks the provider, and costs what it costs.")), result);
  }
}

const back = () => h("a", { class: "back", href: "#/requests" }, "← Requests");

function head({ entry, report, id }) {
  const failed = entry.status >= 400 || entry.error_kind;
  const figures = [
    ["status", h("b", { class: failed ? "bad" : "good" }, entry.status)],
    ["first byte", duration(entry.ttfb)],
    ["whole", duration(entry.duration)],
    ["ours", duration(entry.overhead_us / 1e6)],
    ["tokens", `${entry.estimated ? "≈ " : ""}${count(entry.input_tokens)} → ${count(entry.output_tokens)}`],
    ["from cache", count(entry.cached_tokens)],
    ["cost, $", money(entry.cost)],
    ["loses", entry.target ? h("b", { class: `loss-text loss-${report.loses}` }, report.rules.length ? report.loses : "nothing") : "–"],
  ];
  return h("div", { class: "detail-head" }, back(),
    h("h1", {}, entry.asked || "no model", entry.asked === entry.target ? null : [h("span", { class: "arrow" }, " → "), entry.target || "not sent"]),
    h("p", { class: "note" }, fullTime(entry.time), " · ", dialectName(entry.client_dialect), entry.stream ? " stream" : "", entry.caller ? ` · key ${entry.caller}` : "", " · ", h("code", {}, id)),
    h("dl", { class: "figures" }, figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    entry.cache_break ? h("p", { class: "problem" }, h("b", {}, `Broke the prompt cache: ${count(entry.resent_tokens)} tokens sent again, $${money(entry.cache_lost)} lost. `), entry.cache_break) : null);
}

const errorBox = (entry) => h("div", { class: "problem" }, h("b", {}, entry.error_kind, " "), entry.error);

function sameBody(view) {
  if (!view.entry.target) return "The error above says why. No provider was asked.";
  return view.client.dialect === view.upstream.dialect
    ? "The request went out as it came in. Only the model's name may differ."
    : "The request was translated into the provider's dialect. Nothing in the conversation is different.";
}

const decision = (made) => h("div", { class: "card small" }, h("h3", {}, "Routed"), h("p", {}, made.reason), h("p", { class: "note" }, "in this order: ", made.models.join(", ")),
  made.left_out.length ? h("ul", {}, made.left_out.map((one) => h("li", {}, one.name, ": ", one.why))) : null);

export function clientMarks(report) {
  const numbers = new Map(report.rules.map((rule, at) => [rule.rule, at + 1]));
  const mark = (one) => ({ number: numbers.get(one.rule), loses: one.loses, title: `${one.rule}: ${one.did}` });
  return report.changes.flatMap((one) => places(one).map((place) => ({ ...mark(one), ...place })))
    .sort((one, other) => lossWeight(other.loses) - lossWeight(one.loses));
}

/** Where a change is. One that took members out says where they stood; their names are in its sentence. */
function places({ at, did, kind }) {
  const members = did.startsWith("took out `") ? [...did.matchAll(/`([^`]+)`/g)] : [];
  if (members.length) return members.map(([, name]) => ({ at: `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, kind: "gone" }));
  return [{ at, kind: kind === "removed" && /^(took|left) out/.test(did) ? "gone" : "changed" }];
}

export function upstreamMarks(report) {
  return report.rules.flatMap((rule, at) => rule.marks.map((mark) => ({ ...mark, number: at + 1, loses: rule.loses, title: `${rule.rule}: ${mark.kind}` })));
}

export function pane(title, body, marks, onselect) {
  const content = body.text === null ? h("p", { class: "empty small" }, "Nothing was sent.") : bodyView(body.text, marks, onselect);
  return h("figure", { class: "pane" }, h("figcaption", {}, h("span", {}, title), body.path ? h("code", { title: body.path }, body.path) : null, body.text === null ? null : copyButton("Copy", body.text)),
    content, body.cut ? h("p", { class: "note" }, `${count(body.cut)} more characters`) : null);
}

function timeline({ sends, duration: whole, first_byte: first, overhead }) {
  if (!sends.length) return null;
  const share = (seconds) => `${Math.min(Math.max(seconds / (whole || 1), 0), 1) * 100}%`;
  const bar = (kind, from, until, title) => h("span", { class: `bar-piece ${kind}`, title, style: { left: share(from), width: `max(3px, ${share(until - from)})` } });
  const rows = sends.map((send, at) => {
    const failed = Boolean(send.kind);
    const pieces = [bar(failed ? "failed" : "waiting", send.begins, send.ends, duration(send.ends - send.begins))];
    if (send.waited) pieces.push(bar("pause", send.ends, send.ends + send.waited, `waited ${duration(send.waited)}`));
    if (!failed && first) pieces.push(bar("answering", first, whole, "the answer"));
    return h("li", {},
      h("span", { class: "who" }, `${at + 1}. `, send.target),
      h("span", { class: "track" }, pieces),
      h("span", { class: failed ? "bad" : "good" }, failed ? `${send.status || ""} ${send.kind}` : "answered"),
      send.message || send.lesson || send.body ? h("div", { class: "send-more" },
        send.message ? h("q", {}, send.message) : null,
        send.lesson ? h("span", { class: "lesson" }, "learnt: ", send.lesson) : null,
        send.body ? h("details", {}, h("summary", {}, "the body of this send"), lazily(() => bodyView(send.body))) : null) : null);
  });
  return h("section", { class: "card" }, h("h2", {}, plural(sends.length, "send"), h("small", {}, ` ${duration(overhead)} of ours before the first, ${duration(whole)} in all`)), h("ol", { class: "timeline" }, rows));
}

/** The tools that the gateway ran in the provider's place after this round. */
function tools({ runs }) {
  if (!runs.length) return null;
  const row = (run) => run.name
    ? h("tr", {}, h("td", {}, run.name), h("td", {}, duration(run.seconds)), h("td", {}, count(run.size)), h("td", {}, run.cost ? money(run.cost) : "–"),
      h("td", { class: run.error ? "bad" : "good" }, run.error || "done"))
    : h("tr", {}, h("td", { colspan: 5 }, run.did));
  const names = ["tool", "time", "bytes read by the model", "cost, $", "outcome"];
  return h("section", { class: "card" }, h("h2", {}, `${plural(runs.length, "tool")} run by the gateway`),
    h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, runs.map(row)))));
}

/** Content that is made when it is first looked at. */
function lazily(make) {
  const holder = h("div", {});
  queueMicrotask(() => holder.closest("details")?.addEventListener("toggle", () => holder.childElementCount || holder.append(make())));
  return holder;
}

function answer({ answer: body, entry }) {
  if (body.text === null) return null;
  const text = answerText(body.text);
  const raw = entry.stream ? rawText(body.text) : bodyView(body.text);
  return h("section", { class: "card" }, h("h2", {}, "Answer", h("small", {}, entry.stream ? " the stream as the client got it" : " as the client got it")),
    text ? h("blockquote", {}, text.slice(0, 20_000)) : null,
    h("details", { open: !text }, h("summary", {}, entry.stream ? "Every event" : "Body"), raw),
    body.cut ? h("p", { class: "note" }, `${count(body.cut)} more characters were not kept`) : null);
}

function compared(view, now) {
  const column = (title, figures, text) => h("figure", {}, h("figcaption", {}, title), h("p", { class: "note" }, figures), h("blockquote", {}, text || "–"));
  const before = `${view.entry.status} · ${duration(view.entry.duration)} · ${Object.keys(Object.fromEntries(view.report.rules.map((rule) => [rule.rule, 1]))).join(", ") || "as it came"}`;
  return h("div", { class: "two" },
    column(view.entry.target, before, view.answer.text ? answerText(view.answer.text) : view.entry.error ?? ""),
    column(h("a", { href: `#/requests/${encodeURIComponent(now.id)}` }, now.model || "refused"), `${now.status} · ${duration(now.total / 1000)} · ${visible(now.changes) || "as it came"}`, answerText(now.text) || now.text.slice(0, 4000)));
}

function samples({ samples: found }) {
  if (!found) return null;
  const shown = h("pre", { class: "sample", tabindex: "0", role: "region", "aria-label": "The request as code" });
  const names = { curl: "curl", python: "Python", test: "Test" };
  const buttons = Object.entries(names).map(([name, label]) => h("button", { type: "button", class: "tab", onclick: (event) => pick(name, event.target) }, label));
  let current = "curl";
  function pick(name, button) {
    current = name;
    for (const one of buttons) one.classList.toggle("chosen", one === button);
    shown.textContent = visible(found[name]);
  }
  pick("curl", buttons[0]);
  return h("section", { class: "card" }, h("h2", {}, "Copy as"), h("div", { class: "tabs" }, buttons, copyButton("Copy", () => found[current])), shown);
}

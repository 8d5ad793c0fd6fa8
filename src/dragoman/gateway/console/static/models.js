// Models and their health: targets, times, errors, pauses, what refusals have taught, and what routes chose.

import { api, query } from "./api.js";
import { emptyState, h, problem, replace } from "./dom.js";
import { clock, count, dialectName, duration, money, plural } from "./format.js";

const EVERY = 4000;

export function open() {
  return new Models();
}

class Models {
  constructor() {
    this.filter = h("input", { type: "search", placeholder: "model", "aria-label": "Filter models", "data-filter": "first", oninput: () => this.draw() });
    this.body = h("div", {}, h("p", { class: "waiting" }, "Loading…"));
    this.element = h("section", { class: "scrolls" }, h("div", { class: "bar" }, h("h1", {}, "Models & health"), this.filter), this.body);
    this.load();
    this.timer = setInterval(() => document.hidden || this.load(), EVERY);
  }

  close() {
    clearInterval(this.timer);
  }

  async load() {
    try {
      this.found = await api.get("models");
      this.draw();
    } catch (error) {
      replace(this.body, problem(error));
    }
  }

  draw() {
    const { found } = this;
    if (!found) return;
    const wanted = this.filter.value.trim().toLowerCase();
    const models = found.models.filter((one) => !wanted || `${one.name} ${one.targets.join(" ")}`.toLowerCase().includes(wanted));
    models.sort((one, other) => (other.totals?.requests ?? 0) - (one.totals?.requests ?? 0));
    replace(this.body,
      models.length ? table(["Model", "Target and fallbacks", "Dialect", "State", "First byte", "Requests, 24 h", "Errors", "Spent", "Price in / out"], models.map(modelRow)) : emptyState("No models", h("p", {}, "Every PROVIDER/MODEL of a configured provider works too.")),
      this.lessons(found.lessons), checks(found.checks), decisions(found));
  }

  lessons(lessons) {
    const forget = async (one) => {
      await api.delete(`lessons${query({ target: one.target, name: one.name })}`).catch((error) => replace(this.body, problem(error)));
      this.load();
    };
    const rows = lessons.map((one) => [one.target, one.name, h("code", {}, JSON.stringify(one.facts)), one.confirmed ? "all" : one.caller || "the owner, until confirmed", h("time", {}, clock(one.expires)), h("button", { type: "button", onclick: () => forget(one) }, "Forget")]);
    return h("section", {}, h("h2", {}, "Lessons"), rows.length ? table(["Target", "Lesson", "What holds now", "For", "Until", ""], rows, "Lessons") : h("p", { class: "note" }, "No refusal has taught anything about a target yet. When a provider refuses a request and accepts the corrected one, the correction is remembered for a day."));
  }
}

/** How a target does. One whose last send failed is not ready, also if a fallback saved the request. */
function stateOf(one) {
  const failed = one.failures && !one.failures.over ? one.failures : null;
  if (one.resting) return h("span", { class: "bad", title: failed?.message }, `paused for ${duration(one.resting)}`);
  if (failed) return h("span", { class: "bad", title: failed.message }, `failing: ${failed.status || ""} ${failed.kind}`, h("small", {}, ` ${clock(failed.at)}`));
  if (one.busy) return `${plural(one.busy, "request")} under way`;
  if (!one.totals?.requests) return one.first_byte ? h("span", { class: "good" }, "ready") : h("span", { class: "idle" }, "not asked yet");
  return one.totals.errors < one.totals.requests ? h("span", { class: "good" }, "ready") : h("span", { class: "bad" }, "only errors");
}

function modelRow(one) {
  const state = stateOf(one);
  const errors = Math.max(one.totals?.errors ?? 0, one.failures?.sends ?? 0);
  const price = one.price ? `${money(one.price.input)} / ${money(one.price.output)}` : "–";
  return [h("b", {}, one.name), h("span", { class: "chain" }, one.targets.join(" → ")), [dialectName(one.dialect), one.emulated ? h("em", { class: "tag" }, "emulated") : null],
    [state, one.lessons ? h("em", { class: "tag" }, plural(one.lessons, "lesson")) : null], number(duration(one.first_byte)), number(count(one.totals?.requests)),
    number(errors ? h("span", { class: "bad" }, count(errors)) : "0"), number(one.totals ? money(one.totals.cost) : "–"), number(price)];
}

const number = (content) => ({ number: true, content });

/** A table that can be scrolled, with the keyboard too. A column without a name holds buttons. On a phone each row is a card, in which a cell names its column itself. */
export function table(heads, rows, label = heads[0]) {
  const cell = (one, at) => h("td", { class: one?.number && "number", "data-head": heads[at] }, one?.number ? one.content : one);
  const head = (name, at) => h("th", { scope: "col", class: rows[0]?.[at]?.number && "number" }, name || h("span", { class: "unseen" }, "Actions"));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, h("thead", {}, h("tr", {}, heads.map(head))), h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

function checks(found) {
  if (!found.length) return null;
  const rows = found.map((one) => [one.model, one.healthy ? h("span", { class: "good" }, "healthy") : h("span", { class: "bad" }, "unhealthy"), one.latency_ms ? `${one.latency_ms} ms` : "–", one.error, clock(one.at)]);
  return h("section", {}, h("h2", {}, "Health checks"), table(["Model", "State", "First byte", "Error", "Checked"], rows));
}

function decisions({ decisions: made, routes }) {
  if (!Object.keys(routes).length && !made.length) return null;
  const rows = made.map((one) => [h("a", { href: `#/requests/${encodeURIComponent(one.id)}` }, clock(one.time)), one.asked, h("b", {}, one.decision.models[0]), one.decision.reason, one.decision.left_out.map((left) => h("div", {}, `${left.name}: ${left.why}`))]);
  return h("section", {}, h("h2", {}, "Routes"), h("ul", {}, Object.entries(routes).map(([name, models]) => h("li", {}, h("b", {}, name), ": ", models.join(", ")))),
    rows.length ? table(["Request", "Asked for", "Chosen", "Because", "Left out"], rows) : h("p", { class: "note" }, "No route has chosen yet."));
}

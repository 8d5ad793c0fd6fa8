// What was used and what it cost, by day, model and key. Charts are drawn by hand.

import { api, query } from "./api.js";
import { emptyState, h, problem, replace, select, svg } from "./dom.js";
import { clock, count, fullTime, money, short } from "./format.js";
import { table } from "./models.js";

const SPANS = [["24h", "last 24 hours"], ["7d", "last 7 days"], ["30d", "last 30 days"], ["52w", "last year"]];
const MEASURES = [["cost", "cost"], ["tokens", "tokens"], ["requests", "requests"]];
const DAY = 86_400_000;
const DAYS = { "24h": 2, "7d": 7, "30d": 30, "52w": 0 };

export function open() {
  return new Spend();
}

class Spend {
  constructor() {
    this.since = "30d";
    this.measure = "cost";
    this.body = h("div", {}, h("p", { class: "waiting" }, "Loading…"));
    const spans = select(SPANS, this.since, (value) => { this.since = value; this.load(); });
    spans.setAttribute("aria-label", "Span of time");
    this.measures = select(MEASURES, this.measure, (value) => { this.measure = value; this.draw(); });
    this.measures.setAttribute("aria-label", "Measure");
    this.element = h("section", { class: "scrolls" }, h("div", { class: "bar" }, h("h1", {}, "Spend"), spans, this.measures), this.body);
    this.load();
  }

  async load() {
    try {
      const groups = ["day", "model", "key", "target"];
      const [cache, ...reports] = await Promise.all([api.get(`cache${query({ since: this.since })}`), ...groups.map((by) => api.get(`usage${query({ by, since: this.since })}`))]);
      this.found = { cache, ...Object.fromEntries(groups.map((by, at) => [by, reports[at]])) };
      if (this.measure === "cost" && !this.found.day.total.cost) this.measure = this.measures.value = "tokens";
      this.draw();
    } catch (error) {
      replace(this.body, problem(error));
    }
  }

  draw() {
    const { found } = this;
    if (!found) return;
    const { total } = found.day;
    if (!total.requests) return replace(this.body, emptyState("Nothing was used", h("p", {}, "There are no requests in this span of time.")));
    const figures = [["requests", count(total.requests)], ["errors", count(total.errors)], ["tokens in", short(total.input_tokens)], ["from caches", short(total.cached_tokens)], ["tokens out", short(total.output_tokens)], ["cost", money(total.cost)], ["without a price", count(total.unpriced)]];
    replace(this.body,
      found.day.is_cut ? h("p", { class: "note" }, `The newest ${count(total.requests)} requests: the ledger keeps no more (store.keep_requests), and older ones are not in these sums.`) : null,
      h("dl", { class: "figures" }, figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("section", { class: "card" }, h("h2", {}, "By day"), dayChart(found.day.groups, this.measure, this.since, this.body.clientWidth)),
      h("div", { class: "two" },
        h("section", { class: "card" }, h("h2", {}, "By model asked"), barChart(named(found.model.groups, "–"), this.measure)),
        h("section", { class: "card" }, h("h2", {}, found.key.groups.length > 1 || found.key.groups[0]?.name ? "By key" : "By target"), barChart(found.key.groups.length > 1 || found.key.groups[0]?.name ? named(found.key.groups, "–") : named(found.target.groups, NOT_SENT), this.measure))),
      h("section", {}, h("h2", {}, "By target"), totals(named(found.target.groups, NOT_SENT))),
      caches(found.cache));
  }
}

/** What prompt caches saved and lost, and the requests that broke them. */
function caches({ total, days, models, sessions, is_cut }) {
  if (!total.requests) return null;
  const percent = (share) => `${Math.round(share * 100)} %`;
  const figures = [["read from caches", percent(total.read)], ["sent again", short(total.resent_tokens)], ["saved", money(total.saved)], ["lost", money(total.lost)], ["broken", count(total.breaks)]];
  const number = (content) => ({ number: true, content });
  const worst = ({ worst: one }) => (one ? [h("a", { href: `#/requests/${encodeURIComponent(one.id)}`, title: fullTime(one.time) }, clock(one.time)), ": ", one.why] : "–");
  const rows = (groups) => groups.map((one) => [one.name || "–", number(count(one.requests)), number(short(one.input_tokens)), number(percent(one.read)), number(short(one.resent_tokens)), number(money(one.saved)), number(one.lost ? h("strong", {}, money(one.lost)) : "0"), worst(one)]);
  const shown = (name, groups) => h("section", {}, h("h3", {}, `By ${name.toLowerCase()}`), table([name, "Requests", "Tokens in", "Read from cache", "Sent again", "Saved", "Lost", "Broken most by"], rows(groups), `Prompt caches by ${name.toLowerCase()}`));
  const losing = sessions.filter((one) => one.breaks);
  return h("section", { id: "caches" }, h("h2", {}, "Prompt caches"),
    is_cut ? h("p", { class: "note" }, `The newest ${count(total.requests)} requests of this span.`) : null,
    h("dl", { class: "figures" }, figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    days.length > 1 ? shown("Day", days.slice(0, 31)) : null,
    shown("Model", models.slice(0, 50)),
    losing.length ? shown("Session", losing.slice(0, 50)) : h("p", { class: "note" }, "No session lost what was in its cache."));
}

const NOT_SENT = "not sent";
const named = (groups, unnamed) => groups.map((group) => (group.name ? group : { ...group, name: unnamed }));
const amount = (group, measure) => (measure === "tokens" ? group.input_tokens + group.output_tokens : group[measure]);
const shown = (value, measure) => (measure === "cost" ? money(value) : short(value));

/** A bar for each day, days without requests included. It is drawn as wide as it is shown, so that a phone can read it. */
function dayChart(groups, measure, since, space) {
  const known = new Map(groups.map((group) => [group.name, amount(group, measure)]));
  const names = [...known.keys()].sort();
  const first = Math.min(Date.parse(names[0]), Math.floor(Date.now() / DAY - (DAYS[since] ?? 0) + 1) * DAY);
  const days = Math.min(Math.floor((Date.now() - first) / DAY) + 1, 370);
  const series = Array.from({ length: Math.max(days, 1) }, (_, at) => new Date(first + at * DAY).toISOString().slice(0, 10)).map((name) => [name, known.get(name) ?? 0]);
  const most = Math.max(...series.map(([, value]) => value), 1e-12);
  const width = Math.min(Math.max(space - 48, 280), 960), height = 180, floor = height - 22, left = 68, step = (width - left - 4) / series.length;
  const bars = series.map(([name, value], at) => {
    const tall = value ? Math.max((value / most) * (floor - 14), 2) : 0;
    return svg("rect", { x: left + at * step, y: floor - tall, width: Math.min(Math.max(step - 3, 1), 64), height: tall, rx: 2, class: "bar-fill" }, svg("title", {}, `${name}: ${shown(value, measure)}`));
  });
  const every = Math.ceil(series.length / Math.floor(width / 110));
  const labels = series.filter((_, at) => at % every === 0).map(([name], at) => svg("text", { x: left + at * every * step, y: height - 6, class: "axis" }, name.slice(5)));
  const lines = [0.5, 1].map((share) => [svg("line", { x1: left - 4, x2: width, y1: floor - share * (floor - 14), y2: floor - share * (floor - 14), class: "grid" }), svg("text", { x: left - 8, y: floor - share * (floor - 14) + 4, class: "axis end" }, shown(most * share, measure))]);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `${measure} by day` }, lines, bars, labels, svg("line", { x1: left - 4, x2: width, y1: floor, y2: floor, class: "base" }));
}

function barChart(groups, measure) {
  const sorted = groups.map((group) => [group.name, amount(group, measure)]).sort((one, other) => other[1] - one[1]).slice(0, 12);
  const most = Math.max(...sorted.map(([, value]) => value), 1e-12);
  return h("ul", { class: "bars" }, sorted.map(([name, value]) => h("li", {}, h("span", { class: "name", title: name }, name), h("span", { class: "track" }, h("span", { class: "bar-piece answering", style: { left: "0", width: value ? `max(2px, ${(value / most) * 100}%)` : "0" } })), h("span", { class: "number" }, shown(value, measure)))));
}

function totals(groups) {
  const number = (content) => ({ number: true, content });
  return table(["Target", "Requests", "Errors", "Tokens in", "Cached", "Tokens out", "Cost"], groups.slice(0, 200).map((one) => [one.name, number(count(one.requests)), number(count(one.errors)), number(short(one.input_tokens)), number(short(one.cached_tokens)), number(short(one.output_tokens)), number([money(one.cost), one.estimated_cost ? h("em", { class: "tag" }, "≈") : null])]));
}

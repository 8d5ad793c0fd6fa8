// The list of requests: live, filtered, and as long as the ledger.

import { api, query } from "./api.js";
import { debounce, emptyState, h, problem, replace, select, visible } from "./dom.js";
import { clock, count, dialectName, duration, money, short } from "./format.js";
import { VirtualList } from "./virtual_list.js";

const FIRST_PAGE = 200;
const PAGE = 1000;
const NARROW = "(max-width: 760px)";
const COLUMNS = ["Time", "Client", "Model asked → target", "Status", "First byte", "Tokens", "Cost, $", "Heaviest change"];

export function open({ search, session }) {
  return new RequestList(search, session);
}

class RequestList {
  keep = true;

  constructor(search, session) {
    this.session = session;
    this.rows = [];
    this.fresh = [];
    this.next = undefined;
    this.loading = false;
    this.round = 0;
    this.filters = Object.fromEntries(["key_name", "model", "status", "rule"].map((name) => [name, search.get(name) ?? ""]));
    this.narrow = matchMedia(NARROW);
    this.list = new VirtualList({
      rowHeight: this.narrow.matches ? 58 : 36,
      label: "Requests",
      make: makeCells,
      render: (index, cells) => fillCells(cells, this.rows[index]),
      onend: () => this.more(),
      onopen: (index) => this.openRow(index),
    });
    this.narrow.addEventListener("change", () => {
      this.list.rowHeight = this.narrow.matches ? 58 : 36;
      this.list.resize(this.rows.length);
    });
    this.said = h("span", { class: "said", role: "status" });
    this.news = h("button", { type: "button", class: "news", hidden: true, onclick: () => this.takeNews() });
    this.body = h("div", { class: "list-body" }, this.list.element);
    const head = h("div", { class: "row head", "aria-hidden": "true" }, COLUMNS.map((name) => h("span", {}, name)));
    this.element = h("section", { class: "requests" }, h("div", { class: "bar" }, h("h1", {}, "Requests"), this.filterInputs(), this.live(), this.said), head, this.news, this.body);
    this.load();
  }

  filterInputs() {
    const changed = debounce(() => this.load(), 250);
    const input = (name, label) => h("input", {
      type: "search", placeholder: label, "aria-label": `Filter by ${label}`, value: this.filters[name], list: name === "rule" ? "known-rules" : null,
      "data-filter": name === "model" ? "first" : null,
      oninput: (event) => { this.filters[name] = event.target.value.trim(); changed(); },
    });
    this.rules = h("datalist", { id: "known-rules" });
    const states = select([["", "any status"], ["ok", "ok"], ["failed", "failed"]], this.filters.status, (value) => { this.filters.status = value; this.load(); });
    states.setAttribute("aria-label", "Filter by status");
    return h("div", { class: "filters" }, input("model", "model"), this.session.keys ? input("key_name", "key") : null, states, input("rule", "rule"), this.rules);
  }

  live() {
    this.switch = h("input", { type: "checkbox", checked: true, onchange: () => (this.switch.checked ? this.listen() : this.stop()) });
    this.switch.checked = true;
    return h("label", { class: "switch" }, this.switch, "Live");
  }

  /** The view is on the screen again. */
  shown() {
    if (this.switch.checked) this.listen();
    if (this.scrolled) this.list.element.scrollTop = this.scrolled;
    this.list.schedule();
    if (this.rows.length) this.load(true);
  }

  hidden() {
    this.scrolled = this.list.element.scrollTop;
    this.stop();
  }

  async load(quietly = false) {
    if (quietly && this.list.element.scrollTop > 40) return;
    const round = ++this.round;
    try {
      const page = await api.get(`requests${query({ ...this.filters, limit: FIRST_PAGE })}`);
      if (round !== this.round) return;
      this.rows = page.requests;
      this.next = page.next;
      this.fresh = [];
      this.news.hidden = true;
      if (!quietly) this.list.element.scrollTop = 0;
      this.draw();
    } catch (error) {
      replace(this.body, problem(error));
    }
  }

  async more() {
    if (!this.next || this.loading) return;
    this.loading = true;
    const round = this.round;
    try {
      const page = await api.get(`requests${query({ ...this.filters, limit: PAGE, after: this.next })}`);
      if (round !== this.round) return;
      this.rows.push(...page.requests);
      this.next = page.next;
      this.draw(true);
    } catch (error) {
      this.said.textContent = `${count(this.rows.length)} shown; more could not be loaded: ${visible(error.message)}`;
    } finally {
      this.loading = false;
    }
  }

  draw(more = false) {
    const filtered = Object.values(this.filters).some(Boolean);
    this.said.textContent = `${count(this.rows.length)}${this.next ? "+" : ""} shown`;
    for (const name of new Set(this.rows.slice(0, 2000).flatMap((row) => Object.keys(row.rules)))) this.knowRule(name);
    if (!this.rows.length && !this.next) replace(this.body, filtered ? nothingFits() : nothingYet());
    else if (!this.list.element.isConnected || this.body.firstChild !== this.list.element) replace(this.body, this.list.element);
    if (more) this.list.grow(this.rows.length);
    else this.list.resize(this.rows.length);
  }

  knowRule(name) {
    if (![...this.rules.children].some((one) => one.value === name)) this.rules.append(h("option", { value: name }));
  }

  listen() {
    this.stop();
    this.source = new EventSource("dragoman/live");
    this.source.onmessage = (event) => this.take(JSON.parse(event.data));
  }

  stop() {
    this.source?.close();
    this.source = null;
  }

  take({ requests }) {
    const fitting = requests.filter((row) => this.fits(row));
    if (!fitting.length) return;
    this.fresh.push(...fitting);
    if (this.list.element.scrollTop < 40) return this.takeNews();
    this.news.hidden = false;
    this.news.textContent = `${count(this.fresh.length)} new`;
  }

  takeNews() {
    const known = new Set(this.rows.slice(0, 1000).map((row) => row.id));
    const added = this.fresh.filter((row) => !known.has(row.id)).reverse();
    this.rows = [...added, ...this.rows];
    this.fresh = [];
    this.news.hidden = true;
    if (this.list.chosen >= 0) this.list.chosen += added.length;
    this.list.element.scrollTop = 0;
    this.draw();
  }

  fits(row) {
    const { key_name: key, model, status, rule } = this.filters;
    const failed = row.status >= 400 || row.error_kind !== null;
    return (!key || row.key === key) && (!model || row.model === model) && (!rule || rule in row.rules) && (!status || failed === (status === "failed"));
  }

  openRow(index) {
    const row = this.rows[index];
    if (!row) return;
    this.list.choose(index);
    location.hash = `#/requests/${encodeURIComponent(row.id)}`;
  }

  onkey(event) {
    const steps = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 };
    if (event.key in steps) this.list.choose(this.list.chosen + steps[event.key]);
    else if (event.key === "Home") this.list.choose(0);
    else if (event.key === "End") this.list.choose(this.rows.length - 1);
    else if (event.key === "Enter" && this.list.chosen >= 0) this.openRow(this.list.chosen);
    else return false;
    return true;
  }
}

function makeCells(row) {
  const cells = {
    time: h("span", { class: "time" }), dialect: h("span", {}), key: h("em", {}), target: h("span", { class: "target" }), asked: h("b", {}), answered: h("i", {}),
    state: h("span", {}), status: h("span", {}), sends: h("em", { title: "sends" }), kind: h("em", {}), ttfb: h("span", { class: "number" }), tokens: h("span", { class: "number" }),
    cost: h("span", { class: "number" }), dot: h("span", {}), rule: h("span", {}), more: h("em", {}),
  };
  cells.target.append(cells.asked, cells.answered);
  cells.state.append(cells.status, cells.sends, cells.kind);
  row.append(cells.time, h("span", { class: "client" }, cells.dialect, cells.key), cells.target, cells.state, cells.ttfb, cells.tokens, cells.cost, h("span", { class: "change" }, cells.dot, cells.rule, cells.more));
  return cells;
}

function fillCells(cells, request) {
  const rules = Object.keys(request.rules);
  const failed = request.status >= 400 || request.error_kind;
  const write = (name, text) => { cells[name].textContent = visible(String(text ?? "")); };
  write("time", clock(request.time));
  write("dialect", dialectName(request.client_dialect));
  write("key", request.key);
  cells.target.title = visible(`${request.model} → ${request.target}`);
  write("asked", request.model || "–");
  write("answered", request.target && request.target !== request.model ? `→ ${request.target}` : "");
  cells.state.className = `status ${failed ? "bad" : "good"}`;
  write("status", request.status);
  write("sends", request.attempts > 1 ? `×${request.attempts}` : "");
  write("kind", request.error_kind);
  write("ttfb", duration(request.ttfb));
  write("tokens", `${request.estimated ? "≈" : ""}${short(request.input_tokens)} → ${short(request.output_tokens)}`);
  write("cost", money(request.cost));
  cells.dot.className = rules.length ? `dot loss-${request.loses}` : "";
  cells.dot.title = rules.length ? `loses ${request.loses}` : "";
  cells.rule.className = rules.length ? "" : "none";
  write("rule", rules[0] ?? (request.target ? "as it came" : "not sent"));
  write("more", rules.length > 1 ? `+${rules.length - 1}` : "");
}

const nothingFits = () => emptyState("No request fits these filters", h("p", {}, "Model and key are whole names. A rule is searched among the newest thousands of requests."));

function nothingYet() {
  const root = location.origin + location.pathname.replace(/\/$/, "");
  return emptyState("No requests yet",
    h("p", {}, "Point a client at this gateway, and its requests appear here with everything that was changed in them:"),
    h("pre", {}, `ANTHROPIC_BASE_URL=${root} claude\nOPENAI_BASE_URL=${root}/v1 your-program\nGOOGLE_GEMINI_BASE_URL=${root} gemini`),
    h("p", {}, "Or try a conversation in the ", h("a", { href: "#/playground" }, "playground"), "."));
}

// Client keys: limits, budgets and what is spent of them; create, change, revoke.

import { api, query } from "./api.js";
import { copyButton, emptyState, field, h, problem, replace } from "./dom.js";
import { money } from "./format.js";
import { table } from "./models.js";

const NUMBERS = [
  ["requests_per_minute", "Requests per minute"], ["tokens_per_minute", "Tokens per minute"], ["concurrent", "At the same time"],
  ["day", "Budget per day"], ["month", "Budget per month"], ["total", "Budget in total"],
];

export function open({ session }) {
  return new Keys(session);
}

class Keys {
  constructor(session) {
    this.session = session;
    this.body = h("div", {}, h("p", { class: "waiting" }, "Loading…"));
    this.made = h("div", {});
    this.form = h("div", {});
    this.create = h("button", { type: "button", class: "primary", hidden: true, onclick: () => this.edit(null) }, "New key");
    this.element = h("section", { class: "scrolls" }, h("div", { class: "bar" }, h("h1", {}, "Keys"), this.create), this.made, this.form, this.body);
    this.load();
  }

  async load() {
    try {
      const found = await api.get("keys");
      this.first = !found.keys.length;
      this.create.hidden = !found.edits;
      const why = found.edits ? null : h("p", { class: "note" }, found.why_not);
      replace(this.body, found.keys.length ? table(["Name", "May use", "Limits", "Budgets", "Expires", ""], found.keys.map((key) => this.row(key, found.edits))) : emptyState("No keys", h("p", {}, "Everybody who reaches this gateway may use it, and only this machine does. With a key, clients must send one."), why),
        found.keys.length ? why : null);
    } catch (error) {
      replace(this.body, problem(error));
    }
  }

  row(key, edits) {
    const limits = NUMBERS.slice(0, 3).filter(([name]) => key[name]).map(([name, label]) => h("div", {}, `${key[name]} ${label.toLowerCase()}`));
    const revoke = async () => {
      if (!confirm(`Revoke "${key.name}"? Its clients are refused from then on.`)) return;
      await this.done(api.delete(`keys${query({ name: key.name })}`));
    };
    return [[h("b", {}, key.name), key.admin ? h("em", { class: "tag" }, "admin") : null], key.allowed_models.join(", ") || "all models", limits.length ? limits : "none", key.budgets.map(budget), key.expires?.slice(0, 10) ?? "never",
      edits ? [h("button", { type: "button", onclick: () => this.edit(key) }, "Limits"), " ", h("button", { type: "button", class: "danger", onclick: revoke }, "Revoke")] : ""];
  }

  async done(asked) {
    try {
      const answer = await asked;
      replace(this.form);
      if (answer.key) await this.show(answer.key);
      await this.load();
    } catch (error) {
      replace(this.made, problem(error));
    }
  }

  async show(key) {
    replace(this.made, h("div", { class: "card" }, h("h2", {}, "The key is shown only now"), h("p", {}, h("code", { class: "secret" }, key), " ", copyButton("Copy", key)), h("p", { class: "note" }, "Only its hash is in the file.")));
    if (!this.session.keys) {
      await api.post("session", { key });
      this.session.keys = this.session.admin = true;
    }
  }

  edit(key) {
    const inputs = Object.fromEntries(NUMBERS.map(([name]) => [name, h("input", { type: "number", min: "0", step: "any", value: (key?.[name] ?? key?.budgets.find((one) => one.period === name)?.limit ?? "") })]));
    const name = h("input", { value: key?.name ?? "", required: true, disabled: Boolean(key), pattern: "[^\\s]+" });
    const models = h("input", { value: key?.allowed_models.join(", ") ?? "", placeholder: "all" });
    const expires = h("input", { type: "date", value: key?.expires?.slice(0, 10) ?? "" });
    const admin = h("input", { type: "checkbox" });
    admin.checked = key?.admin ?? this.first;
    const submit = (event) => {
      event.preventDefault();
      const numbers = Object.fromEntries(Object.entries(inputs).map(([id, input]) => [id, input.value === "" ? null : Number(input.value)]));
      const allowed = models.value.split(",").map((one) => one.trim()).filter(Boolean);
      const wanted = { name: name.value.trim(), admin: admin.checked, allowed_models: allowed, expires: expires.value || null, ...numbers };
      this.done(key ? api.put("keys", wanted) : api.post("keys", wanted));
    };
    replace(this.form, h("form", { class: "card grid", onsubmit: submit }, h("h2", {}, key ? `Limits of ${key.name}` : "New key"), field("Name", name), field("Models (names or globs)", models), NUMBERS.map(([id, label]) => field(label, inputs[id])), field("Expires", expires), h("label", { class: "switch" }, admin, "Admin: sees all requests and this console"),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, key ? "Save" : "Create"), h("button", { type: "button", onclick: () => replace(this.form) }, "Cancel"))));
    (key ? models : name).focus();
  }
}

function budget(one) {
  const share = one.limit ? Math.min(one.spent / one.limit, 1) : 1;
  return h("div", { class: "budget" }, h("span", {}, `${money(one.spent)} of ${money(one.limit)} `, one.period === "total" ? "in total" : `this ${one.period}`), h("span", { class: "track" }, h("span", { class: `bar-piece ${share > 0.9 ? "failed" : "answering"}`, style: { left: "0", width: `${share * 100}%` } })));
}

// The configuration file: checked as you type, completed from its schema, compared, saved in one step, taken back.

import { api } from "./api.js";
import { debounce, h, problem, replace } from "./dom.js";
import { describeFile, plural } from "./format.js";
import { YamlEditor } from "./yaml_editor.js";

export function open() {
  return new Config();
}

class Config {
  constructor() {
    this.said = h("span", { class: "said", role: "status" });
    this.body = h("div", { class: "config-body" }, h("p", { class: "waiting" }, "Loading…"));
    this.buttons = h("div", { class: "buttons" });
    this.element = h("section", { class: "config" }, h("div", { class: "bar" }, h("h1", {}, "Config"), this.said, this.buttons), this.body);
    this.load();
  }

  async load() {
    try {
      this.found = await api.get("config");
      this.draw();
    } catch (error) {
      replace(this.body, problem(error));
    }
  }

  draw() {
    const { found } = this;
    this.said.textContent = describeFile(found);
    if (!found.editable) {
      replace(this.body, h("p", { class: "note" }, found.why_not), h("pre", { class: "effective", tabindex: "0", role: "region", "aria-label": "Configuration in effect" }, found.text));
      return;
    }
    this.editor = new YamlEditor(found.text, found.schema, found.names, debounce(() => this.check(), 300));
    this.editor.problems(found.problems);
    this.side = h("div", { class: "config-side" });
    this.save = h("button", { type: "button", class: "primary", disabled: found.exists, onclick: () => this.write() }, found.exists ? "Save" : "Create");
    this.undo = h("button", { type: "button", hidden: !found.can_undo, onclick: () => this.takeBack() }, "Undo the last save");
    replace(this.buttons, this.undo, this.save);
    replace(this.body, this.editor.element, this.side);
    this.report({ valid: !found.problems.length, problems: found.problems, warnings: found.warnings, diff: [] });
  }

  async check() {
    try {
      const checked = await api.post("config/check", { text: this.editor.text });
      this.editor.problems(checked.problems);
      this.save.disabled = !checked.valid || (this.found.exists && this.editor.text === this.found.text);
      this.report(checked);
    } catch (error) {
      replace(this.side, problem(error));
    }
  }

  report({ valid, problems, warnings, diff }) {
    replace(this.side,
      h("h2", {}, valid ? h("span", { class: "good" }, "Valid") : h("span", { class: "bad" }, plural(problems.length, "problem"))),
      h("ul", { class: "problems" }, problems.map((one) => h("li", {}, h("button", { type: "button", onclick: () => this.editor.goto(one.line) }, one.line ? `line ${one.line}` : "file"), " ", one.message))),
      warnings.map((one) => h("p", { class: "note" }, one)),
      diff.length ? [h("h2", {}, "Changes"), h("pre", { class: "diff" }, diff.slice(2).map((line) => h("span", { class: line[0] === "+" ? "plus" : line[0] === "-" ? "minus" : line[0] === "@" ? "at" : "" }, line + "\n")))] : h("p", { class: "note" }, "Ctrl+Space completes. Values may be ${VARIABLE}s of the environment or of .env beside the file."));
  }

  async write() {
    await this.saved(api.put("config", { text: this.editor.text, digest: this.found.digest }), "Saved and loaded. Requests under way keep what they have.");
  }

  async takeBack() {
    await this.saved(api.post("config/undo", {}), "The text before the last save is back.");
  }

  async saved(asked, message) {
    try {
      await asked;
      await this.load();
      this.said.textContent = message;
    } catch (error) {
      this.side.prepend(problem(error));
    }
  }
}

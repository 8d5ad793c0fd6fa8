// A rule that changed something: what it repairs, where, why for this target, and what that loses.

import { h } from "./dom.js";
import { count } from "./format.js";

const SHOWN = 6;
/** What is said of a rule that loses nothing, by the kind of its changes. */
const HARMLESS = { repair: "loses nothing", synthetic: "made up", added: "added by Dragoman" };

/** `number` marks it in the bodies. `onchoose` shows it there. */
export function ruleCard(rule, number, changes, onchoose) {
  const own = changes.filter((one) => one.rule === rule.rule);
  const unkept = own.length > SHOWN && !own.at(-1).at ? own.pop() : null; // how many more the record has no place for
  const places = own.slice(0, SHOWN).map((one) => h("li", {}, h("code", {}, one.at || "/"), " ", one.did));
  if (own.length > SHOWN) places.push(h("li", { class: "note" }, `and ${count(own.length - SHOWN)} more`));
  if (unkept) places.push(h("li", { class: "note" }, unkept.did));
  return h("article", { class: "rule" },
    h("button", { type: "button", class: "rule-head", onclick: onchoose },
      h("span", { class: `badge loss-${rule.loses}` }, number), h("b", {}, rule.rule),
      rule.count > 1 ? h("em", {}, `×${count(rule.count)}`) : null,
      h("span", { class: `loss-text loss-${rule.loses}` }, rule.loses === "nothing" ? HARMLESS[rule.kind] : `loses ${rule.loses}`)),
    h("p", {}, rule.defect, rule.defect ? "." : ""),
    h("ul", { class: "places" }, places),
    rule.because.map(reason),
    rule.text ? h("details", {}, h("summary", {}, "About this rule"), h("pre", { class: "about" }, rule.text)) : null);
}

function reason(because) {
  const value = typeof because.value === "string" ? because.value : JSON.stringify(because.value);
  return h("div", { class: "reason" },
    because.says ? h("q", {}, because.says) : null,
    h("small", {}, because.says ? `the provider's words, seen ${because.seen}` : because.about, " ", h("code", { title: because.about }, `${because.fact}: ${value.length > 60 ? value.slice(0, 60) + "…" : value}`)));
}

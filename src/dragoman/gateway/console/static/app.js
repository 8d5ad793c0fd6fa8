// The frame: navigation, theme, keyboard, signing in. Each view is a module that is loaded when it is opened.

import { api, onSignedOut } from "./api.js";
import { h, problem, replace } from "./dom.js";

/** `key` is pressed after `g`. */
const VIEWS = [
  { id: "requests", key: "r", label: "Requests", module: "./requests.js" },
  { id: "playground", key: "p", label: "Playground", module: "./playground.js" },
  { id: "compatibility", key: "c", label: "Compatibility", module: "./compatibility.js" },
  { id: "models", key: "m", label: "Models & health", module: "./models.js" },
  { id: "spend", key: "s", label: "Spend", module: "./spend.js" },
  { id: "keys", key: "k", label: "Keys", module: "./keys.js" },
  { id: "config", key: "o", label: "Config", module: "./config.js" },
];
const HELP = [
  ["j / k", "next, previous"], ["Enter", "open"], ["Esc", "back, close"], ["/", "filter"],
  [`g then ${VIEWS.map((view) => view.key).join(" ")}`, "go to a view"], ["t", "light or dark"], ["?", "this list"],
];
const GO = Object.fromEntries(VIEWS.map((view) => [view.key, view.id]));

const main = h("main", { id: "main", tabindex: "-1" });
const state = { session: null, view: null, kept: new Map(), going: false, turn: 0 };

/** `#/requests/req_1?status=failed` as its parts. */
export function parseHash(hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  return { name: name || "requests", rest, search: new URLSearchParams(search ?? "") };
}

async function show() {
  const { name, rest, search } = parseHash(location.hash);
  if (!state.session) return undefined; // the page is still starting, and shows what is asked for then
  if (state.session.keys && !state.session.admin) return signIn();
  const found = VIEWS.find((view) => view.id === name) ?? VIEWS[0];
  for (const link of document.querySelectorAll("nav a")) {
    const isOpen = link.dataset.view === found.id;
    if (isOpen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (isOpen) link.scrollIntoView({ block: "nearest", inline: "nearest" }); // a phone shows three of them
  }
  document.title = `${found.label} · Dragoman`;
  const turn = ++state.turn;
  try {
    const module = await import(found.id === "requests" && rest[0] ? "./request_detail.js" : found.module);
    if (turn !== state.turn) return undefined; // another view was asked for meanwhile
    leave();
    state.view = state.kept.get(found.id) && !rest[0] ? state.kept.get(found.id) : module.open({ rest, search, session: state.session });
    if (state.view.keep) state.kept.set(found.id, state.view);
    replace(main, state.view.element);
    state.view.shown?.(search);
    main.scrollTop = 0;
  } catch (error) {
    replace(main, problem(error));
  }
  return undefined;
}

function leave() {
  if (state.view && !state.view.keep) state.view.close?.();
  else state.view?.hidden?.();
  state.view = null;
}

function frame() {
  const links = VIEWS.map(({ id, label }) => h("a", { href: `#/${id}`, data: { view: id } }, label));
  const tools = [
    h("button", { class: "quiet", type: "button", id: "theme", title: "Light or dark (t)", onclick: switchTheme }, "◐"),
    h("button", { class: "quiet", type: "button", title: "Keyboard (?)", onclick: help }, "?"),
    state.session.keys && state.session.admin ? h("button", { class: "quiet", type: "button", onclick: signOut }, "Sign out") : null,
  ];
  const brand = h("a", { class: "brand", href: "#/requests" }, h("img", { src: "dragoman/console/icon.svg", alt: "", width: "22", height: "22" }), "Dragoman");
  const side = h("header", { class: "side" }, brand, h("nav", { "aria-label": "Views" }, links), h("div", { class: "tools" }, tools, h("small", {}, state.session.version)));
  replace(document.getElementById("app"), h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"), side, main);
}

function theme() {
  const chosen = localStorage.getItem("dragoman-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
}

function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  localStorage.setItem("dragoman-theme", now === "dark" ? "light" : "dark");
  theme();
}

function help() {
  const dialog = h("dialog", { class: "help", onclose: () => dialog.remove() },
    h("h2", {}, "Keyboard"),
    h("dl", {}, HELP.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

function signIn(message = "") {
  leave();
  const key = h("input", { type: "password", name: "key", autocomplete: "current-password", placeholder: "dm-…", "aria-label": "Admin key" });
  const said = h("p", { class: "note" }, message || "This gateway has keys. The console is for admin keys: dragoman keys create NAME --admin");
  const form = h("form", { class: "sign-in", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await api.post("session", { key: key.value.trim() });
      await start();
    } catch (error) {
      said.textContent = error.message;
    }
  } }, h("h1", {}, "Sign in"), said, key, h("button", { class: "primary" }, "Sign in"));
  replace(main, form);
  key.focus();
}

async function signOut() {
  await api.delete("session");
  location.reload();
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = isTyping(event.target);
  if (typing && event.key === "Escape") event.target.blur();
  if (typing || document.querySelector("dialog[open]")) return;
  if (state.going && GO[event.key]) {
    location.hash = `#/${GO[event.key]}`;
    state.going = false;
    return;
  }
  state.going = event.key === "g";
  if (event.key === "?") help();
  else if (event.key === "t") switchTheme();
  else if (event.key === "/") {
    const filter = main.querySelector("[data-filter]");
    filter?.focus();
    if (filter) event.preventDefault();
  } else if (state.view?.onkey?.(event)) event.preventDefault();
}

async function start() {
  const setup = /^#setup=(.+)$/.exec(location.hash);
  if (setup) {
    history.replaceState(null, "", "#/config");
    try {
      await api.post("session", { token: decodeURIComponent(setup[1]) });
    } catch (error) {
      console.info(error.message);
    }
  }
  state.session = await api.get("session");
  frame();
  await show();
}

theme();
onSignedOut(() => signIn("Sign in again."));
addEventListener("hashchange", () => show());
addEventListener("keydown", onKey);
start().catch((error) => replace(document.getElementById("app"), problem(error)));

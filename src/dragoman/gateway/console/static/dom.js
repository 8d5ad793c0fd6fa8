// Elements are made by calls. Text is always set as text: nothing from outside is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** h("a", { href: "#", class: "x", onclick: f }, "text", child, [children]) */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Control characters and marks that turn the direction of writing would let a text pretend to be another one.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text in which every character can be seen. */
export function visible(text) {
  return text.replace(HIDDEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function debounce(work, wait) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait);
  };
}

/** A button that copies a text, and says so. */
export function copyButton(label, text) {
  const button = h("button", { class: "quiet", type: "button" }, label);
  button.addEventListener("click", async () => {
    const copied = typeof text === "function" ? text() : text;
    const done = await copy(copied);
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = label; }, 1200);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { value: text, class: "offscreen" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function field(label, input) {
  return h("label", { class: "field" }, h("span", {}, label), input);
}

export function select(values, chosen, onchange) {
  const options = values.map(([value, label]) => h("option", { value, selected: value === chosen }, label));
  return h("select", { onchange: (event) => onchange(event.target.value) }, options);
}

export function emptyState(title, ...text) {
  return h("div", { class: "empty" }, h("h2", {}, title), text);
}

export function problem(error) {
  return h("div", { class: "problem", role: "alert" }, error.message ?? String(error));
}

// A list of which only the rows in sight are in the page, however many there are.

import { h } from "./dom.js";

const BEYOND = 12; // rows above and below those in sight
const TALLEST = 12_000_000; // pixels that every browser can scroll

export class VirtualList {
  /** `render(index, row)` fills a row; `onend()` is called near the end; `onopen(index)` on Enter or a click. */
  constructor({ rowHeight, render, onend, onopen, label }) {
    this.rowHeight = rowHeight;
    this.render = render;
    this.onend = onend;
    this.onopen = onopen;
    this.length = 0;
    this.chosen = -1;
    this.rows = new Map();
    this.space = h("div", { class: "list-space" });
    this.element = h("div", { class: "list", tabindex: "0", role: "listbox", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.element.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.onopen(Number(row.dataset.index));
    });
    this.watch = new ResizeObserver(() => this.schedule());
    this.watch.observe(this.element);
  }

  /** There are more rows at the end now. */
  grow(length) {
    this.length = length;
    this.space.style.height = `${Math.min(length * this.rowHeight, TALLEST)}px`;
    if (this.chosen >= length) this.chosen = length - 1;
    this.schedule();
  }

  resize(length) {
    this.grow(length);
    this.refresh();
  }

  /** The rows are other ones now. */
  refresh() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.schedule();
  }

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const first = Math.max(Math.floor(this.element.scrollTop / this.rowHeight) - BEYOND, 0);
    const last = Math.min(first + Math.ceil(this.element.clientHeight / this.rowHeight) + 2 * BEYOND, this.length);
    for (const [index, row] of this.rows) {
      if (index >= first && index < last) continue;
      row.remove();
      this.rows.delete(index);
    }
    for (let index = first; index < last; index += 1) if (!this.rows.has(index)) this.add(index);
    if (last >= this.length) this.onend?.();
  }

  add(index) {
    const row = h("div", { class: "row", role: "option", id: `row-${index}`, data: { index } });
    row.style.transform = `translateY(${index * this.rowHeight}px)`;
    this.render(index, row);
    this.mark(row, index);
    this.rows.set(index, row);
    this.space.append(row);
  }

  mark(row, index) {
    row.classList.toggle("chosen", index === this.chosen);
    row.setAttribute("aria-selected", String(index === this.chosen));
  }

  /** Go to a row, and bring it into sight. */
  choose(index) {
    if (!this.length) return;
    this.chosen = Math.min(Math.max(index, 0), this.length - 1);
    const top = this.chosen * this.rowHeight;
    const view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + this.rowHeight > view.scrollTop + view.clientHeight) view.scrollTop = top + this.rowHeight - view.clientHeight;
    for (const [at, row] of this.rows) this.mark(row, at);
    view.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    this.schedule();
  }

  close() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
  }
}

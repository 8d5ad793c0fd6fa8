// A list of which only the rows in sight are in the page, however many there are.

import { h } from "./dom.js";

const BEYOND = 8; // rows above and below those in sight
const AHEAD = 100; // rows before the end at which more are fetched
const TALLEST = 12_000_000; // pixels that every browser can scroll

export class VirtualList {
  /**
   * `make(row)` puts cells into a new row and returns them; `render(index, cells)` fills them. Rows that leave the sight
   * are filled again, since making elements costs more than anything else. `onend()` is called near the end,
   * `onopen(index)` on Enter or a click.
   */
  constructor({ rowHeight, make, render, onend, onopen, label }) {
    this.rowHeight = rowHeight;
    this.make = make;
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
    this.stale = true;
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
    const spare = [];
    for (const [index, row] of this.rows) {
      if (!this.stale && index >= first && index < last) continue;
      spare.push(row);
      this.rows.delete(index);
    }
    this.stale = false;
    for (let index = first; index < last; index += 1) if (!this.rows.has(index)) this.place(spare.shift() ?? this.add(), index);
    for (const row of spare) row.element.remove();
    this.sort(first, last);
    if (last >= this.length - AHEAD) this.onend?.();
  }

  /** Rows stand in the page as they are read. */
  sort(first, last) {
    let next = this.space.firstChild;
    for (let index = first; index < last; index += 1) {
      const { element } = this.rows.get(index);
      if (element === next) next = next.nextSibling;
      else this.space.insertBefore(element, next);
    }
  }

  add() {
    const element = h("div", { class: "row", role: "option" });
    this.space.append(element);
    return { element, cells: this.make(element) };
  }

  place(row, index) {
    const { element } = row;
    element.id = `row-${index}`;
    element.dataset.index = index;
    element.style.transform = `translateY(${index * this.rowHeight}px)`;
    element.setAttribute("aria-posinset", index + 1);
    element.setAttribute("aria-setsize", this.length);
    this.render(index, row.cells);
    this.mark(row, index);
    this.rows.set(index, row);
  }

  mark({ element }, index) {
    element.classList.toggle("chosen", index === this.chosen);
    element.setAttribute("aria-selected", String(index === this.chosen));
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

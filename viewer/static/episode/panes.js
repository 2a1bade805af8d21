// Story, side and map: their borders move, each can be closed or fill the screen, and the browser remembers it.

import { clamp, h, icon } from "../dom.js";
import { keep, kept } from "../kept.js";

const NAMES = { story: "Story", side: "Side", charts: "Map" };
const LEAST = 12; // percent that a pane keeps
const STEP = 3; // percent that an arrow moves a border
const MIDDLE = matchMedia("(max-width: 72rem)"); // below, the map lies over the side pane

export class Panes {
  #kept = { story: 45, side: 40, closed: [], ...kept("panes", {}) };

  /** `filled` is called when a pane begins or ceases to fill the screen. */
  constructor(body, { story, side, charts }, filled) {
    Object.assign(this, { body, filled });
    this.rest = h("div", { class: "rest" }, side, this.#border("side", "Width of the side pane"), charts);
    this.node = h("div", { class: "panes" }, story, this.#border("story", "Width of the story"), this.rest);
    this.shown = h("div", { class: "shown", role: "group", "aria-label": "Panes" },
      Object.entries(NAMES).map(([name, label]) => h("button", { type: "button", "data-pane": name, onclick: () => this.toggle(name) }, label)));
    this.turned = () => this.#lay();
    MIDDLE.addEventListener("change", this.turned);
    this.#lay();
  }

  close() {
    MIDDLE.removeEventListener("change", this.turned);
    delete this.body.dataset.alone;
    delete this.body.dataset.closed;
  }

  /** Which pane fills the screen, if one does. */
  get alone() {
    return this.body.dataset.alone ?? null;
  }

  /** A button by which `name()` fills the screen, or no longer. */
  filler(name, label) {
    return h("button", { type: "button", class: "plain fill", "aria-label": label, title: label, "aria-pressed": "false", onclick: () => this.fill(this.alone ? null : name()) }, icon("screen"));
  }

  fill(name) {
    if (name === this.alone) return;
    if (name) this.body.dataset.alone = name;
    else delete this.body.dataset.alone;
    this.#lay();
    this.filled();
  }

  /** Close a pane, or open it; the last one stays. */
  toggle(name, open = this.#kept.closed.includes(name)) {
    this.#kept.closed = this.#kept.closed.filter((it) => it !== name).concat(open ? [] : name);
    this.#lay();
    keep("panes", this.#kept);
  }

  #border(name, label) {
    const node = h("div", { class: "border", role: "separator", tabindex: "0", "data-of": name, "aria-label": label, "aria-valuemin": LEAST, "aria-valuemax": 100 - LEAST, title: "Drag, or use the arrow keys",
      onpointerdown: (event) => { event.preventDefault(); node.focus(); node.setPointerCapture(event.pointerId); },
      onpointermove: (event) => node.hasPointerCapture(event.pointerId) && this.#move(name, share(event, node.parentNode)),
      onkeydown: (event) => {
        const by = { ArrowLeft: -STEP, ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation(); // elsewhere these keys lead through the replay
        this.#move(name, this.#kept[name] + by);
      } });
    return node;
  }

  #move(name, percent) {
    this.#kept[name] = clamp(Math.round(percent), LEAST, 100 - LEAST);
    this.#lay();
    keep("panes", this.#kept);
  }

  #lay() {
    const { alone } = this;
    const names = Object.keys(NAMES);
    const closed = alone ? names.filter((it) => it !== alone) : this.#kept.closed;
    this.body.dataset.closed = closed.join(" ");
    for (const border of this.node.querySelectorAll(".border")) {
      const name = border.dataset.of;
      this.node.style.setProperty(`--${name}`, this.#kept[name]); // of a style that the policy allows
      border.setAttribute("aria-valuenow", this.#kept[name]);
      border.setAttribute("aria-orientation", name === "side" && MIDDLE.matches ? "horizontal" : "vertical");
    }
    for (const button of this.shown.children) {
      const isOpen = !this.#kept.closed.includes(button.dataset.pane);
      button.setAttribute("aria-pressed", String(isOpen));
      button.disabled = isOpen && this.#kept.closed.length === names.length - 1;
    }
    for (const button of this.body.querySelectorAll(".fill")) button.setAttribute("aria-pressed", String(Boolean(alone)));
  }
}

/** Where a pointer is in the box of two panes, in percent of it from where the first one begins. */
function share({ clientX, clientY }, box) {
  const { left, width, bottom, height } = box.getBoundingClientRect();
  const across = getComputedStyle(box).flexDirection === "row";
  return across ? (100 * (clientX - left)) / width : (100 * (bottom - clientY)) / height;
}

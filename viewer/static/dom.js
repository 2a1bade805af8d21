// Building the page: every text ends in a text node or an attribute, made harmless on the way.

import { cutPoint, harmless, slices } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element; functions become listeners, null and false are left out. */
export function h(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : harmless(String(value)));
  }
  put(node, children);
  return node;
}

/** Append what there is: nodes, texts, lists of them; null and false are left out. */
export function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : harmless(String(child)));
  }
}

/** Replace everything in `node`. */
export function fill(node, ...children) {
  node.replaceChildren();
  put(node, children);
}

/** Refill `node`; what had the focus and is there again, by its data-focus, keeps it. */
export function keepingFocus(node, refill) {
  const focused = document.activeElement;
  const name = node.contains(focused) && focused.dataset.focus;
  refill();
  if (name) node.querySelector(`[data-focus="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}

export function icon(name) {
  const drawing = svg("svg", { class: "icon", "aria-hidden": "true" });
  drawing.append(svg("use", { href: `#i-${name}` }));
  return drawing;
}

export function svg(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}

/** Text whose direction must not spill into what stands beside it. */
export const bdi = (text, attributes = {}) => h("bdi", attributes, text);

/** A name, without its middle where it is long; the title has all of it. */
export const shortName = (text, most = 36) => (text.length <= most ? bdi(text) : bdi(`${text.slice(0, most / 2)}…${text.slice(1 - most / 2)}`, { title: text }));

/** A text in full, or its beginning with a button for the rest. */
export function foldable(text, limit = 3000) {
  if (text.length <= limit) return bdi(text);
  const part = bdi(`${text.slice(0, cutPoint(text, limit))} …`);
  const more = h("button", { type: "button", class: "more" }, `Show all ${text.length.toLocaleString("en")} characters`);
  const both = h("span", {}, part, " ", more);
  more.addEventListener("click", () => both.replaceWith(wholeText(text)));
  return both;
}

/** A text of any length in a box of its own; slices out of sight are not laid out. */
export function wholeText(text) {
  const parts = [...slices(text)].map((slice) => h("span", { class: "slice", dir: "auto" }, slice));
  return h("pre", { class: "whole", tabindex: "0", role: "region", "aria-label": "Whole text" }, parts);
}

/** A button that copies what `text` gives. */
export function copyButton(label, text, key = null) {
  const button = h("button", { type: "button", class: "more", "data-focus": key }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      announce("Copied.");
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow copying";
    }
    setTimeout(() => (button.textContent = label), 2000);
  });
  return button;
}

/** Highlight `words` in the texts below `node`, and open what hides them; returns where they stand. */
export function highlight(name, node, words) {
  globalThis.CSS.highlights?.delete(name);
  const ranges = [];
  if (!words || !node) return ranges;
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let part = walker.nextNode(); part; part = walker.nextNode()) {
    const text = part.data.toLowerCase();
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = document.createRange();
      range.setStart(part, Math.min(at, part.length));
      range.setEnd(part, Math.min(at + words.length, part.length));
      ranges.push(range);
      for (let hiding = part.parentElement.closest("details:not([open])"); hiding; hiding = hiding.parentElement.closest("details:not([open])")) hiding.open = true;
    }
  }
  if (ranges.length) globalThis.CSS.highlights?.set(name, new Highlight(...ranges));
  return ranges;
}

/** Tell people who use a screen reader. */
export function announce(text) {
  document.getElementById("announcer").textContent = harmless(text);
}

/** A colour of the style sheet, as canvases need it. */
export function colour(name) {
  const probe = document.getElementById("announcer");
  probe.style.color = `var(--${name})`;
  const value = getComputedStyle(probe).color;
  probe.style.color = "";
  return value;
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

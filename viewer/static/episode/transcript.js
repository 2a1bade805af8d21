// The transcript: only the chunks near what is read are in the page; the others keep their height.

import { ofEpisode } from "../address.js";
import { bdi, fill, h } from "../dom.js";
import { MODE } from "../server.js";
import { newsAt, openingArticle, turnArticle } from "./turn_view.js";

const AHEAD = 1200; // pixels around what is visible
const GUESS = 230; // pixels of a turn not measured yet
const GUESS_SHORT = 34; // where each turn has one line
const STOPS = "a, button, summary, [tabindex]";
const NEAR_END = 60; // pixels
const STOPPED = ["llm_unavailable", "engine_failed", "engine_refused"];

export class Transcript {
  #blocks = [];
  #top = 0;
  #settled = 0; // where the page itself scrolled to
  #pulled = 0; // pixels that the wheel asked for, towards the beginning
  #reveals = 0;
  #shown = null;
  #wanted = null; // the block that is or will be scrolled to

  /** `on` has the functions back (the reader scrolled back), end (to the end), loaded (the shown turn is there, after it had failed to load), rewrapped, reframed (there is more or less room). */
  constructor(episode, on) {
    this.episode = episode;
    this.on = on;
    this.node = h("div", { class: "transcript", role: "feed", "data-first": true, tabindex: "-1", "aria-label": "Transcript", onfocus: () => this.#current?.focus({ preventScroll: true }), onscroll: () => this.heed(), onwheel: (event) => this.#wheeled(event) });
    this.watcher = new IntersectionObserver((entries) => this.#seen(entries), { root: this.node, rootMargin: `${AHEAD}px 0px` });
    this.sizes = new ResizeObserver(([{ contentRect }]) => this.#measured(contentRect));
    this.sizes.observe(this.node);
    document.fonts.addEventListener("loadingdone", this.#lettered);
    this.grow();
    this.#sayWhy();
  }

  /** Above everything, what stopped an episode that did not come to its end, and what to do. */
  async #sayWhy() {
    const failure = this.episode.info.failures.at(-1);
    if (!failure || !STOPPED.includes(this.episode.summary.end_reason)) return this.why?.remove();
    const remedy = h("p", {});
    this.why = h("div", { class: "stopped-by" },
      h("p", {}, h("b", {}, "The episode stopped. "), h("a", { href: ofEpisode(this.episode.id, failure.after) }, failure.what), ": ", bdi(failure.why)), remedy);
    this.node.querySelector(".stopped-by")?.remove();
    this.node.prepend(this.why);
    const [goOn] = MODE === "live" ? await this.episode.nextSteps().catch(() => []) : [];
    if (goOn) fill(remedy, "Once that is fixed, continue with: ", h("code", {}, goOn.command));
  }

  close() {
    this.watcher.disconnect();
    this.sizes.disconnect();
    document.fonts.removeEventListener("loadingdone", this.#lettered);
  }

  /** Letters of another font, some of which come late, move everything; a reader who has moved on stays there. */
  #lettered = () => {
    this.heed();
    if (this.#shown !== null && this.#top === this.#settled) this.on.rewrapped();
  };

  /** Make room for turns that were added, and show them where their chunk is in the page. */
  grow() {
    const count = this.episode.chunkOf(this.episode.last) + 1;
    while (this.#blocks.length < count) this.#addBlock(this.#blocks.length);
    const newest = this.#blocks.at(-1);
    if (newest.shown) this.#fill(newest);
    else this.#hold(newest);
  }

  /** Draw turns again whose reflections have come, and say why there are no more. */
  refresh() {
    this.#sayWhy();
    for (const block of this.#blocks) if (block.shown) this.#fill(block);
  }

  /** Mark `turn` as the one shown and scroll to it: its top, or the end of the page. What failed to load is tried again if `anew`. */
  async reveal(turn, edge = "start", anew = true) {
    const ticket = ++this.#reveals;
    const block = (this.#wanted = this.#blocks[this.episode.chunkOf(turn)]);
    if (anew || !block.offered) await this.#show(block).catch(() => this.#offerAgain(block));
    if (ticket !== this.#reveals) return this.#leave();
    this.#shown = turn;
    this.#mark();
    const row = block.rows.get(turn);
    if (!row) return this.#scrollTo(block.node.offsetTop);
    const head = turn ? row.offsetTop : 0; // with what stands above the opening
    const end = this.node.scrollHeight - this.node.clientHeight;
    const top = edge === "end" && row.offsetHeight < this.node.clientHeight ? end : head - 12;
    this.#scrollTo(Math.min(top, end));
    this.#leave();
  }

  /** Take out blocks that are far away by now; the watcher tells nothing of those passed in a leap. */
  #leave() {
    const { scrollTop, clientHeight } = this.node;
    const far = ({ node }) => {
      const top = node.offsetTop;
      return top > scrollTop + clientHeight + AHEAD || top + node.offsetHeight < scrollTop - AHEAD;
    };
    for (const block of this.#blocks.filter((it) => it.shown && it !== this.#wanted && far(it))) this.#hide(block);
  }

  get #toEnd() {
    return this.node.scrollHeight - this.node.clientHeight - this.node.scrollTop;
  }

  #scrollTo(top) {
    this.node.scrollTop = top;
    this.#settled = this.#top = this.node.scrollTop;
    this.#pulled = 0;
  }

  /**
   * Tell which way the reader scrolled, which the browser itself tells only before it draws.
   * By itself, it only goes to the end of what has become shorter.
   */
  heed() {
    const moved = this.node.scrollTop - this.#top;
    this.#top = this.node.scrollTop;
    if (moved < -4 && this.#toEnd > NEAR_END) this.on.back();
    else if (moved > 4 && this.#toEnd < 4) this.on.end();
  }

  /** A reader who begins to scroll back is not taken to a turn that comes before the page has moved. */
  #wheeled({ deltaY, ctrlKey, target }) {
    if (ctrlKey) return; // which makes everything larger or smaller
    if (deltaY > 0 || target.closest("pre") || !this.node.scrollTop) return void (this.#pulled = 0);
    this.#pulled -= deltaY;
    if (this.#pulled > NEAR_END) this.on.back();
  }

  /** Lines that break elsewhere move everything; heights noted before are void. */
  #measured({ width, height }) {
    const before = this.width;
    const reframed = this.height !== undefined && this.height !== height;
    this.width = width;
    this.height = height;
    if (before === width && reframed && this.#shown !== null) this.on.reframed();
    if (before === undefined || before === width || !width) return;
    for (const block of this.#blocks) block.height = undefined;
    if (this.#shown !== null) this.on.rewrapped();
  }

  /** Show one line of each turn but the one that is shown, or all of each; whether they are short now. */
  shorten() {
    const isShort = this.node.toggleAttribute("data-short");
    for (const block of this.#blocks) {
      block.height = undefined;
      if (!block.shown) this.#hold(block);
    }
    if (this.#shown !== null) this.on.rewrapped();
    return isShort;
  }

  #addBlock(number) {
    const block = { number, node: h("div", { class: "block", "data-block": number }), rows: new Map(), shown: false };
    this.#blocks.push(block);
    this.node.append(block.node);
    this.#hold(block);
    this.watcher.observe(block.node);
  }

  /** Keep the room of a block that is not in the page. */
  #hold(block) {
    const first = block.number * this.episode.chunk;
    const turns = Math.max(1, Math.min(this.episode.last - first, this.episode.chunk));
    block.node.style.minHeight = `${block.height ?? turns * (this.node.hasAttribute("data-short") ? GUESS_SHORT : GUESS)}px`;
  }

  #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      const block = this.#blocks[Number(target.dataset.block)];
      if (!isIntersecting) {
        block.offered = false; // a reader who comes back need not press the button
        if (block.shown) this.#hide(block);
      } else if (!block.offered) this.#show(block).then(() => this.#leave(), () => this.#offerAgain(block));
    }
  }

  async #show(block) {
    if (block.shown && this.episode.has(block.number)) return;
    this.node.setAttribute("aria-busy", "true");
    try {
      await this.episode.load(block.number);
    } finally {
      this.node.removeAttribute("aria-busy");
    }
    if (block.shown) return;
    block.shown = true;
    this.#keepPlace(block, () => {
      block.node.style.minHeight = "";
      this.#fill(block);
    });
    const recovered = block.failed && block === this.#wanted;
    block.failed = block.offered = false;
    if (recovered) this.on.loaded();
  }

  #hide(block) {
    this.#keepPlace(block, () => {
      block.height = block.node.offsetHeight;
      block.shown = false;
      block.rows.clear();
      fill(block.node);
      this.#hold(block);
    });
  }

  #offerAgain(block) {
    block.failed = block.offered = true;
    fill(block.node, h("p", { class: "notice" }, "These turns could not be loaded. ",
      h("button", { type: "button", onclick: () => this.#tryAgain(block) }, "Try again")));
  }

  async #tryAgain(block) {
    await this.#show(block).catch(() => {});
    if (block.shown && block === this.#wanted) this.reveal(this.#shown);
  }

  /** Change a block's height without moving what is read beneath it; who is at the end stays there. */
  #keepPlace(block, change) {
    const { offsetTop, offsetHeight } = block.node;
    const above = offsetTop + offsetHeight <= this.node.scrollTop + 80;
    const atEnd = this.node.scrollTop > 0 && this.#toEnd < 4;
    change();
    const grown = block.node.offsetHeight - offsetHeight;
    if (grown && atEnd) this.#scrollTo(this.node.scrollHeight);
    else if (grown && above) this.#scrollTo(this.node.scrollTop + grown);
  }

  /** Bring a block's rows up to date; those that say what they said stay as they are. */
  #fill(block) {
    if (!block.rows.size) fill(block.node);
    const turns = this.episode.turnsIn(block.number);
    for (const turn of block.number ? turns : [null, ...turns]) {
      const number = turn?.turn ?? 0;
      const old = block.rows.get(number);
      const news = newsAt(this.episode, number);
      if (old?.dataset.news === news) continue;
      const fresh = turn ? turnArticle(this.episode, turn) : openingArticle(this.episode);
      fresh.dataset.news = news;
      if (old) old.replaceWith(fresh);
      this.#add(block, number, fresh, !old);
    }
    this.#mark();
  }

  #add(block, turn, article, append = true) {
    for (const stop of article.querySelectorAll(STOPS)) stop.tabIndex = -1; // until it is the one that is shown
    block.rows.set(turn, article);
    if (append) block.node.append(article);
  }

  get #current() {
    return this.node.querySelector(`[data-turn="${this.#shown}"]`);
  }

  /** The feed is one stop for who goes by Tab: the turn that is shown, and what is in it. */
  #mark() {
    const current = this.#current;
    const within = document.activeElement.closest?.(".turn");
    for (const row of this.node.querySelectorAll(".turn")) {
      const isShown = row === current;
      if (isShown === (row.tabIndex === 0)) continue;
      for (const stop of [row, ...row.querySelectorAll(STOPS)]) stop.tabIndex = isShown ? 0 : -1;
      if (isShown) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    if (within && current && within !== current && this.node.contains(within)) current.focus({ preventScroll: true });
  }
}

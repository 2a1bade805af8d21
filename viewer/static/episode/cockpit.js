// What the game is doing, and the buttons of whoever started it; after its end, what can be done next.

import { bdi, copyButton, fill, h } from "../dom.js";
import { clock, ending } from "../format.js";
import { hasToken } from "../token.js";

const DOING = { thinking: "Thinking …", waiting: "Waiting before the model is asked again …", "": "" };
const AT_END = 40; // pixels from the end of a thought within which it is followed

export class Cockpit {
  #now = { doing: "" };
  #since = 0;
  #allowed = false; // as the server has said
  #asked = null;

  constructor(episode) {
    this.episode = episode;
    this.place = h("span", { class: "of" });
    this.what = h("span", {});
    this.timer = h("span", { class: "timer", role: "timer" });
    this.thought = h("div", { class: "thought thinking", tabindex: "0", role: "region", "aria-label": "What the model thinks", hidden: true });
    this.pausing = h("button", { type: "button", onclick: () => this.pause() }, "Pause");
    this.stepping = h("button", { type: "button", onclick: () => this.step() }, "Play one turn");
    this.line = h("input", { type: "text", maxlength: 300, autocomplete: "off", "aria-label": "Hint to the player", placeholder: "A hint for the player" });
    this.hint = h("form", { class: "hint", onsubmit: (event) => this.#say(event) }, this.line, h("button", {}, "Send hint"));
    this.reply = h("p", { class: "fine", role: "status" });
    this.buttons = h("div", { class: "acts", role: "group", "aria-label": "The game", hidden: true }, this.pausing, this.stepping, this.hint);
    this.playing = h("div", { hidden: true }, h("p", { class: "doing" }, this.place, this.what, this.timer), this.thought, this.buttons, this.reply);
    this.next = h("details", { class: "next", hidden: true, ontoggle: () => this.#showNext() }, h("summary", {}));
    this.node = h("section", { class: "cockpit", "aria-label": "The game" }, this.playing, this.next);
    this.ticking = setInterval(() => this.#tick(), 1000);
  }

  close() {
    clearInterval(this.ticking);
  }

  /** Show what the episode is doing now. */
  show(now) {
    const max = this.episode.info.max_turns;
    this.#now = now;
    this.#since = performance.now() - 1000 * now.seconds;
    this.playing.hidden = false;
    this.place.textContent = now.turn ? `${this.isPaused ? "Before turn" : "Turn"} ${now.turn}${max ? ` of ${max}` : ""}` : "";
    this.what.textContent = [this.#what(), now.held && now.doing !== "paused" && "pauses after this turn"].filter(Boolean).join(" · ");
    this.#tick();
    this.#showThought(now.doing === "thinking" ? now.thought ?? "" : "");
    this.#showButtons();
  }

  #what() {
    const { doing, tool } = this.#now;
    if (doing === "tool") return `${tool} …`;
    return doing === "paused" ? "Paused" : DOING[doing];
  }

  get isPaused() {
    return this.#now.doing === "paused";
  }

  /** Seconds go on by themselves: nothing is told each second, neither by the server nor aloud. */
  #tick() {
    const counts = this.#now.doing && !this.isPaused;
    this.timer.textContent = counts ? clock((performance.now() - this.#since) / 1000) : "";
  }

  #showThought(text) {
    const { scrollTop, scrollHeight, clientHeight } = this.thought;
    const follows = scrollHeight - clientHeight - scrollTop < AT_END;
    if (this.isPaused) this.thought.hidden = true;
    else if (text) this.thought.hidden = false; // and stays, so that the story does not jump each turn
    if (this.thought.dataset.said !== text) fill(this.thought, bdi(text));
    this.thought.dataset.said = text;
    if (follows) this.thought.scrollTop = this.thought.scrollHeight;
  }

  get #mayPress() {
    return Boolean(this.#now.controlled) && this.#allowed;
  }

  /** The token may be that of an earlier game. */
  #askOnce() {
    if (this.#asked || !this.#now.controlled || !hasToken()) return;
    this.#asked = this.episode.press("check").then(() => {
      this.#allowed = true;
      this.#showButtons();
    }, () => {});
  }

  #showButtons() {
    const { held, hears, waiting } = this.#now;
    this.#askOnce();
    this.buttons.hidden = !this.#mayPress;
    this.pausing.textContent = held ? "Resume" : "Pause";
    this.stepping.setAttribute("aria-disabled", String(!this.isPaused));
    this.hint.hidden = !hears;
    if (waiting) this.reply.textContent = `The player reads ${waiting === 1 ? "it" : "them"} ${this.isPaused ? "before the next turn" : "when this turn is over"}.`;
  }

  /** Pause after this turn, or go on. Returns whether that may be pressed here. */
  pause() {
    if (this.#mayPress) this.#press(this.#now.held ? "resume" : "pause");
    return this.#mayPress;
  }

  /** Play one turn and pause again. */
  step() {
    if (this.#mayPress && this.isPaused) this.#press("step");
    return this.#mayPress;
  }

  async #say(event) {
    event.preventDefault();
    if (await this.#press("hint", this.line.value)) {
      this.line.value = "";
      this.reply.textContent = "Recorded as a hint: the player reads it in its next prompt.";
    }
  }

  async #press(act, text) {
    try {
      await this.episode.press(act, text);
      this.reply.textContent = "";
      return true;
    } catch (error) {
      this.reply.textContent = error.message;
      return false;
    }
  }

  /** Say what can be done with an episode that nobody plays; who has watched its end is told right away. */
  settle(watched = false) {
    const { end_reason: ended, running } = this.episode.summary;
    this.next.hidden = !ended && running;
    if (this.next.hidden) return;
    this.playing.hidden = true;
    if (watched && innerWidth > 768) this.next.open = true; // on a phone, the story keeps its room
    this.next.querySelector("summary").textContent = `${ending(this.episode.summary)}. Next steps`;
  }

  async #showNext() {
    if (!this.next.open || this.steps) return;
    this.steps = h("dl", {});
    this.next.append(this.steps);
    const steps = await this.episode.nextSteps().catch(() => []);
    fill(this.steps, steps.map(({ purpose, command }) => {
      const copy = copyButton("Copy", () => command);
      copy.setAttribute("aria-label", `Copy: ${purpose}`);
      return h("div", {}, h("dt", {}, purpose), h("dd", {}, h("code", {}, bdi(command)), " ", copy));
    }));
    if (!steps.length) fill(this.steps, h("p", { class: "fine" }, "This is no longer available."));
  }
}

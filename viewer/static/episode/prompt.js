// What a model was sent in the turn shown, and what came back; with what is new since the call before.

import { bdi, copyButton, fill, h, keepingFocus } from "../dom.js";
import * as format from "../format.js";

export class Prompt {
  #turn = 0;
  #asked = 0; // counts requests for data: only the latest is shown
  #newOnly = false;
  #open = new Map();

  #against = null; // the turn it is compared with, or null for the one before

  /** `turn` makes it a page of its own, or puts it beside the story again. */
  constructor(episode, turn) {
    Object.assign(this, { episode, turn });
    this.visible = false;
    this.node = h("section", { class: "request", "aria-label": "Prompt", tabindex: "0" });
  }

  /** Show the calls of `turn`, as soon as anybody looks. */
  async show(turn = this.#turn) {
    this.#turn = turn;
    if (!this.visible) return;
    const ticket = ++this.#asked;
    if (!turn) return this.#say("No model is asked before the first turn.");
    try {
      const [calls, before] = await Promise.all([this.episode.modelCalls(turn), (this.#against ?? turn - 1) > 0 ? this.episode.modelCalls(this.#against ?? turn - 1) : []]);
      if (ticket === this.#asked) this.#draw(calls, before);
    } catch (error) {
      if (ticket !== this.#asked) return;
      this.#say(error.status === 404 ? ["This copy of the episode has no prompts: export it with ", h("code", { class: "unbroken" }, "--prompts"), "."] : `It could not be loaded. ${error.message}`);
    }
  }

  #say(text) {
    fill(this.node, h("p", { class: "fine" }, text));
  }

  #draw(calls, earlier) {
    if (!calls.length) return this.#say(`Turn ${this.#turn}: no model was asked, or the log does not say.`);
    const before = new Map();
    for (const call of earlier) before.set(call.role, call);
    const { scrollTop } = this.node;
    keepingFocus(this.node, () => fill(this.node, h("h2", { class: "unseen" }, "Prompt"), this.#choice(), calls.map((call, i) => {
      const shown = this.#call(call, before.get(call.role), i);
      before.set(call.role, call);
      return shown;
    })));
    this.node.scrollTop = scrollTop;
  }

  #choice() {
    const box = h("input", { type: "checkbox", "data-focus": "new", checked: this.#newOnly, onchange: () => { this.#newOnly = box.checked; this.show(); } });
    const against = h("input", { type: "text", inputmode: "numeric", "data-focus": "against", value: this.#against ?? "", placeholder: String(Math.max(0, this.#turn - 1)), onchange: () => {
      this.#against = /^[1-9]\d*$/.test(against.value) ? Math.min(Number(against.value), this.episode.last) : null;
      this.show();
    } });
    const full = "full" in (this.node.closest("main")?.dataset ?? {});
    return h("div", { class: "tools fine" }, h("label", {}, box, " Only lines that are new since the previous call"), h("label", {}, "Compared with turn ", against),
      h("button", { type: "button", class: "more", "data-focus": "page", onclick: this.turn }, full ? "Beside the story" : "On a page of its own"));
  }

  #call(call, before, i) {
    if (call.unreadable) return h("section", { class: "call" }, h("h3", {}, bdi(call.role)), h("p", { class: "failure" }, call.unreadable));
    const known = new Set((before?.messages ?? []).flatMap((it) => it.text.split("\n")));
    return h("section", { class: "call", "aria-label": `${call.role}, call ${i + 1}` },
      h("h3", {}, bdi(call.role), h("span", { class: "fine" }, " ", bdi(call.model ?? ""))),
      h("dl", {}, facts(call).map(([name, value]) => [h("dt", {}, name), h("dd", {}, bdi(String(value)))])),
      call.tries.map((it) => h("p", { class: "failure" }, bdi(`Attempt failed after ${format.duration(it.seconds)}: ${it.error}`))),
      call.error && h("p", { class: "failure" }, bdi(call.error)),
      h("h4", {}, "Request"), copyButton("Copy the messages", () => JSON.stringify(call.messages, null, 2), `sent ${i}`),
      this.#messages(call.messages, before && known, i),
      call.reply && [h("h4", {}, "Reply"), copyButton("Copy the answer", () => call.reply.text, `reply ${i}`), reply(call.reply)],
      call.schemas.length > 0 && this.#fold(`${i} tools`, false, h("b", {}, format.plural(call.schemas.length, "tool")), call.schemas.map((it) => h("pre", { tabindex: "0" }, JSON.stringify(it, null, 2)))),
      this.#asJson(call, `${i} json`));
  }

  /** Everything that is known of a call, written out only when somebody looks. */
  #asJson(call, key) {
    const text = h("pre", { tabindex: "0" });
    const details = this.#fold(key, false, h("b", {}, "As JSON"), text);
    details.addEventListener("toggle", () => fill(text, JSON.stringify({ ...call, tools: undefined }, null, 2)));
    return details;
  }

  /** Messages one by one; those that the call before had stand together. */
  #messages(messages, known, i) {
    const shown = [];
    let same = [];
    const flush = () => {
      if (same.length && !this.#newOnly) shown.push(this.#fold(`${i} same ${shown.length}`, false, [
        h("b", {}, `${format.whole(same.length)} earlier ${same.length === 1 ? "message" : "messages"}`), h("span", { class: "fine" }, ", unchanged")], same));
      same = [];
    };
    messages.forEach((message, n) => {
      const fresh = known ? message.text.split("\n").filter((line) => line.trim() && !known.has(line)).length : 0;
      const isSame = known && !fresh && n < messages.length - 1;
      if (!isSame) flush();
      (isSame ? same : shown).push(this.#message(message, known, fresh, `${i} ${n}`, !isSame));
    });
    flush();
    return shown;
  }

  #message(message, known, fresh, key, isOpen) {
    const size = format.plural(message.text.length, "character");
    const heading = [h("b", {}, bdi(message.role)), h("span", { class: "fine" }, ` ${size}`, fresh > 0 && `, ${format.plural(fresh, "new line")}`)];
    const text = known ? this.#marked(message.text.split("\n"), known) : message.text;
    return this.#fold(key, isOpen, heading, [h("pre", { dir: "auto", tabindex: "0" }, text), message.calls.map(toolCall)]);
  }

  /** Something that can be folded; it stays as the reader left it. */
  #fold(key, isOpen, heading, content) {
    const details = h("details", { open: this.#open.get(key) ?? isOpen }, h("summary", { "data-focus": key }, heading), content);
    details.addEventListener("toggle", () => this.#open.set(key, details.open));
    return details;
  }

  /** Runs of lines, those that are new marked as such. */
  #marked(lines, known) {
    const runs = [];
    for (const line of lines) {
      const isNew = Boolean(line.trim()) && !known.has(line);
      const blank = !line.trim() && runs.length > 0;
      if (runs.length && (blank || runs.at(-1).isNew === isNew)) runs.at(-1).lines.push(line);
      else runs.push({ isNew, lines: [line] });
    }
    const text = (run) => `${run.lines.join("\n")}\n`;
    const wanted = runs.filter((run) => run.isNew || !this.#newOnly);
    return wanted.map((run) => (run.isNew ? h("mark", {}, text(run)) : text(run)));
  }
}

/** A call in names and values. */
function facts({ reply, milliseconds, options, tools, where, provider, left_out }) {
  const used = reply?.usage;
  const here = where.includes("embedded.invalid");
  return [
    ["Endpoint", here ? "the small model on this machine" : `${where} (${provider} format)`], ["Served by", reply?.model], ["Finish reason", reply?.finish_reason],
    ["Tokens", used && `${format.whole(used.prompt_tokens)} in${used.cached_tokens > 0 ? ` (${format.whole(used.cached_tokens)} cached)` : ""}, ${format.whole(used.completion_tokens)} out`],
    ["Cost", used?.cost > 0 && format.money(used.cost)], ["Time", format.duration(milliseconds / 1000)],
    ["Tools", tools.join(", ")], ["Left out", left_out.join(", ")],
    ...Object.entries(options).filter(([, value]) => typeof value !== "object"),
  ].filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
}

function reply({ text, reasoning, calls }) {
  return [
    reasoning && h("details", {}, h("summary", {}, "Reasoning"), h("pre", { dir: "auto", tabindex: "0" }, reasoning)),
    text && h("pre", { dir: "auto", tabindex: "0", class: "raw" }, text),
    calls.map(toolCall),
  ];
}

const toolCall = ({ name, arguments: given }) => h("p", { class: "typed" }, bdi(`${name}(${given})`));

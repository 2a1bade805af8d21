// What a model was sent in the turn shown, and what came back; with what is new since the call before.

import { readPartOfIndex } from "../data.js";
import { announce, bdi, copyButton, fill, h, highlight, keepingFocus } from "../dom.js";
import { plain } from "../search.js";
import * as format from "../format.js";
import { MODE } from "../server.js";

export class Prompt {
  #turn = 0;
  #asked = 0; // counts requests for data: only the latest is shown
  #newOnly = false;
  #open = new Map();
  #against = { turn: null, id: "" }; // what it is compared with: by default the turn before, of another episode the same turn
  #found = { words: "", at: -1 };

  constructor(episode) {
    this.episode = episode;
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
      const other = this.#other;
      let missing = "";
      const [calls, before] = await Promise.all([this.episode.modelCalls(turn), other > 0 ? this.episode.modelCalls(other, this.#against.id || this.episode.id).catch((error) => {
        missing = `The other prompt could not be loaded: ${error.message}`;
        return [];
      }) : []]);
      if (ticket === this.#asked) this.#draw(calls, before, missing);
    } catch (error) {
      if (ticket !== this.#asked) return;
      this.#say(error.status === 404 && MODE === "static" ? ["This copy of the episode has no prompts: export it with ", h("code", { class: "unbroken" }, "--prompts"), "."] : `The prompt could not be loaded. ${error.message}`);
    }
  }

  #say(text) {
    fill(this.node, h("p", { class: "fine" }, text));
  }

  /** The turn with which the one that is shown is compared. */
  get #other() {
    return this.#against.turn ?? (this.#against.id ? this.#turn : this.#turn - 1);
  }

  #draw(calls, earlier, missing) {
    if (!calls.length) return this.#say(`Turn ${this.#turn}: no model was asked, or the log does not record it.`);
    const chosen = this.#against.id || this.#against.turn; // then call by call, else each with the one before
    const before = Map.groupBy(earlier, (it) => it.role);
    const { scrollTop } = this.node;
    keepingFocus(this.node, () => fill(this.node, h("h2", { class: "unseen" }, "Prompt"), this.#choice(), missing && h("p", { class: "failure" }, missing), calls.map((call, i) => {
      const others = before.get(call.role) ?? [];
      const other = chosen ? others.shift() : others.at(-1);
      if (!chosen) before.set(call.role, [call]);
      return this.#call(call, other, i);
    })));
    this.node.scrollTop = scrollTop;
    this.#find(0);
  }

  /** Mark the words that are looked for, and go to the next place where they stand. */
  #find(by) {
    const { words, at } = this.#found;
    const ranges = highlight("found-in-prompt", this.node, plain(words));
    if (!by || !plain(words)) return;
    if (!ranges.length) return announce("No match");
    this.#found.at = (at + by + ranges.length) % ranges.length;
    ranges[this.#found.at].startContainer.parentElement.scrollIntoView({ block: "center" });
    announce(`${this.#found.at + 1} of ${ranges.length}`);
  }

  #choice() {
    const box = h("input", { type: "checkbox", "data-focus": "new", checked: this.#newOnly, onchange: () => { this.#newOnly = box.checked; this.show(); } });
    const turn = h("input", { type: "text", inputmode: "numeric", "data-focus": "against", value: this.#against.turn ?? "", placeholder: String(Math.max(0, this.#other)), onchange: () => {
      this.#against.turn = /^[1-9]\d*$/.test(turn.value) ? Number(turn.value) : null;
      this.show();
    } });
    const others = h("datalist", { id: "other-episodes" });
    const id = h("input", { type: "text", list: "other-episodes", "data-focus": "other", value: this.#against.id, placeholder: "this episode", autocomplete: "off", onchange: () => {
      this.#against.id = id.value.trim();
      this.show();
    }, onfocus: async () => others.firstChild ?? fill(others, (await readPartOfIndex().catch(() => ({ episodes: [] }))).episodes.map((it) => h("option", { value: it.id }))) });
    const words = h("input", { type: "search", "data-focus": "find", value: this.#found.words, placeholder: "Search", "aria-label": "Search this prompt", autocomplete: "off", oninput: () => {
      this.#found = { words: words.value, at: -1 };
      this.#find(0);
    }, onkeydown: (event) => event.key === "Enter" && this.#find(event.shiftKey ? -1 : 1) });
    return h("div", { class: "tools fine" }, words, h("label", {}, box, " Only new lines"), h("label", {}, "Compared with turn ", turn), h("label", {}, "of ", id), others);
  }

  #call(call, before, i) {
    if (call.unreadable) return h("section", { class: "call" }, h("h3", {}, bdi(call.role)), h("p", { class: "failure" }, call.unreadable));
    const linesOf = (it) => it?.messages.flatMap(({ text }) => text.split("\n")) ?? [];
    const known = new Set(linesOf(before));
    const present = new Set(linesOf(call));
    const gone = [...known].filter((line) => line.trim() && !present.has(line));
    return h("section", { class: "call", "aria-label": `${call.role}, call ${i + 1}` },
      h("h3", {}, bdi(call.role), h("span", { class: "fine" }, " ", bdi(call.model ?? ""))),
      h("dl", {}, facts(call).map(([name, value]) => [h("dt", {}, name), h("dd", {}, bdi(String(value)))])),
      call.tries.map((it) => h("p", { class: "failure" }, bdi(`Attempt failed after ${format.duration(it.seconds)}: ${it.error}`))),
      call.error && h("p", { class: "failure" }, bdi(call.error)),
      h("h4", {}, "Request"), copyButton("Copy the messages", () => JSON.stringify(call.messages, null, 2), `sent ${i}`),
      this.#messages(call.messages, before && known, i),
      gone.length > 0 && this.#fold(`${i} gone`, false, [h("b", {}, format.plural(gone.length, "line")), h("span", { class: "fine" }, " of the other request, not in this one")], h("pre", { dir: "auto", tabindex: "0" }, h("del", {}, gone.join("\n")))),
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

const FINISHED = { stop: "the reply is complete", tool_calls: "it calls tools", length: "out of tokens", content_filter: "held back by the provider" };
const FORMATS = { openai: "OpenAI", anthropic: "Anthropic", gemini: "Gemini", responses: "OpenAI Responses" };
const HERE = /^\w+:\/\/(localhost|127\.[\d.]+|\[::1\])(?=[:/]|$)/;

/** Where a model is asked; of one on this machine, whose format is spoken says nothing. */
function endpoint(where, provider) {
  if (where.includes("embedded.invalid")) return "the small model on this machine";
  return HERE.test(where) ? `this machine (${where})` : `${where} (${FORMATS[provider] ?? provider} format)`;
}

/** The name of an option in words: "max_tokens" is "Max tokens". */
const inWords = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[_.]+/g, " ");

/** A call in names and values. */
function facts({ reply, milliseconds, options, tools, where, provider, left_out }) {
  const used = reply?.usage;
  return [
    ["Endpoint", endpoint(where, provider)], ["Served by", reply?.model], ["Finish reason", FINISHED[reply?.finish_reason] ?? reply?.finish_reason],
    ["Tokens", used && `${format.whole(used.prompt_tokens)} in${used.cached_tokens > 0 ? ` (${format.whole(used.cached_tokens)} cached)` : ""}, ${format.whole(used.completion_tokens)} out`],
    ["Cost", used?.cost > 0 && format.money(used.cost)], ["Time", format.duration(milliseconds / 1000)],
    ["Tools", tools.join(", ")], ["Left out", left_out.join(", ")],
    ...Object.entries(options).map(([name, value]) => [inWords(name), value === true ? "yes" : Array.isArray(value) ? value.join(", ") : value]),
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

// What each turn took, until the one that is shown: tokens, dollars and seconds.

import { ofEpisode } from "../address.js";
import { bdi, fill, h, keepingFocus } from "../dom.js";
import { TurnsChart } from "../drawing/turns_chart.js";
import { duration, money, plural, short, tokens, whole } from "../format.js";

const FIGURES = [
  { title: "Tokens", of: ([, sent, back]) => (sent === null ? null : sent + back), show: whole, tick: short, columns: [["In", 1], ["Out", 2]], split: ([, sent, back]) => ` (${whole(sent)} in, ${whole(back)} out)` },
  { title: "Cost", of: ([, , , cost]) => cost, show: money, tick: (it) => (it ? `$${Number(it.toPrecision(3))}` : "$0"), columns: [["Cost", 3]], split: () => "" },
  { title: "Time", of: ([, , , , seconds]) => seconds, show: duration, tick: (it) => `${Number(it.toPrecision(3))} s`, columns: [["Time", 4]], split: () => "" },
];
const STEPS = { model: (role) => `Model (${role.toLowerCase()})`, tool: (name) => name, server: (name) => `Start of ${name}`, game: () => "Game" };
const LISTED = 100; // turns in the table

const middleOf = (sorted) => (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;

export class Usage {
  #figures = FIGURES;
  #turn = 0;
  #rows = [];
  #asked = 0; // counts requests for data: only the latest is shown

  /** `go` leads to a turn. */
  constructor(episode, go) {
    this.episode = episode;
    this.visible = false;
    const { summary, info } = episode;
    const unasked = summary.asks_a_model === false && !tokens(summary); // a model may have played on for a guest
    if (unasked) this.#figures = FIGURES.filter(({ title }) => title === "Time");
    const why = info.told ? "A guest's tokens and costs are not recorded here." : "No model was asked, so there are no tokens and no costs.";
    this.told = h("p", { class: "fine", role: "status" });
    this.charts = this.#figures.map((figure) => new TurnsChart(`${figure.title} by turn`, { go, tick: figure.tick, point: (turn) => this.#point(figure, turn) }));
    this.points = this.#figures.map(() => h("span", { class: "fine" }));
    this.sums = this.#figures.map(() => h("p", { class: "fine sum" }));
    this.sections = this.#figures.map(({ title }, i) => h("section", { "aria-label": title }, h("h3", {}, title, " ", this.points[i]), this.charts[i].node, this.sums[i]));
    this.steps = h("ol", { class: "waterfall" });
    this.ofTurn = h("section", { "aria-label": "Time within the turn" }, h("h3", {}, "Time within the turn"), this.steps);
    this.between = h("p", { class: "fine" });
    this.table = h("div", { class: "scroll" });
    this.details = h("details", { ontoggle: () => this.#list() }, h("summary", {}, "As a table"), this.table);
    this.node = h("section", { class: "usage", "aria-label": "Usage", tabindex: "0" }, h("h2", { class: "unseen" }, "Usage"), unasked && h("p", { class: "fine" }, why), this.told, this.sections, this.ofTurn, this.between, this.details);
  }

  close() {
    for (const chart of this.charts) chart.close();
  }

  /** Show what the turns until `turn` took, as soon as anybody looks. */
  async show(turn = this.#turn) {
    this.#turn = turn;
    if (!this.visible) return;
    const ticket = ++this.#asked;
    try {
      const rows = await this.episode.took();
      if (ticket !== this.#asked) return;
      this.told.textContent = "";
      this.#rows = rows.filter(([it]) => it <= turn);
      this.#draw();
    } catch (error) {
      if (ticket === this.#asked) this.told.textContent = `The figures could not be loaded. ${error.message}`;
    }
  }

  #draw() {
    this.#figures.forEach((figure, i) => {
      const points = this.#rows.map((row) => [row[0], figure.of(row)]);
      this.charts[i].show(points, this.#turn, this.episode.last, this.#say(figure, this.#turn));
      this.#point(figure, null);
      keepingFocus(this.sums[i], () => fill(this.sums[i], this.#sum(figure, points)));
    });
    this.#drawSteps();
    this.#tellBetween();
    this.#list();
  }

  /** What the time of the turn shown went into: one line a step, each where it began. */
  #drawSteps() {
    const steps = this.episode.turns.get(this.#turn)?.steps ?? [];
    const end = Math.max(...steps.map(([, , start, seconds]) => start + seconds));
    this.ofTurn.hidden = !steps.length;
    fill(this.steps, steps.map(([kind, name, start, seconds]) => {
      const bar = h("i", {});
      bar.style.marginInlineStart = `${(97 * start) / end}%`;
      bar.style.width = `${(97 * seconds) / end}%`;
      const said = STEPS[kind](name);
      return h("li", { "data-kind": kind, title: `${said}: from ${duration(start)}, for ${duration(seconds)}` }, bdi(said), h("span", { class: "bar-of" }, bar), h("span", { class: "number" }, duration(seconds)));
    }));
  }

  #point(figure, turn) {
    const said = turn === null || turn > this.#turn ? this.#turn : turn;
    this.points[this.#figures.indexOf(figure)].textContent = this.#say(figure, said);
  }

  #say({ of, show, split }, turn) {
    const row = this.#rows.find(([it]) => it === turn);
    if (!row) return turn ? `Turn ${turn}: unknown` : "Before the first turn";
    return `Turn ${turn}: ${of(row) === null ? "unknown" : `${show(of(row))}${split(row)}`}`;
  }

  /** The chart in words. */
  #sum({ title, show }, points) {
    const known = points.filter(([, value]) => value !== null);
    const unknown = points.length - known.length;
    if (!points.length) return "";
    if (!known.length) return `Unknown in every turn so far${title === "Time" ? "" : ": none was reported"}.`;
    const said = (value) => h("span", { class: "unbroken" }, show(value));
    const values = known.map(([, value]) => value).sort((a, b) => a - b);
    const most = known.find(([, value]) => value === values.at(-1))[0];
    return [
      said(values.reduce((sum, value) => sum + value, 0)), " so far; median ", said(middleOf(values)), ", peak ", said(values.at(-1)), " in ",
      h("a", { href: ofEpisode(this.episode.id, most), "data-focus": "most" }, `turn ${most}`),
      unknown > 0 && `; unknown in ${plural(unknown, "turn")} (dotted), which ${unknown === 1 ? "is" : "are"} not counted`, ".",
    ];
  }

  /** Reflections take something, too, and belong to no turn. */
  #tellBetween() {
    const past = this.episode.info.reflections.filter((it) => it.turn <= this.#turn);
    const sum = (figure) => past.reduce((all, it) => all + figure(it), 0);
    const tokens = sum((it) => it.usage.prompt_tokens + it.usage.completion_tokens);
    const cost = sum((it) => it.usage.cost);
    const said = [tokens ? plural(tokens, "token") : "unknown tokens", cost ? money(cost) : "unknown cost", duration(sum((it) => it.seconds))];
    this.between.textContent = past.length ? `Not in these charts: ${plural(past.length, "reflection")}, with ${said.join(", ")}.` : "";
  }

  #list() {
    if (!this.details.open) return;
    const rows = this.#rows.slice(-LISTED);
    const columns = this.#figures.flatMap(({ columns, show }) => columns.map(([name, at]) => [name, at, show]));
    const cell = (value, show) => h("td", { class: "number" }, value === null ? "unknown" : show(value));
    keepingFocus(this.table, () => fill(this.table,
      this.#rows.length > LISTED && h("p", { class: "fine" }, `The latest ${LISTED} turns; the download has all.`),
      h("table", {}, h("thead", {}, h("tr", {}, ["Turn", ...columns.map(([name]) => name)].map((name, i) => h("th", { scope: "col", class: i > 0 && "number" }, name)))),
        h("tbody", {}, rows.map((row) => h("tr", { "aria-current": row[0] === this.#turn && "true" },
          h("th", { scope: "row" }, h("a", { href: ofEpisode(this.episode.id, row[0]), "data-focus": `turn ${row[0]}` }, String(row[0]))),
          columns.map(([, at, show]) => cell(row[at], show))))))));
  }
}

// One episode, live or as a replay: transcript, situation, map and score, all at the same turn.

import { ofEpisode } from "../address.js";
import { Cockpit } from "../episode/cockpit.js";
import { Controls } from "../episode/controls.js";
import { Episode } from "../data.js";
import { MODE } from "../server.js";
import { announce, bdi, clamp, fill, h } from "../dom.js";
import * as format from "../format.js";
import { Finder } from "../episode/finder.js";
import { Live } from "../live.js";
import { Panes } from "../episode/panes.js";
import { ScoreChart } from "../drawing/score_chart.js";
import { Prompt } from "../episode/prompt.js";
import { Settings } from "../episode/settings.js";
import { Situation } from "../episode/situation.js";
import { Transcript } from "../episode/transcript.js";
import { Usage } from "../episode/usage.js";

const PANELS = [["story", "Story"], ["situation", "Situation"], ["prompt", "Prompt"], ["usage", "Usage"], ["settings", "Settings"], ["map", "Map"]];
const ASIDE = PANELS.slice(1, 5); // one of them beside the story

/** Arrows go from tab to tab. */
function turnTabs(event) {
  const tabs = [...event.currentTarget.children];
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const next = tabs.at((tabs.indexOf(event.target) + by) % tabs.length);
  next.click();
  next.focus();
  event.preventDefault();
  event.stopPropagation();
}

export class EpisodePage {
  #shown = 0;
  #following = false;
  #news = 0;
  #playing = 0;

  constructor(address, { main, heading, say, again, waits }) {
    Object.assign(this, { id: address.id, asked: address.turn, find: address.find, prompted: address.prompt, main, heading, say, again, waits });
  }

  async open() {
    this.episode = await Episode.open(this.id, this.waits);
    if (this.closed) return;
    this.#settleOn(this.episode.id);
    this.#build();
    this.#listen();
    if (this.find) this.#search(this.find);
    if (this.prompted) this.#fillWithPrompt(true);
    this.#following = this.asked === null && this.#isOpen;
    await this.go(this.asked ?? this.episode.last, { keepsAddress: this.asked === null });
    this.#drawMap().catch(() => this.charts.prepend(h("p", { class: "notice" }, "The map could not be loaded: reload the page.")));
  }

  /** The address may have asked for the latest episode; from now on it names this one. */
  #settleOn(id) {
    if (id === this.id) return;
    this.id = id;
    history.replaceState(null, "", ofEpisode(id, this.asked, this.find));
  }

  /** The story is there to be read before the map's large library is. */
  async #drawMap() {
    const [{ MapView }] = await Promise.all([import("../drawing/map_view.js"), document.fonts.load("13px Literata").catch(() => {})]); // boxes fit their names
    if (this.closed) return;
    this.map = new MapView(this.episode, this.panes.filler(() => "charts", "Fill the screen with the map"));
    this.charts.prepend(this.map.node);
    this.map.start();
    this.map.show(this.#shown);
  }

  close() {
    this.closed = true;
    clearTimeout(this.#playing);
    this.live?.close();
    this.cockpit?.close();
    this.transcript?.close();
    this.map?.close();
    this.chart?.close();
    this.usage?.close();
    this.panes?.close();
    for (const name of ["view", "side", "finding"]) delete this.main.dataset[name];
  }

  /** Another turn of the same episode needs no new page. */
  accept(address) {
    if (address.page !== "episode" || address.id !== this.id || !this.episode) return false;
    this.#stop();
    if (address.find) this.#search(address.find);
    this.#fillWithPrompt(Boolean(address.prompt));
    if (address.turn === null) this.follow();
    else this.go(address.turn, { keepsAddress: true });
    return true;
  }

  /** What can be downloaded: every turn. */
  get table() {
    const { episode } = this;
    return episode && { name: episode.id, what: () => `The ${format.plural(episode.last, "turn")} of this episode, one in each row, notes and tags included.`, rows: () => episode.rows() };
  }

  key(event) {
    const inControl = event.target.closest("button, summary, a, input");
    const acts = {
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      c: () => this.#shorten(), Escape: () => this.panes.fill(null), Home: () => this.go(0), End: () => this.follow(), f: () => this.follow(), " ": () => this.play(),
    };
    if (event.key === "p") return this.cockpit?.pause() ?? false;
    if (event.key === ".") return this.cockpit?.step() ?? false;
    const paged = { PageUp: -1, PageDown: 1 }[event.key];
    if (paged && event.target.closest(".turn")) return void this.step(paged) ?? true;
    const own = event.target === this.controls?.slider && event.key.length > 1;
    if (!acts[event.key]) return this.finder?.key(event) ?? false;
    if (own || (event.key === " " && inControl && inControl !== this.controls.slider)) return false;
    acts[event.key]();
    return true;
  }

  /** Show what was true after `turn`. */
  async go(turn, { keepsAddress = false, edge = "start" } = {}) {
    turn = clamp(turn, 0, this.episode.last);
    this.#shown = turn;
    if (turn < this.episode.last) this.#following = false;
    if (turn === this.episode.last) this.#countNews(-this.#news);
    if (!keepsAddress) history.replaceState(null, "", ofEpisode(this.id, turn, this.finder.text, this.#isPromptAlone));
    this.#showControls();
    this.map?.show(turn);
    this.chart.show(turn);
    await Promise.all([this.transcript.reveal(turn, edge), this.episode.turn(turn).catch(() => {})]); // the transcript says so
    if (this.#shown === turn) this.#tell();
  }

  /** Show what can be told only once the turn was read. */
  #tell() {
    this.#markFound();
    this.situation.show(this.#shown);
    this.prompt.show(this.#shown);
    this.usage.show(this.#shown);
  }

  /** Where there is little room, the line for finding turns is there only when it is wanted. */
  #find() {
    if (this.main.toggleAttribute("data-finding")) this.finder.input.focus();
  }

  #search(text) {
    this.finder.input.value = text;
    this.finder.search();
  }

  #markFound() {
    this.finder.mark(this.transcript.node.querySelector("[aria-current]"));
  }

  step(by) {
    this.#stop();
    return this.go(this.#shown + by);
  }

  #shorten() {
    this.controls.short.setAttribute("aria-pressed", String(this.transcript.shorten()));
  }

  /** Go to the newest turn and stay with it. */
  follow() {
    this.#stop();
    this.#following = this.#isOpen;
    history.replaceState(null, "", ofEpisode(this.id));
    return this.go(this.episode.last, { keepsAddress: true, edge: "end" });
  }

  /** Begin to play, or pause. */
  play() {
    if (this.#playing) return this.#stop();
    if (this.#shown >= this.episode.last) this.go(0);
    this.#playing = setTimeout(() => this.#playOn(), this.controls.pause);
    this.#showControls();
  }

  async #playOn() {
    await this.go(this.#shown + 1);
    if (!this.#playing) return;
    if (this.#shown >= this.episode.last) this.#stop();
    else this.#playing = setTimeout(() => this.#playOn(), this.controls.pause);
  }

  #stop() {
    clearTimeout(this.#playing);
    this.#playing = 0;
    this.#showControls();
  }

  /** Whether more turns may come. */
  get #isOpen() {
    return MODE === "live" && !this.episode.summary.end_reason;
  }

  #build() {
    this.transcript = new Transcript(this.episode, { back: () => this.#readBack(), end: () => this.#readOn(), loaded: () => this.#tell(), reframed: () => this.#follows && this.transcript.reveal(this.#shown, "end", false), rewrapped: () => this.transcript.reveal(this.#shown, this.#follows ? "end" : "start", false) });
    this.situation = new Situation(this.episode);
    this.prompt = new Prompt(this.episode);
    this.chart = new ScoreChart(this.episode, (turn) => this.#jump(turn));
    this.usage = new Usage(this.episode, (turn) => this.#jump(turn));
    this.settings = new Settings(this.episode);
    this.cockpit = new Cockpit(this.episode);
    this.controls = new Controls({ go: (turn) => this.#jump(turn), step: (by) => this.step(by), play: () => this.play(), follow: () => this.follow(), shorten: () => this.#shorten(), find: () => this.#find() });
    this.finder = new Finder(this.episode, { shown: () => this.#shown, go: (turn) => this.#jump(turn), text: () => this.#markFound() });
    this.#showHeading();
    this.main.dataset.view = "story";
    this.tabs = PANELS.map(([name, label]) => this.#tab(name, label, name === "story"));
    this.sides = ASIDE.map(([name, label]) => this.#tab(name, label, name === "situation"));
    document.body.dataset.side = "situation";
    this.charts = h("div", { class: "charts" }, this.chart.node);
    const story = h("section", { class: "story", "aria-label": "Story" }, this.finder.node, this.transcript.node, this.controls.news, this.cockpit.node);
    const side = h("div", { class: "side" }, h("div", { class: "tabs sides" }, h("div", { role: "tablist", "aria-label": "Beside the story", onkeydown: turnTabs }, this.sides)), this.situation.node, this.prompt.node, this.usage.node, this.settings.node);
    this.panes = new Panes(document.body, { story, side, charts: this.charts }, () => this.go(this.#shown));
    this.finder.node.firstChild.after(this.panes.filler(() => "story", "Fill the screen with the story"));
    side.firstChild.append(this.panes.filler(() => "side", "Fill the screen with this pane"));
    this.controls.node.append(this.panes.shown, this.panes.filler(() => ({ story: "story", map: "charts" })[this.main.dataset.view] ?? "side", "Fill the screen"));
    fill(this.main, h("div", { class: "episode" },
      h("a", { class: "skip", href: "#side", onclick: (event) => this.#skip(event) }, "Skip to the situation"),
      h("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the page", onkeydown: turnTabs }, this.tabs),
      this.panes.node,
      this.controls.node));
    this.chart.start();
  }

  #tab(name, label, chosen) {
    return h("button", { type: "button", role: "tab", "aria-selected": String(chosen), tabindex: chosen ? 0 : -1, onclick: () => this.#choose(name) }, label);
  }

  /** Past all turns, to what is true after the one that is shown. */
  #skip(event) {
    event.preventDefault(); // the address names what is shown, not a place on the page
    this.#choose("situation");
    this.panes.toggle("side", true);
    this.situation.node.focus();
  }

  /** On a narrow screen, show one part at a time; on a wide one, one of those beside the story. */
  #choose(name) {
    const press = (tabs, names) => tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(names[i][0] === name));
      tab.tabIndex = names[i][0] === name ? 0 : -1;
    });
    this.main.dataset.view = name;
    press(this.tabs, PANELS);
    if (!ASIDE.some(([side]) => side === name)) return;
    document.body.dataset.side = name;
    press(this.sides, ASIDE);
    for (const [side, part] of [["prompt", this.prompt], ["usage", this.usage], ["settings", this.settings]]) {
      part.visible = name === side;
      part.show();
    }
  }

  /** The prompt that fills the screen is a page with an address. */
  get #isPromptAlone() {
    return this.panes.alone === "side" && document.body.dataset.side === "prompt";
  }

  #fillWithPrompt(wanted) {
    if (wanted === this.#isPromptAlone) return;
    if (wanted) this.#choose("prompt");
    this.panes.fill(wanted ? "side" : null);
  }

  #showHeading() {
    const { name, title, story, seed, cost } = this.episode.summary;
    const [called, hinted] = [name || title || story, format.hinted(this.episode.summary)];
    const aside = () => [name && [bdi(title || story), " · "], bdi(format.playedBy(this.episode.summary)), seed !== null && ` · seed ${seed}`, cost > 0 && ` · ${format.money(cost)}`, hinted && ` · ${hinted}`, " · ", bdi(this.id)];
    document.title = `${called} · ZorkGPT`;
    fill(this.heading, h("h1", { title: called }, bdi(called)), h("p", { class: "fine" }, aside()));
    fill(this.situation.about, bdi(called), " · ", aside());
  }

  #showControls() {
    this.controls.show({ shown: this.#shown, last: this.episode.last, playing: Boolean(this.#playing) });
  }

  #jump(turn) {
    this.#stop();
    return this.go(turn);
  }

  /** Whether what is new is to be shown: not to a reader who has just scrolled back. */
  get #follows() {
    this.transcript.heed();
    return this.#following;
  }

  #readBack() {
    this.#following = false;
  }

  /** The reader came back to the end by hand. */
  #readOn() {
    if (this.#isOpen && !this.#following && this.#shown !== this.episode.last && this.#news) this.follow();
    else if (this.#isOpen && this.#shown === this.episode.last) this.#following = true;
  }

  #countNews(by) {
    this.#news += by;
    this.controls.showNews(this.#news);
  }

  #listen() {
    if (MODE === "live") this.cockpit.settle();
    if (!this.#isOpen) return this.#sayState();
    this.live = new Live(this.episode, {
      turn: (turn) => this.#onTurn(turn),
      account: (info) => this.#onAccount(info),
      now: (now) => this.#onNow(now),
      end: () => this.#onEnd(),
      reset: () => this.again(), // the log was replaced by another
      state: (state) => this.#sayState(state),
    });
  }

  #sayState(state = null) {
    const names = { connecting: "Connecting", live: "Live", reconnecting: "Reconnecting", disconnected: "Disconnected" };
    const { summary } = this.episode;
    this.connection = state;
    if (state === "live" && summary.running && this.cockpit.isPaused) return this.say("Paused", "paused");
    if (state && (state !== "live" || summary.running)) return this.say(names[state], state);
    const ended = summary.end_reason ? `Ended: ${format.ending(summary)}` : format.ending(summary);
    this.say(MODE === "static" ? `Replay · ${ended}` : ended, "ended");
  }

  #onTurn(turn) {
    if (!this.episode.add(turn)) return;
    const follows = this.#follows; // before there is more to scroll through
    this.transcript.grow();
    this.#showHeading();
    this.finder.update();
    this.map?.update();
    this.chart.update();
    if (follows) {
      announce(`Turn ${turn.turn}: ${turn.command}. ${format.placeName(turn.after.room)}, score ${format.known(turn.after.score)}.`);
      this.go(turn.turn, { keepsAddress: true, edge: "end" });
    } else {
      this.#countNews(1);
      this.#showControls();
      this.usage.show();
    }
  }

  #onNow(now) {
    this.cockpit.show(now);
    this.#sayState(this.connection);
  }

  #onAccount(info) {
    this.episode.take(info);
    const follows = this.#follows;
    this.cockpit.settle();
    this.#showHeading();
    this.#sayState(this.connection);
    this.transcript.refresh();
    this.finder.update();
    this.map?.update();
    this.chart.update();
    this.map?.show(this.#shown);
    this.situation.show(this.#shown);
    this.usage.show();
    if (follows) this.go(this.#shown, { keepsAddress: true, edge: "end" });
  }

  /** The account that came before tells all; the server may be gone together with the game. */
  #onEnd() {
    this.#following = false;
    this.cockpit.settle(true);
    this.#sayState(null);
    announce(`The episode has ended: ${format.ending(this.episode.summary)}.`);
  }
}

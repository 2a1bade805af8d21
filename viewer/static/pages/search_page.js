// Words in the turns of all episodes, or of those that the filter leaves.

import { ofEpisode, ofSearch } from "../address.js";
import { readIndex, turnsWith } from "../data.js";
import { bdi, fill, h } from "../dom.js";
import { FilterField } from "../filter_field.js";
import * as format from "../format.js";
import { plain } from "../search.js";

const MOST = 200; // turns shown before the reader is asked

export class SearchPage {
  #ticket = 0;

  constructor({ find, filter }, { main, heading }) {
    Object.assign(this, { find, filter, main, heading });
  }

  async open() {
    this.episodes = (await readIndex()).episodes;
    if (this.closed) return;
    document.title = "Search · ZorkGPT";
    fill(this.heading, h("p", {}, "Search"));
    this.field = new FilterField(() => {});
    this.input = h("input", { type: "search", id: "sought", autocomplete: "off" });
    this.told = h("p", { class: "fine count", id: "count", role: "status" });
    this.list = h("div", { class: "found" });
    fill(this.main, h("div", { class: "compare search-all" },
      h("form", { class: "index-head", role: "search", onsubmit: (event) => { event.preventDefault(); this.#ask(); } }, h("h1", {}, "Search"),
        h("div", { class: "tools" }, h("span", { class: "field" }, h("label", { for: "sought" }, "Words"), this.input), this.field.nodes, h("button", { type: "submit" }, "Search"))),
      this.told, this.list));
    this.#show();
  }

  close() {
    this.closed = true;
    this.#ticket++;
  }

  key(event) {
    if (event.key !== "/" || !this.input) return false;
    this.input.focus();
    return true;
  }

  accept(address) {
    if (address.page !== "search" || !this.input) return false;
    Object.assign(this, { find: address.find, filter: address.filter });
    this.#show();
    return true;
  }

  #ask() {
    this.find = this.input.value.trim();
    this.filter = this.field.input.value.trim();
    history.replaceState(null, "", ofSearch({ find: this.find, filter: this.filter }));
    this.#show();
  }

  #show() {
    this.input.value = this.find;
    this.field.input.value = this.filter;
    const { fits, wrong } = this.field.read(this.filter);
    const ticket = ++this.#ticket;
    fill(this.list);
    this.told.dataset.wrong = Boolean(wrong);
    if (wrong || !plain(this.find)) {
      this.told.textContent = wrong || "The search covers thoughts, commands, the game’s answers and the results of tools.";
      return this.input.focus();
    }
    this.#search(ticket, this.episodes.filter(fits)).catch((error) => {
      this.told.textContent = `The search failed. ${error.message}`;
    });
  }

  /** Look through the episodes in order, some at once; what is found is shown as it comes. */
  async #search(ticket, episodes) {
    let turns = 0, among = 0, allowed = MOST, more = false;
    for (let at = 0; at < episodes.length; ) {
      this.told.textContent = `Searching: ${at} of ${format.plural(episodes.length, "episode")} …`;
      const results = await turnsWith(episodes.slice(at).map((it) => it.id), this.find);
      if (ticket !== this.#ticket) return;
      results.forEach((result, i) => {
        if (!result?.turns.length) return; // none, or the episode is gone
        turns += result.turns.length;
        among += 1;
        more ||= result.more;
        this.list.append(this.#section(episodes[at + i], result));
      });
      at += results.length;
      if (turns >= allowed && at < episodes.length) {
        this.told.textContent = `${format.plural(turns, "turn")} in ${format.plural(among, "episode")} so far`;
        await this.#more(episodes.length - at);
        allowed = turns + MOST;
        if (ticket !== this.#ticket) return;
      }
    }
    const counted = `${format.whole(turns)}${more ? " and more" : ""} ${turns === 1 ? "turn" : "turns"} in ${among} of ${format.plural(episodes.length, "episode")}`;
    this.told.textContent = turns ? counted : `No match in ${format.plural(episodes.length, "episode")}`;
  }

  /** Wait until the reader wants more. */
  #more(left) {
    return new Promise((goOn) => {
      const button = h("button", { type: "button", onclick: () => { button.remove(); goOn(); } }, `Search the other ${format.plural(left, "episode")}`);
      this.list.append(button);
    });
  }

  #section(it, { turns, more }) {
    return h("section", {}, h("h2", {}, h("a", { href: ofEpisode(it.id) }, bdi(format.named(it))), h("span", { class: "fine" }, " ", bdi(it.title || it.story), [" · ", bdi(format.playedBy(it))])),
      h("ul", {}, turns.map(({ turn, command, excerpt }) => h("li", {},
        h("a", { href: ofEpisode(it.id, turn, this.find) }, `Turn ${turn}`), " · ", bdi(command, { class: "typed" }), excerpt !== command && h("p", {}, marked(excerpt, this.find))))),
      more && h("p", { class: "fine" }, h("a", { href: ofEpisode(it.id, turns[0].turn, this.find) }, "More in this episode")));
  }
}

/** The words in an excerpt, marked. */
function marked(text, find) {
  const words = plain(find);
  const at = text.toLowerCase().indexOf(words);
  return at < 0 ? bdi(text) : h("bdi", {}, text.slice(0, at), h("mark", {}, text.slice(at, at + words.length)), text.slice(at + words.length));
}

// How the episode was set: what was played by whom, what differs from the defaults, the prompts, the first line of the log.

import { bdi, copyButton, fill, h, wholeText } from "../dom.js";

export class Settings {
  #asked = false;

  constructor(episode) {
    this.episode = episode;
    this.visible = false;
    this.node = h("section", { class: "settings", "aria-label": "Settings", tabindex: "0" });
  }

  /** Show them as soon as anybody looks; they are the same in all turns. */
  async show() {
    if (!this.visible || this.#asked) return;
    this.#asked = true;
    try {
      this.#draw(await this.episode.settings());
    } catch (error) {
      this.#asked = false;
      fill(this.node, h("p", { class: "fine" }, `The settings could not be loaded. ${error.message}`));
    }
  }

  #draw({ facts, settings, prompts, line }) {
    const changed = settings.filter((it) => said(it.value) !== said(it.default) || said(it.value) !== said(it.before));
    fill(this.node, h("h2", { class: "unseen" }, "Settings"),
      h("dl", {}, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, bdi(value))])),
      h("h3", {}, "Changed from the defaults"), changed.length ? table(changed) : h("p", { class: "fine" }, "Nothing."),
      h("details", {}, h("summary", {}, `All ${settings.length} settings`), table(settings)),
      h("details", {}, h("summary", {}, `Prompts: SHA-256 of ${Object.keys(prompts).length} files`),
        h("dl", {}, Object.entries(prompts).map(([name, hash]) => [h("dt", {}, name), h("dd", { class: "typed" }, hash)]))),
      h("details", {}, h("summary", {}, "First line of the log"), copyButton("Copy", () => line), wholeText(JSON.stringify(JSON.parse(line), null, 2))));
  }
}

const said = (value) => (value === null || value === undefined ? "unset" : typeof value === "string" ? value : JSON.stringify(value));

function table(settings) {
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["Setting", "Value", "Default"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, settings.map(({ name, value, default: usual, before }) => h("tr", {}, h("th", { scope: "row" }, bdi(name)),
      h("td", {}, bdi(said(value)), said(before) !== said(value) && h("span", { class: "fine" }, ` (at the start ${said(before)})`)), h("td", {}, bdi(said(usual))))))));
}

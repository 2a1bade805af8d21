// The replay's buttons, slider and speed.

import { h, icon } from "../dom.js";

const SPEEDS = [["Slow", 3000], ["Reading", 1600], ["Brisk", 700], ["Fast", 150]]; // milliseconds a turn

export class Controls {
  /** `on` has the functions go(turn), step(by), play(), follow(), shorten() and find(). */
  constructor(on) {
    this.slider = h("input", { type: "range", min: 0, value: 0, step: 1, id: "slider", "aria-label": "Turn", oninput: () => on.go(Number(this.slider.value)) });
    this.place = h("output", { class: "place", for: "slider" });
    this.playing = button("play", "Play", on.play);
    this.speed = h("select", { id: "speed" }, SPEEDS.map(([name, pause]) => h("option", { value: pause }, name)));
    this.speed.value = "1600";
    this.short = button("list", "One line per turn", on.shorten);
    this.short.setAttribute("aria-pressed", "false");
    this.short.classList.add("shorten");
    const finding = button("search", "Find turns", on.find);
    finding.classList.add("finding");
    this.news = h("button", { type: "button", class: "news", hidden: true, onclick: on.follow });
    this.node = h("div", { class: "controls", role: "group", "aria-label": "Replay" },
      h("div", { class: "buttons" }, button("first", "Beginning", () => on.go(0)), button("previous", "Previous turn", () => on.step(-1)),
        this.playing, button("next", "Next turn", () => on.step(1)), button("last", "Newest turn", on.follow)),
      this.slider, this.place, finding, this.short,
      h("label", { class: "speed" }, h("span", {}, "Speed"), this.speed));
  }

  get pause() {
    return Number(this.speed.value);
  }

  show({ shown, last, playing }) {
    this.slider.max = last;
    this.slider.value = shown;
    this.slider.setAttribute("aria-valuetext", `Turn ${shown} of ${last}`);
    this.place.textContent = `${shown} / ${last}`;
    const name = playing ? "Pause" : "Play";
    if (this.playing.getAttribute("aria-label") === name) return;
    this.playing.setAttribute("aria-label", name);
    this.playing.title = name;
    this.playing.replaceChildren(icon(playing ? "pause" : "play"));
  }

  /** Offer to go on to turns that came since the reader left the newest one. */
  showNews(count) {
    this.news.hidden = count === 0;
    this.news.textContent = count === 1 ? "1 new turn" : `${count} new turns`;
  }
}

function button(name, label, press) {
  return h("button", { type: "button", class: "plain", "aria-label": label, title: label, onclick: () => press() }, icon(name));
}

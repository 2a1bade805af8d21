// A field that finds rooms on the map by their names.

import { h } from "../dom.js";
import { harmless } from "../text.js";

export class RoomSearch {
  #at = 0;

  /** `rooms` gives those known now; `show` is called with the id of the one found. */
  constructor(rooms, show) {
    this.rooms = rooms;
    this.show = show;
    this.field = h("input", { type: "search", placeholder: "Find a room", "aria-label": "Find a room", autocomplete: "off",
      oninput: () => this.#find(0), onkeydown: (event) => event.key === "Enter" && this.#find(this.#at + (event.shiftKey ? -1 : 1)) });
    this.found = h("output", { class: "fine", role: "status" });
    this.node = h("div", { class: "room-search", role: "search", "aria-label": "Rooms" }, this.field, this.found);
  }

  /** Show the match of that number, counted around; names that begin so come first. */
  #find(number) {
    const wanted = this.field.value.trim().toLowerCase();
    const named = this.rooms().map((it) => [harmless(it.name).toLowerCase(), it.id]).filter(([name]) => wanted && name.includes(wanted));
    const matches = [...named.filter(([name]) => name.startsWith(wanted)), ...named.filter(([name]) => !name.startsWith(wanted))];
    this.#at = matches.length ? (number + matches.length) % matches.length : 0;
    this.found.textContent = !wanted ? "" : matches.length ? `${this.#at + 1} of ${matches.length}` : "no match";
    if (matches.length) this.show(matches[this.#at][1]);
  }
}

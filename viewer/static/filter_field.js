// The field in which episodes are filtered, and what its expression means.

import { h } from "./dom.js";
import { FIELDS, filter } from "./filter.js";

const HINT = `Words, or comparisons such as score>10, model:deepseek, tag:good, -end:stalled. Fields: ${FIELDS.join(", ")}`;

export class FilterField {
  #fits = () => true;

  /** `typed` is called with every new text. */
  constructor(typed) {
    this.input = h("input", { type: "search", id: "filter", "data-first": true, autocomplete: "off", spellcheck: "false", placeholder: "score>10 model:deepseek", "aria-describedby": "count", title: HINT, oninput: () => typed(this.input.value) });
    this.nodes = h("span", { class: "field" }, h("label", { for: "filter" }, "Filter"), this.input);
  }

  /** Which episodes fit; where the text cannot be read, those that fitted before, and the reason. */
  read(text) {
    let wrong = "";
    try {
      this.#fits = filter(text);
    } catch (error) {
      wrong = error.message;
    }
    this.input.setAttribute("aria-invalid", String(Boolean(wrong)));
    return { fits: this.#fits, wrong };
  }
}

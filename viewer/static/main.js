// The page: one view at a time, chosen by the address.

import { parse } from "./address.js";
import { ComparePage } from "./pages/compare_page.js";
import { announce, fill, h } from "./dom.js";
import { csv, jsonl, save } from "./download.js";
import { EpisodePage } from "./pages/episode_page.js";
import { keep } from "./kept.js";
import { ExperimentsPage } from "./pages/experiments_page.js";
import { IndexPage } from "./pages/index_page.js";
import { SearchPage } from "./pages/search_page.js";
import { beat, MODE } from "./server.js";
import { enter } from "./token.js";

const main = document.getElementById("main");
const heading = document.getElementById("heading");
const state = document.getElementById("state");
const keys = document.getElementById("keys");
const tables = document.getElementById("tables");
const links = Object.fromEntries(["index", "experiments", "search"].map((name) => [name, document.getElementById(`to-${name}`)]));
const pages = { index: IndexPage, episode: EpisodePage, compare: ComparePage, experiments: ExperimentsPage, search: SearchPage };
const RETRY = 2000; // milliseconds until a page that could not be loaded is tried again
let view = null;
let trying = 0;

/** Show what the address asks for, in the present view where it can. */
async function route() {
  const entering = enter();
  if (entering) await entering;
  const address = parse(location.hash);
  if (view?.accept?.(address)) return;
  if (!trying) notice("status", "Loading …");
  leave();
  fill(heading);
  say("");
  for (const [name, it] of Object.entries(links)) {
    it.href = name === "index" ? "#/" : `#/all/${name}`;
    if (name === address.page) it.setAttribute("aria-current", "page");
    else it.removeAttribute("aria-current");
  }
  const Page = pages[address.page];
  if (!Page) return notice("alert", "There is no such page.", TO_ALL);
  const next = (view = new Page(address, { main, heading, links, say, again, waits }));
  try {
    await next.open();
  } catch (error) {
    if (view !== next) return;
    const retries = MODE === "live" && error.passing;
    notice("alert", "This could not be loaded.", error.message, retries && "The page will try again by itself.", TO_ALL);
    trying = retries && setTimeout(again, RETRY);
  }

  /** Say that the game that is asked for is only coming, and what it waits for. */
  function waits(what) {
    if (view !== next) throw new Error("The page was closed.");
    notice("status", "The game is starting.", what && `${what} …`, "It will appear here when it begins.");
  }
}

function leave() {
  clearTimeout(trying);
  trying = 0;
  view?.close();
  view = null;
}

/** Reload what is shown. */
function again() {
  view?.close();
  view = null;
  route();
}

const TO_ALL = h("a", { href: "#/" }, "All episodes");

/** Show nothing but a title and some lines; the same ones are not told again. */
function notice(role, title, ...lines) {
  const said = h("div", { class: "notice", role }, h("h1", {}, title), lines.map((line) => line && h("p", {}, line)));
  if (main.firstElementChild?.textContent !== said.textContent) fill(main, said);
}

/** Show the state of the connection. */
function say(text, kind = "") {
  state.textContent = text;
  state.dataset.kind = kind;
}

/** Tell briefly what was done. */
function tell(text) {
  announce(text);
  const told = h("p", { class: "told-briefly" }, text);
  document.body.append(told);
  setTimeout(() => told.remove(), 4000);
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const root = document.documentElement;
  root.dataset.theme = isDark() ? "light" : "dark";
  keep("theme", root.dataset.theme);
  dispatchEvent(new Event("themechange"));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open || tables.open) return;
  if (event.target.closest("input:not([type=range]):not([type=checkbox]), select, textarea")) return;
  if (event.key === "?") keys.showModal();
  else if (!view?.key?.(event)) return;
  event.preventDefault();
}

const sayTheme = () => document.getElementById("theme").setAttribute("aria-pressed", String(isDark()));
addEventListener("themechange", sayTheme);
sayTheme();
addEventListener("hashchange", route);
addEventListener("keydown", onKey);
for (const wish of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  matchMedia(wish).addEventListener("change", () => dispatchEvent(new Event("themechange")));
}
document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("help").addEventListener("click", () => keys.showModal());
document.getElementById("link").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    tell("The link is copied.");
  } catch {
    tell("The browser does not allow copying: copy the address of the page.");
  }
});
document.getElementById("download").addEventListener("click", () => {
  tables.returnValue = "";
  document.getElementById("tables-what").textContent = view?.table?.what() ?? "There is no table on this page.";
  for (const button of tables.querySelectorAll("button[value]:not([value=''])")) button.disabled = !view?.table;
  tables.showModal();
});
tables.addEventListener("close", async () => {
  const kind = tables.returnValue;
  if (!kind || !view?.table) return;
  try {
    const { name, rows } = view.table;
    save(`${name}.${kind}`, kind === "csv" ? csv(await rows()) : jsonl(await rows()), kind === "csv" ? "text/csv" : "application/jsonl");
  } catch (error) {
    tell(`The table could not be loaded. ${error.message}`);
  }
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names what is shown, not a place on the page
  (main.querySelector("[data-first]") ?? main).focus();
});
document.addEventListener("visibilitychange", beat);
beat();
route();

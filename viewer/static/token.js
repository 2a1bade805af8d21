// The token of the address that the viewer printed: whoever has it may read, and change something.

import { ask, MODE } from "./server.js";

const KEPT = "zorkgpt-token";
let token = kept();
let shown = null; // the token with which the server was asked for the cookie

/** Show the server a token that it has not seen, which lets this browser read; null if there is none. */
export function enter() {
  keepToken();
  if (MODE !== "live" || !token || token === shown) return null;
  shown = token;
  return fetch("enter", { method: "POST", headers: { authorization: `Bearer ${token}` } }).catch(() => (shown = null));
}

/** Take the token out of the address, where it would be seen and copied; this tab keeps it. */
function keepToken() {
  const [path, query = ""] = location.hash.split(/\?(.*)/s);
  const asked = new URLSearchParams(query);
  if (!asked.has("token")) return;
  token = asked.get("token");
  asked.delete("token");
  history.replaceState(null, "", [path, asked.toString()].filter(Boolean).join("?"));
  try {
    sessionStorage.setItem(KEPT, token);
  } catch {
    // Not kept: then it holds until the page is left.
  }
}

function kept() {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** Whether this page may change anything; the server has the last word. */
export const hasToken = () => Boolean(token);

/** Send what is to be changed. Throws an Error that says why the server refuses. */
export function send(path, change, options = {}) {
  return ask(path, { ...options, method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify(change) });
}

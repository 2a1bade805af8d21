// The token of the address that the viewer printed: whoever has it may change something.

import { ask } from "./server.js";

const KEPT = "zorkgpt-token";
let token = kept();

/** Take the token out of the address, where it would be seen and copied; this tab keeps it. */
export function keepToken() {
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

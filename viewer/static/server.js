// The server: what it answers, in words for people, and whether it is still there.

export const MODE = document.querySelector('meta[name="zorkgpt-mode"]').content;
const BEAT = 3000; // milliseconds between two looks whether it is there
let beating = 0;

/** Ask for `path`. Throws an Error whose message says in a sentence what went wrong. */
export async function ask(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    beat();
    throw Object.assign(new Error(MODE === "live" ? "The server does not answer." : "The web server of this copy does not answer."), { passing: true });
  }
  if (reply.ok) return reply;
  throw Object.assign(new Error(await why(reply, path)), { status: reply.status, passing: true });
}

async function why(reply, path) {
  if (reply.status >= 500 && reply.status !== 507) return "The viewer failed here; its terminal says why.";
  if (MODE === "static") return `This copy does not contain ${path}.`;
  return reply.text();
}

/** Say on whatever page is shown when the server stops, and when it is back. */
export async function beat() {
  clearTimeout(beating);
  if (MODE !== "live") return;
  const answers = document.hidden || (await fetch("alive", { method: "HEAD" }).then(() => true, () => false));
  document.getElementById("stopped").hidden = answers;
  clearTimeout(beating);
  beating = setTimeout(beat, BEAT);
}

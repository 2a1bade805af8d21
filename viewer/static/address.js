// Addresses: "#/" all episodes, "#/?filter=score>10", "#/all/experiments?by=model", "#/all/search?find=lamp",
// "#/ID", "#/ID/turn/47", "#/ID/turn/47/prompt", "#/ID/turn/47?find=lamp", "#/compare/A/B/C", "#/compare/A/B?turn=12".

/** What an address asks for. */
export function parse(hash) {
  const [path, query = ""] = hash.split(/\?(.*)/s);
  const asked = new URLSearchParams(query);
  const said = (name) => asked.get(name) ?? "";
  const find = said("find");
  const parts = path.replace(/^#?\/?/, "").split("/").filter(Boolean).map(decoded);
  if (!parts.length) return { page: "index", filter: said("filter") };
  if (parts[0] === "all" && parts.length === 2) return { page: parts[1], filter: said("filter"), by: said("by"), show: said("show"), find };
  if (parts[0] === "compare" && parts.length >= 3) return { page: "compare", ids: parts.slice(1), turn: Math.trunc(Number(said("turn"))) || 0 };
  if (parts.length === 1) return { page: "episode", id: parts[0], turn: null, find };
  const turn = Number(parts[2]);
  if ((parts.length === 3 || (parts.length === 4 && parts[3] === "prompt")) && parts[1] === "turn" && Number.isInteger(turn) && turn >= 0)
    return { page: "episode", id: parts[0], turn, find, prompt: parts.length === 4 };
  return { page: "unknown" };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const ofIndex = ({ filter }) => `#/${query({ filter })}`;
export const ofExperiments = (asked) => `#/all/experiments${query(asked)}`;
export const ofSearch = (asked) => `#/all/search${query(asked)}`;

export function ofEpisode(id, turn = null, find = "", prompt = false) {
  const base = `#/${encodeURIComponent(id)}`;
  return (turn === null ? base : `${base}/turn/${turn}${prompt ? "/prompt" : ""}`) + query({ find });
}

function query(asked) {
  const said = Object.entries(asked).filter(([, text]) => text);
  return said.length ? `?${said.map(([name, text]) => `${name}=${encodeURIComponent(text)}`).join("&")}` : "";
}

export function ofComparison(ids, turn = null) {
  return `#/compare/${ids.map(encodeURIComponent).join("/")}${query({ turn })}`;
}

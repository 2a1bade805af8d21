// Addresses: "#/" all episodes, "#/?filter=score>10", "#/ID", "#/ID/turn/47", "#/compare/A/B".

/** What an address asks for. */
export function parse(hash) {
  const [path, query = ""] = hash.split(/\?(.*)/s);
  const parts = path.replace(/^#?\/?/, "").split("/").filter(Boolean).map(decoded);
  if (!parts.length) return { page: "index", filter: new URLSearchParams(query).get("filter") ?? "" };
  if (parts[0] === "compare" && parts.length === 3) return { page: "compare", ids: parts.slice(1) };
  if (parts.length === 1) return { page: "episode", id: parts[0], turn: null };
  const turn = Number(parts[2]);
  if (parts.length === 3 && parts[1] === "turn" && Number.isInteger(turn) && turn >= 0)
    return { page: "episode", id: parts[0], turn };
  return { page: "unknown" };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const ofIndex = (filter) => (filter ? `#/?filter=${encodeURIComponent(filter)}` : "#/");

export function ofEpisode(id, turn = null) {
  const base = `#/${encodeURIComponent(id)}`;
  return turn === null ? base : `${base}/turn/${turn}`;
}

export function ofComparison(ids) {
  return `#/compare/${ids.map(encodeURIComponent).join("/")}`;
}

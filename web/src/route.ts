// Where the app is: the part of the address after the `#`, which no server sees. It never names a server.

import { Store } from "./store";

export type Route =
  | { at: "inbox" }
  /** `seq`: the event that is looked for. */
  | { at: "session"; id: string; seq?: number }
  | { at: "new"; resume?: string }
  | { at: "settings" }
  | { at: "team"; part: TeamPart }
  | { at: "shared"; token: string }
  | { at: "pair"; code: string };

/** What is shown of teams. */
export type TeamPart = "tree" | "jobs" | "letters";

export function parse(hash: string): Route {
  const path = hash.replace(/^#\/?/, "");
  const pairing = /^pair(?:[/=?]|\?code=)([A-Za-z0-9-]{1,128})$/.exec(path);
  if (pairing?.[1]) return { at: "pair", code: pairing[1] };
  const [name, rest, place] = path.split("/", 3);
  const id = rest === undefined ? "" : decode(rest);
  if (name === "s" && id && /^\d{1,15}$/.test(place ?? "")) return { at: "session", id, seq: Number(place) };
  if (name === "s" && id) return { at: "session", id };
  if (name === "new") return id ? { at: "new", resume: id } : { at: "new" };
  if (name === "shared" && /^[\w-]{1,200}$/.test(id)) return { at: "shared", token: id };
  if (name === "team") return { at: "team", part: id === "jobs" || id === "letters" ? id : "tree" };
  if (name === "settings") return { at: "settings" };
  return name === "pair" ? { at: "pair", code: "" } : { at: "inbox" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export function hrefOf(route: Route): string {
  switch (route.at) {
    case "inbox":
      return "#/";
    case "session":
      return `#/s/${encodeURIComponent(route.id)}${route.seq === undefined ? "" : `/${route.seq}`}`;
    case "new":
      return route.resume ? `#/new/${encodeURIComponent(route.resume)}` : "#/new";
    case "team":
      return route.part === "tree" ? "#/team" : `#/team/${route.part}`;
    case "settings":
      return "#/settings";
    case "shared":
      return `#/shared/${encodeURIComponent(route.token)}`;
    case "pair":
      return "#/pair";
  }
}

/** A link `/pair#CODE` is a pairing link too. */
function here(): Route {
  const { pathname, hash } = window.location;
  return parse(pathname === "/pair" && !hash.startsWith("#/") ? `#/pair/${hash.slice(1)}` : hash);
}

export const route = new Store<Route>(typeof window === "undefined" ? { at: "inbox" } : here());

export function go(to: Route, replace = false): void {
  if (replace) window.history.replaceState(null, "", `/${hrefOf(to)}`);
  else window.history.pushState(null, "", `/${hrefOf(to)}`);
  route.set(to);
}

export function listen(): void {
  window.addEventListener("popstate", () => route.set(here()));
  window.addEventListener("hashchange", () => route.set(here()));
  const first = route.value;
  // A code works once; it need not stay in the history.
  if (first.at === "pair" && first.code !== "") window.history.replaceState(null, "", "/#/pair");
}

// Where the app is: the part of the address after the `#`, which no server sees. It never names a server.

import { Store } from "./store";

export type Route =
  | { at: "inbox" }
  | { at: "session"; id: string }
  | { at: "new"; resume?: string }
  | { at: "settings" }
  | { at: "pair"; code: string };

export function parse(hash: string): Route {
  const path = hash.replace(/^#\/?/, "");
  const pairing = /^pair(?:[/=?]|\?code=)([A-Za-z0-9-]{1,128})$/.exec(path);
  if (pairing?.[1]) return { at: "pair", code: pairing[1] };
  const [name, rest] = path.split("/", 2);
  const id = rest === undefined ? "" : decode(rest);
  if (name === "s" && id) return { at: "session", id };
  if (name === "new") return id ? { at: "new", resume: id } : { at: "new" };
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
      return `#/s/${encodeURIComponent(route.id)}`;
    case "new":
      return route.resume ? `#/new/${encodeURIComponent(route.resume)}` : "#/new";
    case "settings":
      return "#/settings";
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

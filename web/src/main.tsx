// The beginning: theme, what the phone kept, the connection, the screen.

import { render } from "preact";
import { start } from "./app";
import { listen } from "./route";
import { Shell } from "./screens/shell";
import { dress } from "./settings";

dress();
listen();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<Shell />, root);
}
void start();

// Browsers have no service worker on a connection that they do not trust; the app works without.
if ("serviceWorker" in navigator && import.meta.env.PROD) {
  navigator.serviceWorker.register("/sw.js").catch(() => undefined);
}

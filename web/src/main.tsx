// The beginning: theme, what the phone kept, the connection, the screen.

import { render } from "preact";
import { start } from "./app";
import { watchAway } from "./away";
import { watchCalls } from "./push";
import { listen, route } from "./route";
import { Shell } from "./screens/shell";
import { dress } from "./settings";
import { watchTeams } from "./team";
import "./worker";

dress();
listen();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<Shell />, root);
}

let begun = false;
/** Whoever has a link to one session sees that session, and nothing is asked of the daemon in their name until they leave it. */
function begin(): void {
  if (begun || route.value.at === "shared") return;
  begun = true;
  watchAway();
  watchCalls();
  watchTeams();
  void start();
}
route.watch(begin);
begin();

// What the daemon offers to choose from. Asked for once for each connection.

import { api } from "./api/http";
import type { Model } from "./api/types";
import { state } from "./app";
import { Store, useStore } from "./store";

/** The names that the CLI itself takes for its models, whatever their versions are. */
const FIRST: readonly Model[] = [
  { id: "auto", label: "Gemini CLI chooses a model for each prompt" },
  { id: "pro", label: "Best for complex tasks" },
  { id: "flash", label: "Fast, for most tasks" },
  { id: "flash-lite", label: "Fastest" },
];

const models = new Store<readonly Model[]>(FIRST);
let asked: unknown;

/** The models that can be asked for. */
export function useModels(): readonly Model[] {
  const hello = useStore(state, (now) => now.hello);
  if (hello && asked !== hello && hello.features.includes("models")) {
    asked = hello;
    // Without an answer the names that are always there stay.
    api.models().then(
      (answer) => models.set(answer.models.length > 0 ? answer.models : FIRST),
      () => undefined,
    );
  }
  return useStore(models, (now) => now);
}

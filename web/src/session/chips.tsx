// The chips under the prompt: which model, and what it may do without asking.

import { Check, ChevronDown, Cpu, Flame, type IconNode, ScrollText, Shield, ShieldCheck } from "lucide";
import { useState } from "preact/hooks";
import type { Mode, Summary } from "../api/types";
import { send, state } from "../app";
import { useModels } from "../offers";
import { count, MODES, modeOf, span } from "../state/words";
import { useStore } from "../store";
import { useNow } from "../ui/clock";
import { Icon } from "../ui/icon";
import { Sheet } from "../ui/sheet";

export const MODE_ICONS: Readonly<Record<Mode, IconNode>> = {
  default: Shield,
  auto_edit: ShieldCheck,
  plan: ScrollText,
  yolo: Flame,
};

export function ModelChip({ session }: { session: Summary }) {
  const [open, setOpen] = useState(false);
  const models = useModels();
  const choose = (model: string) => {
    setOpen(false);
    if (model !== session.model) send(session.id, { type: "model", model });
  };
  return (
    <>
      <button type="button" class="chip-button" onClick={() => setOpen(true)}>
        <Icon of={Cpu} size={14} />
        <span class="sr">Model </span>
        <span>{(session.model ?? "auto").replace(/^gemini-/, "")}</span>
        <Icon of={ChevronDown} size={13} />
      </button>
      {open && (
        <Sheet title="Model" onClose={() => setOpen(false)}>
          <ul class="choices">
            {models.map(({ id, label, context }) => (
              <li key={id}>
                <button type="button" onClick={() => choose(id)}>
                  <span class="choice-text">
                    <b>{id}</b>
                    <span class="hint">
                      {label}
                      {context !== undefined && `, ${count(context)} tokens`}
                    </span>
                  </span>
                  {(session.model ?? "auto") === id && <Icon of={Check} />}
                </button>
              </li>
            ))}
          </ul>
        </Sheet>
      )}
    </>
  );
}

export function ModeChip({ session }: { session: Summary }) {
  const [open, setOpen] = useState(false);
  const may = useStore(state, (now) => now.hello?.scopes.includes("approve") ?? false);
  const until = session.mode_until ? Date.parse(session.mode_until) : undefined;
  const now = useNow(until !== undefined);
  const choose = (mode: Mode) => {
    setOpen(false);
    if (mode !== session.mode) send(session.id, { type: "mode", mode });
  };
  return (
    <>
      <button type="button" class={`chip-button mode-${session.mode}`} onClick={() => setOpen(true)}>
        <Icon of={MODE_ICONS[session.mode] ?? Shield} size={14} />
        <span class="sr">Mode </span>
        <span>{modeOf(session.mode).name}</span>
        {until !== undefined && <span class="age">{span(until - now)}</span>}
        <Icon of={ChevronDown} size={13} />
      </button>
      {open && (
        <Sheet title="Permissions" onClose={() => setOpen(false)}>
          {!may && <p class="hint">This device cannot change the mode.</p>}
          <ul class="choices">
            {(Object.keys(MODES) as Mode[]).map((mode) => (
              <li key={mode}>
                <button
                  type="button"
                  class={mode === "yolo" ? "yolo" : ""}
                  disabled={!may}
                  onClick={() => choose(mode)}
                >
                  <Icon of={MODE_ICONS[mode]} size={20} />
                  <span class="choice-text">
                    <b>{MODES[mode].name}</b>
                    <span class="hint">
                      {MODES[mode].says}
                      {mode === "yolo" && ", for at most 1 hour"}
                    </span>
                  </span>
                  {session.mode === mode && <Icon of={Check} />}
                </button>
              </li>
            ))}
          </ul>
        </Sheet>
      )}
    </>
  );
}

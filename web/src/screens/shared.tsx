// What somebody with a link sees: one session, to be read.

import { useEffect, useMemo, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Problem, Shared, Summary } from "../api/types";
import { RowView } from "../session/row";
import { ToolSheet } from "../session/tool";
import { EMPTY_SESSION } from "../state/model";
import { rowsOf, type Tool } from "../state/rows";
import { moment, titleOf } from "../state/words";
import { Badge } from "../ui/icon";
import { ProblemNotice } from "../ui/problem";

/** What the rows want to know of a session that nobody tells about. */
const NOBODY: Summary = {
  id: "",
  version: 0,
  status: "exited",
  mode: "default",
  questions: [],
  queue: [],
  held: false,
  seq: 0,
  epoch: 0,
  messages: 0,
  tokens: 0,
  created_at: "",
  updated_at: "",
};

export function SharedScreen({ token }: { token: string }) {
  const [shared, setShared] = useState<Shared | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [tool, setTool] = useState<Tool | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const load = async (before?: number) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const page = await api.shared(token, before);
      setShared((known) => ({ ...page, messages: [...page.messages, ...(known?.messages ?? [])] }));
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    void load();
  }, [token]);
  // Of a text that was cut only the beginning is shown here.
  const rows = useMemo(
    () =>
      rowsOf({
        ...EMPTY_SESSION,
        messages: (shared?.messages ?? []).map(({ cut: _cut, ...recorded }) => recorded),
      }),
    [shared],
  );
  return (
    <main class="shared">
      <header class="bar">
        <Badge size={28} />
        <div class="headline">
          <h1 dir="auto">{titleOf(shared, "Shared session")}</h1>
          {shared && <p class="hint">Read-only until {moment(shared.expires_at)}, secrets removed</p>}
        </div>
      </header>
      <div class="shared-rows">
        {problem && <ProblemNotice problem={problem} />}
        {shared?.before !== undefined && (
          <button type="button" class="button" disabled={busy} onClick={() => load(shared.before)}>
            Older messages
          </button>
        )}
        {rows.map((row) => (
          <RowView key={row.key} row={row} session={NOBODY} onTool={setTool} />
        ))}
      </div>
      {tool && <ToolSheet tool={tool} session={NOBODY} onClose={() => setTool(undefined)} />}
    </main>
  );
}

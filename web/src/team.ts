// Teams: asked for when the list is true, and again when the daemon says that something is different. Jobs and letters
// only while somebody looks at them.

import { api, problemOf } from "./api/http";
import { dispatch, onInStep, say, state } from "./app";

let shown = 0;
let asking = false;
let again = false;

/** Asks once for all that rang meanwhile. */
async function ask(): Promise<void> {
  if (!state.value.hello?.features.includes("teams")) return;
  again = asking;
  if (asking) return;
  asking = true;
  try {
    const [team, work] = await Promise.all([
      api.team(),
      shown > 0 ? Promise.all([api.jobs(), api.letters()]) : undefined,
    ]);
    const before = state.value.team;
    dispatch({
      type: "team",
      team: {
        members: team.members,
        unread: team.unread,
        jobs: work ? work[0].jobs : before?.jobs,
        letters: work ? work[1].letters : before?.letters,
      },
    });
  } catch (error) {
    if (shown > 0) say(problemOf(error).message);
  } finally {
    asking = false;
    if (again) void ask();
  }
}

/** While this runs, jobs and letters are known too. */
export function watchWork(): () => void {
  shown += 1;
  void ask();
  return () => {
    shown -= 1;
  };
}

export function watchTeams(): void {
  onInStep.add(() => void ask());
  let news = state.value.teamNews;
  state.watch(() => {
    if (state.value.teamNews === news) return;
    news = state.value.teamNews;
    void ask();
  });
}

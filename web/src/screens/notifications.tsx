// Settings of the calls to this device, with a button to try them.

import { Bell, BellOff } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import { say } from "../app";
import { type Calls, callsNow, turnOff, turnOn, whyUnable } from "../push";
import { Icon } from "../ui/icon";

const SAYS: Readonly<Record<Exclude<Calls, object>, string>> = {
  blocked: "Notifications are blocked in this browser's settings.",
  off: "Get notified when an agent asks, ends, fails or stalls while you are not using the app.",
  on: "This device is notified when an agent asks, ends, fails or stalls while you are not using the app.",
};

export function Notifications() {
  const [calls, setCalls] = useState<Calls | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    callsNow().then(setCalls, () =>
      setCalls({ unable: "This browser does not report whether it supports notifications." }),
    );
  }, []);
  const run = async (change: () => Promise<Calls>) => {
    setBusy(true);
    try {
      setCalls(await change());
    } catch (error) {
      say(`Notifications failed: ${problemOf(error).hint ?? problemOf(error).message}`);
    } finally {
      setBusy(false);
    }
  };
  const test = async () => {
    const { called } = await api.callMe();
    if (called === 0) say("No notification was sent. Turn notifications off and on again.");
    return "on" as const;
  };
  if (calls === undefined) return null;
  return (
    <fieldset>
      <legend>Notifications</legend>
      <p class="hint">{typeof calls === "object" ? `Off. ${calls.unable}` : SAYS[calls]}</p>
      <div class="buttons">
        {calls === "off" && (
          <button type="button" class="button primary" disabled={busy} onClick={() => run(turnOn)}>
            <Icon of={Bell} size={16} /> Turn on
          </button>
        )}
        {calls === "on" && (
          <>
            <button type="button" class="button" disabled={busy} onClick={() => run(test)}>
              <Icon of={Bell} size={16} /> Send a test
            </button>
            <button type="button" class="button" disabled={busy} onClick={() => run(turnOff)}>
              <Icon of={BellOff} size={16} /> Turn off
            </button>
          </>
        )}
      </div>
    </fieldset>
  );
}

/** Said where a device is let in: what it will not do at this address, before anybody counts on it. */
export function Uncalled() {
  const [why, setWhy] = useState<string | undefined>(undefined);
  useEffect(() => {
    whyUnable().then(setWhy, () => undefined);
  }, []);
  if (why === undefined) return null;
  return (
    <div class="notice" role="note">
      <Icon of={BellOff} size={16} />
      <p>
        <b>No notifications here.</b> {why}
      </p>
    </div>
  );
}

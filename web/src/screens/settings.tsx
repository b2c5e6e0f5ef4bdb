// Settings: how this device looks, and which devices are let in.

import { ChevronLeft, Smartphone } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Device, Pair } from "../api/types";
import { connection, say, state } from "../app";
import { hrefOf } from "../route";
import { choose, type Settings, settings } from "../settings";
import { age, timeOf } from "../state/words";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { Notifications } from "./notifications";
import { NeedBar } from "./questions";

export function SettingsScreen() {
  const chosen = useStore(settings, (now) => now);
  const hello = useStore(state, (now) => now.hello);
  return (
    <div class="page">
      <header class="bar">
        <a class="plain round back" href={hrefOf({ at: "inbox" })} aria-label="All sessions">
          <Icon of={ChevronLeft} size={24} />
        </a>
        <h1>Settings</h1>
      </header>
      <NeedBar />
      <div class="page-scroll">
        <Segments
          title="Theme"
          name="theme"
          chosen={chosen.theme}
          options={{ auto: "Auto", light: "Light", dark: "Dark" }}
        />
        <Segments
          title="Text size"
          name="text"
          chosen={chosen.text}
          options={{ small: "Small", medium: "Medium", large: "Large", huge: "Huge" }}
        />
        <Segments
          title="Thinking"
          name="thinking"
          chosen={chosen.thinking}
          options={{ line: "One line", open: "Expanded", hidden: "Hidden" }}
        />
        {hello?.features.includes("push") && <Notifications />}
        <fieldset>
          <legend>This device</legend>
          <dl class="facts">
            <dt>Name</dt>
            <dd>{hello?.device ?? "not connected"}</dd>
            <dt>Permissions</dt>
            <dd>{hello?.scopes.join(", ") ?? ""}</dd>
            <dt>Pollux</dt>
            <dd>{hello?.pollux ?? ""}</dd>
            <dt>Address</dt>
            <dd class="mono">{window.location.host}</dd>
          </dl>
          {!window.isSecureContext && (
            <p class="hint">
              Browsers do not trust this address. The app cannot be installed from here and does not work
              offline.
            </p>
          )}
        </fieldset>
        {hello?.scopes.includes("admin") && <Devices />}
        <button type="button" class="button" onClick={() => connection.tell({ type: "anew" })}>
          Reconnect
        </button>
      </div>
    </div>
  );
}

type SegmentsProps<K extends keyof Settings> = {
  title: string;
  name: K;
  chosen: Settings[K];
  options: Readonly<Record<string, string>>;
};

function Segments<K extends keyof Settings>({ title, name, chosen, options }: SegmentsProps<K>) {
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="segments">
        {Object.entries(options).map(([value, label]) => (
          <label key={value} class="segment">
            <input
              type="radio"
              name={name}
              checked={chosen === value}
              onChange={() => choose({ [name]: value } as Partial<Settings>)}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Devices() {
  const [devices, setDevices] = useState<readonly Device[]>([]);
  const [pair, setPair] = useState<Pair | undefined>(undefined);
  const load = () => {
    api.devices().then(
      ({ devices: all }) => setDevices(all),
      (error) => say(problemOf(error).message),
    );
  };
  useEffect(load, []);
  const revoke = async (device: Device) => {
    try {
      await api.revoke(device.id);
      say(`Revoked ${device.name}`);
      load();
    } catch (error) {
      say(problemOf(error).message);
    }
  };
  const invite = () => {
    api
      .invite("another device", ["view", "prompt", "approve"])
      .then(setPair, (error) => say(problemOf(error).message));
  };
  return (
    <fieldset>
      <legend>Devices</legend>
      <ul class="devices">
        {devices.map((device) => (
          <li key={device.id}>
            <Icon of={Smartphone} />
            <span class="choice-text">
              <b>{device.name}</b>
              <span class="hint">
                {device.scopes.join(", ")}
                {device.seen_at && ` · ${hereWhen(device.seen_at)}`}
              </span>
            </span>
            <button
              type="button"
              class="button danger small"
              aria-label={`Revoke ${device.name}`}
              onClick={() => revoke(device)}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
      {pair ? (
        <p class="invite">
          Code <b class="mono">{pair.code}</b>, expires at {timeOf(pair.expires_at)}
        </p>
      ) : (
        <button type="button" class="button" onClick={invite}>
          Pair another device
        </button>
      )}
    </fieldset>
  );
}

function hereWhen(seen: string): string {
  const ago = age(Date.now() - Date.parse(seen));
  return ago === "now" ? "active now" : `last seen ${ago} ago`;
}

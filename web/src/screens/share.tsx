// A link for somebody who may read this one session and nothing else, for a while.

import { useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { ShareLink, Summary } from "../api/types";
import { say } from "../app";
import { moment } from "../state/words";
import { CopyButton } from "../ui/copy";
import { Sheet } from "../ui/sheet";

const HOURS: Readonly<Record<string, number>> = { "1 hour": 1, "1 day": 24, "1 week": 168 };

export function ShareSheet({ session, onClose }: { session: Summary; onClose: () => void }) {
  const [hours, setHours] = useState(24);
  const [link, setLink] = useState<ShareLink | undefined>(undefined);
  const make = () => api.share(session.id, hours).then(setLink, (error) => say(problemOf(error).message));
  const takeBack = async () => {
    try {
      await api.unshare(session.id);
      setLink(undefined);
      say("All links to this session are revoked");
    } catch (error) {
      say(problemOf(error).message);
    }
  };
  const [url] = link?.urls ?? [];
  return (
    <Sheet title="Share read-only link" onClose={onClose}>
      <p class="hint">
        Anyone with the link can read this session, but not change it. Pollux removes secrets that it
        recognises. Review the session before you send the link.
      </p>
      {link && url ? (
        <>
          <p class="share-url">
            <code>{url}</code>
            <CopyButton text={url} label="Copy link" />
          </p>
          <p class="hint">Expires {moment(link.expires_at)}</p>
        </>
      ) : (
        <fieldset>
          <legend>Link expires after</legend>
          <div class="segments">
            {Object.entries(HOURS).map(([label, value]) => (
              <label key={label} class="segment">
                <input type="radio" name="hours" checked={hours === value} onChange={() => setHours(value)} />
                <span>{label}</span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      <div class="buttons">
        {!link && (
          <button type="button" class="button primary" onClick={make}>
            Create link
          </button>
        )}
        <button type="button" class="button danger" onClick={takeBack}>
          Revoke all links
        </button>
      </div>
    </Sheet>
  );
}

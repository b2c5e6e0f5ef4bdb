// Looking for a folder on the machine, within those that are allowed.

import { ChevronLeft, ChevronRight, Folder } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Browsed } from "../api/types";
import { base } from "../state/words";
import { Icon } from "../ui/icon";
import { Sheet } from "../ui/sheet";

type Props = { roots: readonly string[]; onPick: (path: string) => void; onClose: () => void };

export function BrowseSheet({ roots, onPick, onClose }: Props) {
  const [path, setPath] = useState<string | undefined>(roots.length === 1 ? roots[0] : undefined);
  const [here, setHere] = useState<Browsed | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  useEffect(() => {
    setHere(undefined);
    setProblem(undefined);
    if (path === undefined) return;
    let wanted = true;
    api.browse(path).then(
      (answer) => wanted && setHere(answer),
      (error) => wanted && setProblem(problemOf(error).message),
    );
    return () => {
      wanted = false;
    };
  }, [path]);
  const root = roots.find((one) => path === one || path?.startsWith(`${one}/`));
  const up = path === undefined ? undefined : path === root ? "" : path.slice(0, path.lastIndexOf("/"));
  const names = path === undefined ? roots : (here?.directories.map((name) => `${path}/${name}`) ?? []);
  return (
    <Sheet
      title="Choose a folder"
      onClose={onClose}
      footer={
        path !== undefined && (
          <button
            type="button"
            class="button primary big"
            onClick={() => {
              onPick(path);
              onClose();
            }}
          >
            Use {base(path)}
          </button>
        )
      }
    >
      {path !== undefined && <p class="mono hint">{path}</p>}
      <ul class="choices">
        {up !== undefined && (up !== "" || roots.length > 1) && (
          <li>
            <button type="button" onClick={() => setPath(up === "" ? undefined : up)}>
              <Icon of={ChevronLeft} /> Back
            </button>
          </li>
        )}
        {names.map((name) => (
          <li key={name}>
            <button type="button" onClick={() => setPath(name)}>
              <Icon of={Folder} />
              <span class="choice-text">
                <b dir="auto">{base(name)}</b>
                {path === undefined && <span class="hint mono">{name}</span>}
              </span>
              <Icon of={ChevronRight} size={16} />
            </button>
          </li>
        ))}
      </ul>
      {problem && <p class="hint">{problem}</p>}
      {here?.directories.length === 0 && <p class="hint">No folders here</p>}
    </Sheet>
  );
}

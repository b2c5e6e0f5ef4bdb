// A sheet that comes up from the bottom on a phone and stands in the middle of a desk: the browser's own dialog,
// which keeps the focus inside and the rest of the page out of reach.

import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icon";

type Props = {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  footer?: ComponentChildren;
  lead?: ComponentChildren;
};

export function Sheet({ title, onClose, children, footer, lead }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const body = useRef<HTMLDivElement>(null);
  // Not after the next drawing: until then the focus would be nowhere, and a key that is pressed would be lost.
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    body.current?.focus();
    return () => {
      dialog?.close();
      // By itself a browser may give the focus back only where it was in the dialog.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the key that closes a dialog is the browser's own, Escape
    <dialog
      ref={ref}
      class="sheet"
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      {/* The focus begins at the sheet and not at its first button. */}
      <div class="sheet-body" tabIndex={-1} ref={body}>
        <header class="sheet-head">
          {lead}
          <h2>{title}</h2>
          <button type="button" class="plain round" aria-label="Close" onClick={onClose}>
            <Icon of={X} size={20} />
          </button>
        </header>
        <div class="sheet-scroll">{children}</div>
        {footer && <footer class="sheet-foot">{footer}</footer>}
      </div>
    </dialog>
  );
}

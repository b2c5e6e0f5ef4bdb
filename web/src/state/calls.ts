// Whether this device can be called while the app is closed, and if not, why. Pure: what the browser says comes in.

/** What the browser says of itself and of this address. */
export type Browser = {
  /** False on plain HTTP, but for this machine itself. */
  secure: boolean;
  /** Whether the part of the app that is called was let in. It is not where the certificate is not trusted. */
  worker: boolean;
  push: boolean;
  /** iPhones and iPads, on which only installed apps are called. */
  apple: boolean;
};

const TRUSTED =
  "Start the daemon with a certificate this device trusts (--certificate, --key), or behind a proxy that has one.";

/** Why it cannot be called, and what to do; undefined where it can. */
export function whyNot({ secure, worker, push, apple }: Browser): string | undefined {
  if (!secure)
    return `This page was loaded without TLS, and browsers allow notifications only over TLS. ${TRUSTED}`;
  if (!worker)
    return `This browser does not trust the certificate of this address, so it blocks notifications. ${TRUSTED}`;
  if (push) return undefined;
  return apple
    ? "On iPhone and iPad, only installed apps get notifications. Add this page to the home screen and open it from there."
    : "This browser does not support Web Push.";
}

// The service worker: asked for once, and known to those who need it.

/** None where the browser has none, or lets none in: on an address that it does not trust. The app works without. */
export const worker: Promise<ServiceWorkerRegistration | undefined> =
  "serviceWorker" in navigator && import.meta.env.PROD
    ? navigator.serviceWorker.register("/sw.js").catch(() => undefined)
    : Promise.resolve(undefined);

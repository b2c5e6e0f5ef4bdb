//! What goes over the wire between the daemon and its clients: frames, summaries, bodies of requests and answers. The
//! TypeScript types in `web/src/api/types.ts` and the OpenAPI document are made from these.

mod afar;
mod bring;
mod frame;
mod http;
pub mod reference;
pub mod schedule;
mod session;
pub mod team;
pub mod typescript;

pub use afar::{
    Call, CallKind, Called, PushKey, Share, ShareLink, Shared, Subscribe, SubscribeKeys,
    Unsubscribe, Watched,
};
pub use bring::{Bring, Said, Told};
pub use frame::{
    ClientFrame, Hello, Line, Numbered, Picture, Recorded, ServerFrame, Snapshot, Why,
};
pub use http::{
    Accepted, Adopt, AuditEntry, Begin, Browsed, Capabilities, CommandBody, Counted, Device,
    Devices, Events, Files, Found, Health, Image, Kept, Me, Messages, Model, Models, Pair, Paired,
    Pairing, Problem, Projects, Scope, Search, Sessions, Slash, SlashCommands, Trust, UsageBody,
};
pub use session::{Context, Driver, Live, LivePart, OpenQuestion, Summary};

/// The version of the API: the `1` of `/api/v1`. It rises only when an old client would misunderstand.
pub const VERSION: u32 = 1;
/// Optional features of this daemon. A client checks this list before it uses a newer feature.
pub const FEATURES: &[&str] = &[
    "resume", "queue", "shown", "search", "pages", "pairing", "scopes", "audit", "restore",
    "terminal", "screen", "images", "files", "models", "share", "push", "teams",
];
/// Seconds between heartbeats of the daemon. A client that receives nothing for three times as long reconnects.
pub const HEARTBEAT_SECONDS: u64 = 15;
/// No frame is larger than about this. What is longer is cut, says so, and is fetched by page.
pub const FRAME_BYTES: usize = 128 << 10;

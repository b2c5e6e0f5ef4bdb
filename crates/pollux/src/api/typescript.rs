//! The types of the API in TypeScript, as one file.

use super::frame::{ClientFrame, ServerFrame};
use super::{afar, http, team};
use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};
use ts_rs::{Config, TS, TypeVisitor};

const HEAD: &str = "// Generated from the Rust types by `cargo xtask types`. Do not edit.\n";

/// The whole file.
pub fn file() -> String {
    let mut all = All {
        config: Config::new().with_large_int("number"),
        seen: HashSet::new(),
        types: BTreeMap::new(),
    };
    all.visit::<ClientFrame>();
    all.visit::<ServerFrame>();
    all.visit::<http::Health>();
    all.visit::<http::Me>();
    all.visit::<http::Sessions>();
    all.visit::<http::Begin>();
    all.visit::<http::Adopt>();
    all.visit::<http::CommandBody>();
    all.visit::<http::Accepted>();
    all.visit::<http::Messages>();
    all.visit::<http::Events>();
    all.visit::<http::Search>();
    all.visit::<http::Projects>();
    all.visit::<http::Trust>();
    all.visit::<http::UsageBody>();
    all.visit::<http::Files>();
    all.visit::<http::Browsed>();
    all.visit::<http::SlashCommands>();
    all.visit::<http::Models>();
    all.visit::<http::Image>();
    all.visit::<http::Kept>();
    all.visit::<afar::Share>();
    all.visit::<afar::ShareLink>();
    all.visit::<afar::Watched>();
    all.visit::<afar::Shared>();
    all.visit::<afar::PushKey>();
    all.visit::<afar::Subscribe>();
    all.visit::<afar::Unsubscribe>();
    all.visit::<afar::Called>();
    all.visit::<afar::Call>();
    all.visit::<http::Capabilities>();
    all.visit::<http::Pairing>();
    all.visit::<http::Pair>();
    all.visit::<http::Paired>();
    all.visit::<http::Devices>();
    all.visit::<http::AuditEntry>();
    all.visit::<team::Teams>();
    all.visit::<team::Profiles>();
    all.visit::<team::Jobs>();
    all.visit::<team::Letters>();
    all.visit::<team::Write>();
    all.visit::<team::More>();
    all.visit::<team::Launch>();
    all.visit::<team::Give>();
    let mut text = String::from(HEAD);
    for declaration in all.types.values() {
        text.push('\n');
        text.push_str(declaration);
    }
    text
}

struct All {
    config: Config,
    seen: HashSet<TypeId>,
    types: BTreeMap<String, String>,
}

impl TypeVisitor for All {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if !self.seen.insert(TypeId::of::<T>()) {
            return;
        }
        T::visit_generics(self);
        T::visit_dependencies(self);
        if T::output_path().is_some() {
            let docs = T::docs().unwrap_or_default();
            let declaration = format!("{docs}export {}\n", T::decl(&self.config));
            // Two types of one name would both be there, and a test would say so.
            let known = self.types.entry(T::ident(&self.config)).or_default();
            if *known != declaration {
                known.push_str(&declaration);
            }
        }
    }
}

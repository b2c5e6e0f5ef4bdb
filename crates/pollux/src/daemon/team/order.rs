//! The members of teams in the order in which they are shown: as a tree that is written down line by line.

use crate::api::team::Member;
use std::collections::HashSet;

/// Each after the one that it works for, those on one level in the order in which they came.
pub(super) fn in_order(all: &[Member]) -> Vec<Member> {
    fn below(parent: Option<&str>, all: &[Member], out: &mut Vec<Member>) {
        for member in all.iter().filter(|member| member.parent.as_deref() == parent) {
            out.push(member.clone());
            below(Some(&member.session), all, out);
        }
    }
    let known: HashSet<&str> = all.iter().map(|member| member.session.as_str()).collect();
    let mut out = Vec::new();
    for member in all {
        let root = member.parent.as_deref().is_none_or(|parent| !known.contains(parent));
        if root {
            out.push(member.clone());
            below(Some(&member.session), all, &mut out);
        }
    }
    out
}

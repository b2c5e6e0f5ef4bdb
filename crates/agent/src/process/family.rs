//! Who a child has started: by their parents, and by the mark in their environment. Linux tells both in `/proc`; where
//! there is no `/proc`, the group is all that can be reached.

use super::MARK;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::fs;

/// The processes that descend from a child or bear its mark, the child itself left out.
pub(super) fn of(child: Option<Pid>, mark: &str) -> Vec<Pid> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    let mark = format!("{MARK}={mark}");
    let mut parents = HashMap::new();
    let mut family = Vec::new();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    for number in numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        parents.insert(number, parent(number));
        if number != me && bears(number, &mark) {
            family.push(number);
        }
    }
    let root = child.map_or(0, |child| child.as_raw_nonzero().get());
    for number in parents.keys().filter(|number| descends(**number, root, &parents)) {
        family.push(*number);
    }
    family.sort_unstable();
    family.dedup();
    family.retain(|number| *number != root && *number != me);
    family.into_iter().filter_map(Pid::from_raw).collect()
}

fn bears(number: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// The parent of a process: the second field behind its name, which may hold anything, a bracket included.
fn parent(number: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
    fields.split(' ').nth(1).and_then(|parent| parent.parse().ok()).unwrap_or(0)
}

fn descends(number: i32, root: i32, parents: &HashMap<i32, i32>) -> bool {
    let mut at = number;
    // A chain of parents is short; a circle cannot be, but would not end.
    for _ in 0..64 {
        match parents.get(&at) {
            Some(0) | None => return false,
            Some(parent) if *parent == root && root != 0 => return true,
            Some(parent) => at = *parent,
        }
    }
    false
}

/// Ends processes at once.
pub(super) fn end(family: &[Pid]) {
    for process in family {
        // Who is gone already needs no signal.
        let _gone = kill_process(*process, Signal::KILL);
    }
}

//! Who a child has started: by their parents, and by the mark in their environment. Linux tells both in `/proc`; where
//! there is no `/proc`, the group is all that can be reached.

use super::MARK;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The processes that bear a mark.
pub(super) fn marked(mark: &str) -> Vec<Pid> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    let mark = format!("{MARK}={mark}");
    // One buffer for all: the kernel does not tell how long an environment is, and a large one is read at once.
    let mut room = Vec::with_capacity(64 << 10);
    let others = numbers().filter(|number| *number != me);
    let bearers = others.filter(|number| bears(*number, mark.as_bytes(), &mut room));
    bearers.filter_map(Pid::from_raw).collect()
}

/// The processes that bear the mark of a Pollux which is gone. Where its number belongs to somebody else by now, they are
/// not found: better one too few than one that is somebody's. For the same reason a process in a container is left alone: the
/// number in its mark is one of the container's. With `of`, only those of one Pollux.
pub(super) fn strays(of: Option<u32>) -> Vec<Pid> {
    let mut room = Vec::with_capacity(64 << 10);
    let is_gone = |owner: u32| !Path::new(&format!("/proc/{owner}")).exists();
    let is_meant = |owner: u32| of.is_none_or(|of| of == owner) && is_gone(owner);
    let is_stray = |number: &i32| owner(*number, &mut room).is_some_and(is_meant);
    let here = numbered_in("self");
    let is_here = |number: &i32| numbered_in(&number.to_string()) == here;
    numbers().filter(is_stray).filter(is_here).filter_map(Pid::from_raw).collect()
}

/// What a process has its number from: the machine, or a container.
fn numbered_in(process: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/pid")).ok()
}

/// The number of the Pollux that a process was started by.
fn owner(number: i32, room: &mut Vec<u8>) -> Option<u32> {
    room.clear();
    fs::File::open(format!("/proc/{number}/environ")).ok()?.read_to_end(room).ok()?;
    let prefix = format!("{MARK}=");
    let mark = room.split(|byte| *byte == 0).find_map(|it| it.strip_prefix(prefix.as_bytes()))?;
    std::str::from_utf8(mark).ok()?.split_once('-')?.0.parse().ok()
}

/// The processes that descend from a child, the child itself left out. To be asked while the child lives: the children
/// of one that is gone belong to somebody else.
pub(super) fn below(child: Pid) -> Vec<Pid> {
    let root = child.as_raw_nonzero().get();
    let parents: HashMap<i32, i32> = numbers().map(|number| (number, parent(number))).collect();
    let below = parents.keys().filter(|number| descends(**number, root, &parents));
    below.copied().filter_map(Pid::from_raw).collect()
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn bears(number: i32, mark: &[u8], room: &mut Vec<u8>) -> bool {
    room.clear();
    let file = fs::File::open(format!("/proc/{number}/environ"));
    // Who is gone, or belongs to somebody else, is none of ours.
    let read = file.and_then(|mut file| file.read_to_end(room));
    read.is_ok() && room.split(|byte| *byte == 0).any(|variable| variable == mark)
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
            Some(parent) if *parent == root => return true,
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

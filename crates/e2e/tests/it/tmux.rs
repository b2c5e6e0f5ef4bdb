//! The tmux host alone, in a real tmux: what is printed, typed, pasted, resized, and what dies.

use pollux_agent::terminal::{Emulator, Gone, Pane, Server, Size, Socket, Watch, Window};
use pollux_e2e::{kill_server, requires, wait_for};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(20);
const SIZE: Size = Size { columns: 80, rows: 24 };

/// A tmux server of the test's own, which goes with it.
struct Host {
    server: Server,
    directory: TempDir,
}

impl Host {
    async fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("pollux-tmux-").tempdir().unwrap();
        let server = Server::open(&Socket::Path(directory.path().join("socket"))).await.unwrap();
        Self { server, directory }
    }

    async fn run(&self, script: &str) -> Pane {
        self.run_in(self.directory.path(), script).await
    }

    async fn run_in(&self, cwd: &Path, script: &str) -> Pane {
        let command = ["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()];
        let env = [("ANSWER".to_owned(), "forty\n\"two\" $HOME".to_owned())];
        let name = cwd.file_name().unwrap_or_default().to_str().unwrap();
        let window = Window { name, cwd, env: &env, command: &command, size: SIZE };
        Pane::open(&self.server, &window).await.unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        kill_server(&self.directory.path().join("socket"));
    }
}

/// Feeds what is printed to an emulator until the screen shows a text.
async fn shows(watch: &mut Watch, emulator: &mut Emulator, text: &str) {
    let seen = tokio::time::timeout(LIMIT, async {
        while !emulator.screen().rows.join("\n").contains(text) {
            emulator.feed(&watch.next().await.output);
        }
    });
    assert!(seen.await.is_ok(), "no {text:?} on {:#?}", emulator.screen());
}

async fn drawn(pane: &Pane) -> Emulator {
    let captured = pane.capture().await.unwrap();
    let mut emulator = Emulator::new(captured.size);
    emulator.feed(captured.text.as_bytes());
    emulator
}

#[tokio::test]
async fn those_who_come_at_once_to_a_server_that_only_begins_do_not_end_it() {
    requires!(tmux);
    // One of eight such beginnings was the end of tmux 3.3a.
    for round in 0..24_u64 {
        let directory = tempfile::Builder::new().prefix("pollux-tmux-").tempdir().unwrap();
        let socket = Socket::Path(directory.path().join("socket"));
        let comes = async |after: u64| {
            tokio::time::sleep(Duration::from_millis(after)).await;
            Server::open(&socket).await
        };
        let all = tokio::join!(comes(0), comes(round), comes(2 * round));
        for server in [all.0, all.1, all.2] {
            let answer = server.unwrap().ask(&["display-message", "-p", "there"]).await;
            assert_eq!(answer.unwrap(), "there", "round {round}");
        }
        kill_server(&directory.path().join("socket"));
    }
}

#[tokio::test]
async fn those_who_come_and_go_all_the_time_do_not_end_it() {
    requires!(tmux);
    // As commands do that look at an agent again and again.
    let host = Host::new().await;
    let pane = host.run("exec cat").await;
    let looks = (0..4).map(async |_| {
        for _ in 0..25 {
            let server = Server::open(host.server.socket()).await.unwrap();
            assert_eq!(server.ask(&["display-message", "-p", "there"]).await.unwrap(), "there");
        }
    });
    futures::future::join_all(looks).await;
    pane.kill().await.unwrap();
}

#[tokio::test]
async fn those_who_go_at_once_do_not_take_what_others_have_along() {
    requires!(tmux);
    let host = Host::new().await;
    let other = ["new-session", "-d", "-s", "other", "exec cat"];
    host.server.command(&other).await.unwrap();
    for round in 0..8 {
        let server = Server::open(host.server.socket()).await.unwrap();
        let command = ["cat".to_owned()];
        let cwd = host.directory.path();
        let window = Window { name: "one", cwd, env: &[], command: &command, size: SIZE };
        let mut panes = Vec::new();
        for _ in 0..4 {
            panes.push(Pane::open(&server, &window).await.unwrap());
        }
        let kills = panes.iter().map(Pane::kill);
        for killed in futures::future::join_all(kills).await {
            killed.unwrap();
        }
        let left = host.server.socket().panes("#{session_name}").await.unwrap();
        assert_eq!(left, ["other"], "round {round}");
    }
}

#[tokio::test]
async fn what_tmux_tells_of_a_pane_it_tells_also_when_another_one_has_gone() {
    requires!(tmux);
    let host = Host::new().await;
    let (goes, stays) = (host.run("exec cat").await, host.run("exec cat").await);
    let mut watch = stays.watch();
    goes.kill().await.unwrap();
    host.server.command(&["select-pane", "-t", stays.id(), "-T", "another title"]).await.unwrap();
    let told =
        async { while watch.next().await.told.is_none_or(|told| told.title != "another title") {} };
    tokio::time::timeout(LIMIT, told).await.unwrap();
}

#[tokio::test]
async fn what_a_program_prints_is_heard_and_what_is_typed_reaches_it() {
    requires!(tmux);
    let host = Host::new().await;
    let pane = host.run("echo \"[$ANSWER]\"; exec cat").await;
    let mut watch = pane.watch();
    let mut emulator = drawn(&pane).await;
    shows(&mut watch, &mut emulator, "[forty\n\"two\" $HOME]").await;
    pane.type_text("ünïcode -- ; #{x}").await.unwrap();
    pane.press(&["Enter"]).await.unwrap();
    shows(&mut watch, &mut emulator, "ünïcode -- ; #{x}\nünïcode -- ; #{x}").await;
    let captured = pane.capture().await.unwrap();
    let cursor = emulator.screen().cursor.unwrap();
    assert_eq!((captured.size, captured.cursor.row), (SIZE, cursor.row));
}

#[tokio::test]
async fn a_paste_arrives_byte_for_byte_and_in_brackets_where_they_are_asked_for() {
    requires!(tmux);
    let host = Host::new().await;
    let into = host.directory.path().join("pasted");
    // Raw, so that the bytes are the ones that the terminal sent.
    let script = format!(
        "stty raw -echo; printf '\\033[?2004hready'; exec dd bs=1 count=200012 of={} 2>/dev/null",
        into.display()
    );
    let pane = host.run(&script).await;
    let mut watch = pane.watch();
    let mut emulator = drawn(&pane).await;
    shows(&mut watch, &mut emulator, "ready").await;
    let line = "~~~ a \"quoted\" $line \\ with\ttabs; #{and} ~more\n";
    let text: String = line.chars().cycle().take(200_000).collect();
    pane.paste(&text).await.unwrap();
    let expected = format!("\x1b[200~{text}\x1b[201~");
    wait_for("the paste", LIMIT, async || {
        let got = std::fs::read(&into).unwrap_or_default();
        if got == expected.as_bytes() { Ok(()) } else { Err(got.len()) }
    })
    .await;
}

#[tokio::test]
async fn a_program_runs_where_it_was_told_to_whatever_that_place_is_called() {
    requires!(tmux);
    let host = Host::new().await;
    for name in ["C#Shop", "#{pane_id}", "#(touch ran)", "a##b", "~", "%H:%M"] {
        let cwd = host.directory.path().join(name);
        std::fs::create_dir(&cwd).unwrap();
        let told = cwd.join("told");
        // It stays: a server whose last pane is gone goes as well.
        let _pane = host.run_in(&cwd, "pwd -P > told.part; mv told.part told; exec cat").await;
        let told = wait_for(name, LIMIT, async || std::fs::read_to_string(&told)).await;
        assert_eq!(Path::new(told.trim_end()), cwd.canonicalize().unwrap());
    }
    assert!(!host.directory.path().join("ran").exists(), "a name is no command");
}

#[tokio::test]
async fn keys_reach_the_program_of_a_pane_that_shows_its_history() {
    requires!(tmux);
    let host = Host::new().await;
    let pane = host.run("echo ready; exec cat").await;
    let mut watch = pane.watch();
    let mut emulator = drawn(&pane).await;
    shows(&mut watch, &mut emulator, "ready").await;
    host.server.command(&["copy-mode", "-t", pane.id()]).await.unwrap();
    assert!(pane.capture().await.unwrap().told.in_mode);
    pane.type_text("heard").await.unwrap();
    pane.press(&["Enter"]).await.unwrap();
    shows(&mut watch, &mut emulator, "heard\nheard").await;
}

#[tokio::test]
async fn a_window_that_is_resized_says_so_and_has_its_new_size() {
    requires!(tmux);
    let host = Host::new().await;
    let pane = host.run("exec cat").await;
    let mut watch = pane.watch();
    let small = Size { columns: 40, rows: 12 };
    pane.resize(small).await.unwrap();
    let resized = async { while !watch.next().await.resized {} };
    tokio::time::timeout(LIMIT, resized).await.unwrap();
    assert_eq!(pane.capture().await.unwrap().size, small);
}

#[tokio::test]
async fn a_window_that_others_share_has_its_size_again_when_its_program_has_drawn_anew() {
    requires!(tmux);
    let host = Host::new().await;
    let pane = host.run("trap 'echo drawn' WINCH; echo ready; while :; do sleep 0.05; done").await;
    let mut watch = pane.watch();
    let mut emulator = drawn(&pane).await;
    shows(&mut watch, &mut emulator, "ready").await;
    let beside = ["split-window", "-h", "-d", "-t", pane.id(), "sleep 1000"];
    host.server.command(&beside).await.unwrap();
    shows(&mut watch, &mut emulator, "drawn").await;
    let size = async || {
        let asked = "#{window_width}x#{window_height}";
        host.server.ask(&["display-message", "-p", "-t", pane.id(), asked]).await.unwrap()
    };
    let before = size().await;
    pane.redraw().await.unwrap();
    assert_eq!(size().await, before);
    shows(&mut watch, &mut emulator, "drawn\ndrawn").await;
    pane.fit(Size { columns: 60, rows: 20 }).await.unwrap();
    assert_eq!(size().await, "60x20");
    pane.give_back().await.unwrap();
    assert_eq!(size().await, before);
}

#[tokio::test]
async fn a_window_is_made_to_fit_and_nothing_that_was_printed_before_is_lost() {
    requires!(tmux);
    let host = Host::new().await;
    let pane = host.run("echo ready; read -r _; echo late; read -r _").await;
    let mut watch = pane.watch();
    let mut emulator = drawn(&pane).await;
    shows(&mut watch, &mut emulator, "ready").await;
    pane.press(&["Enter"]).await.unwrap();
    wait_for("the program to go on", LIMIT, async || {
        let rows = pane.rows().await.unwrap();
        if rows.iter().any(|row| row == "late") { Ok(()) } else { Err(rows) }
    })
    .await;
    pane.fit(Size { columns: 60, rows: 20 }).await.unwrap();
    shows(&mut watch, &mut emulator, "late").await;
}

#[tokio::test]
async fn what_has_gone_over_the_edge_is_nothing_where_nothing_has() {
    requires!(tmux);
    let host = Host::new().await;
    let pane = host.run("echo first; read -r _; seq 100; read -r _").await;
    let mut watch = pane.watch();
    let mut emulator = drawn(&pane).await;
    shows(&mut watch, &mut emulator, "first").await;
    assert_eq!(pane.history(50).await.unwrap(), [""; 0]);
    pane.press(&["Enter"]).await.unwrap();
    shows(&mut watch, &mut emulator, "100").await;
    assert_eq!(pane.history(50).await.unwrap().len(), 50);
}

#[tokio::test]
async fn a_program_that_ends_well_takes_its_pane_along_and_one_that_fails_leaves_its_code() {
    requires!(tmux);
    let host = Host::new().await;
    let staying = host.run("exec cat").await;
    let mut watch = staying.watch();
    let failing = host.run("echo sorry; exit 7").await;
    let mut failed = failing.watch();
    let ending = host.run("read line; exit 0").await;
    let mut ended = ending.watch();
    ending.press(&["Enter"]).await.unwrap();
    let gone = async {
        loop {
            if let Some(gone) = ended.next().await.gone {
                return gone;
            }
        }
    };
    assert_eq!(tokio::time::timeout(LIMIT, gone).await.unwrap(), Gone::Pane);
    let dead = async {
        loop {
            let told = failed.next().await.told;
            if let Some(dead) = told.and_then(|told| told.dead) {
                return dead;
            }
        }
    };
    let dead = tokio::time::timeout(LIMIT, dead).await.unwrap();
    assert_eq!(dead, pollux_agent::terminal::Ended::Code(7));
    kill_server(&host.directory.path().join("socket"));
    let gone = async {
        loop {
            if let Some(gone) = watch.next().await.gone {
                return gone;
            }
        }
    };
    assert_eq!(tokio::time::timeout(LIMIT, gone).await.unwrap(), Gone::Server);
    let failure = host.server.command(&["list-panes"]).await.unwrap_err();
    assert_eq!(failure.code, "tmux_gone");
}

#[tokio::test]
async fn who_joins_does_not_change_what_somebody_looks_at() {
    requires!(tmux);
    let host = Host::new().await;
    let (one, other) = (host.run("exec cat").await, host.run("exec cat").await);
    let viewers = Host::new().await;
    let socket = host.directory.path().join("socket").display().to_string();
    let look = format!(
        "env -u TMUX tmux -S '{socket}' new-session -t pollux ';' select-window -t {}",
        other.id()
    );
    let viewer = viewers.run(&look).await;
    let looks_at = async || {
        let format = "#{client_control_mode} #{pane_id}";
        let clients = host.server.command(&["list-clients", "-F", format]).await.unwrap();
        clients.iter().find_map(|client| client.strip_prefix("0 ").map(str::to_owned))
    };
    wait_for("somebody who looks", LIMIT, async || match looks_at().await {
        Some(pane) if pane == other.id() => Ok(()),
        seen => Err((seen, viewer.rows().await)),
    })
    .await;
    let joined = Server::join(host.server.socket(), one.id()).await.unwrap();
    assert_eq!(looks_at().await.as_deref(), Some(other.id()));
    viewer.kill().await.unwrap();
    wait_for("nobody who looks", LIMIT, async || match looks_at().await {
        None => Ok(()),
        seen => Err(seen),
    })
    .await;
    let mut watch = Pane::find(&joined, one.id()).await.unwrap().watch();
    one.type_text("still heard").await.unwrap();
    shows(&mut watch, &mut Emulator::new(SIZE), "still heard").await;
}

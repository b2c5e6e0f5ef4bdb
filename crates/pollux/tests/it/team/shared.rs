//! Agents that are told what they are by files that others read too: they follow their profile, and the files are as they
//! were, whoever is killed.

use super::house::{LONGEST, NEWEST, Team, settled};
use crate::daemon::recovery::Served;
use pollux_e2e::{Cli, Stage, requires, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const RULES: &str = "# The shop\n\nPrices are in cents.\n";
const SCRIPT: &str = "
    [[rule]]
    prompt = 'tell the person'
    reply = [{ call = 'send_message', args = { message = 'it is done' } }]
    [[rule]]
    tool = 'send_message'
    reply = 'I have written.'
    [[rule]]
    prompt = 'say a word'
    reply = 'Word.'
";

/// A user with rules of their own for a project, and with a server of their own, switched off, that is called as ours is.
fn lay_out(stage: &Stage) -> [PathBuf; 2] {
    let (rules, settings) =
        (stage.workspace().join("GEMINI.md"), stage.home().gemini().join("settings.json"));
    fs::write(&rules, RULES).unwrap();
    let text = fs::read_to_string(&settings).unwrap();
    let own = "{ \"mcpServers\": { \"pollux\": { \"command\": \"$NOWHERE\" } }, \"mcp\": { \"excluded\": [\"pollux\"] },";
    fs::write(&settings, text.replacen('{', own, 1)).unwrap();
    [rules, settings]
}

fn contents(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// What the model was told in the turn that a prompt began.
fn told(stage: &Stage, prompt: &str) -> String {
    let turns = stage.rehearsal().journal().turns();
    let turn = turns.iter().find(|turn| turn["contents"].to_string().contains(prompt));
    turn.map(Value::to_string).unwrap_or_default()
}

async fn follows_its_profile(version: &str, driver: &str) {
    let mut team = Team::on(version, SCRIPT).await;
    lay_out(&team.stage);
    team.look();
    team.profile("lent", &format!("role: reviewer\nfiles: shared\ndriver: {driver}"));
    let job = team.handoff("lent", "tell the person", json!({})).await;
    let results = team.stage.rehearsal().journal().results();
    assert_eq!(job["state"], "done", "{version}, {driver}: {job}");
    assert_eq!(job["result"]["text"], "I have written.", "{version}, {driver}: {results:?}");
    let letters = team.house.get("/api/v1/letters").await;
    assert_eq!(letters["letters"][0]["text"], "it is done", "its server knows it: {letters}");
    let told = told(&team.stage, "tell the person");
    for words in ["You are the lent.", "Prices are in cents."] {
        assert!(told.contains(words), "{version}, {driver}: {words}: {told}");
    }
    assert!(told.contains("mcp_pollux-2_send_message"), "{version}, {driver}: {told}");
    let worker = job["worker"].as_str().unwrap();
    team.status(worker, "exited").await;
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_a_terminal_that_is_told_by_shared_files_follows_its_profile() {
    requires!(npm, tmux);
    follows_its_profile(NEWEST, "terminal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_headless_agent_of_the_oldest_version_that_is_told_by_shared_files_follows_its_profile() {
    requires!(npm);
    follows_its_profile(&Cli::versions()[0], "headless").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_over_acp_of_the_oldest_version_that_is_told_by_shared_files_follows_its_profile()
{
    requires!(npm);
    follows_its_profile(&Cli::versions()[0], "acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_over_acp_that_is_told_by_shared_files_follows_its_profile() {
    requires!(npm);
    follows_its_profile(NEWEST, "acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_that_start_in_one_directory_at_once_are_each_told_what_they_are() {
    requires!(npm);
    let mut team = Team::on(NEWEST, SCRIPT).await;
    lay_out(&team.stage);
    team.look();
    for name in ["poet", "painter"] {
        team.profile(name, "files: shared\ndriver: headless\ntools: [fs_read]");
    }
    let (poet, painter) = tokio::join!(
        team.give("assign", "poet", "say a word, poet", json!({ "keep": false })),
        team.give("assign", "painter", "say a word, painter", json!({ "keep": false })),
    );
    for (name, other, job) in [("poet", "painter", poet), ("painter", "poet", painter)] {
        assert_eq!(team.told(&job).await["state"], "done");
        let told = told(&team.stage, &format!("say a word, {name}"));
        assert!(told.contains(&format!("You are the {name}.")), "{told}");
        assert!(!told.contains(&format!("You are the {other}.")), "{told}");
        assert!(told.contains("Prices are in cents."), "{told}");
    }
    team.close().await;
}

/// What `pollux doctor` finds of files that are lent.
async fn doctor(stage: &Stage, data: &Path, args: &[&str]) -> String {
    let mut command = assert_cmd::Command::cargo_bin("pollux").unwrap();
    command.args(["doctor", "--json"]).args(args).current_dir(data).envs(stage.env());
    command.env("XDG_DATA_HOME", data).env("XDG_CONFIG_HOME", data).env("XDG_CACHE_HOME", data);
    command.env("POLLUX_TMUX", data.join("tmux")).env("XDG_RUNTIME_DIR", data);
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let findings: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    let found =
        findings.into_iter().find(|finding| finding["what"] == "overridden GEMINI.md/settings");
    found.unwrap()["found"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_while_it_starts_an_agent_leaves_the_users_files_to_be_put_back() {
    requires!(npm);
    let stage = Stage::new(&Cli::install(NEWEST).unwrap(), SCRIPT.parse().unwrap()).await.unwrap();
    settled(&stage);
    let files = lay_out(&stage);
    let before = contents(&files);
    let data = tempfile::tempdir().unwrap();
    let profiles = data.path().join("pollux/profiles");
    fs::create_dir_all(&profiles).unwrap();
    let profile = "---\nfiles: shared\ndriver: headless\n---\nYou are the lent.\n";
    fs::write(profiles.join("lent.md"), profile).unwrap();
    let give = json!({ "kind": "assign", "profile": "lent", "message": "tell the person",
        "cwd": stage.workspace() });
    for by_doctor in [true, false] {
        let daemon = Served::start(&stage, data.path()).await;
        daemon.post("/api/v1/jobs", &give).await.unwrap();
        wait_until("the files are lent", LONGEST, || {
            contents(&files).iter().zip(&before).all(|(now, before)| now != before)
        })
        .await;
        drop(daemon);
        let lent = contents(&files);
        assert!(lent[0].contains("You are the lent."), "it was killed in the middle: {lent:?}");
        assert!(lent[0].starts_with(RULES) && lent[1].contains("$NOWHERE"), "{lent:?}");
        if by_doctor {
            assert!(doctor(&stage, data.path(), &[]).await.contains("GEMINI.md"));
            assert_eq!(contents(&files), lent, "it only looked");
            assert!(doctor(&stage, data.path(), &["--clean"]).await.starts_with("restored"));
            assert_eq!(contents(&files), before);
        }
    }
    // The next daemon puts them back, and goes on with what was given.
    let daemon = Served::start(&stage, data.path()).await;
    pollux_e2e::wait_for("the letters of both agents", LONGEST, async || {
        let letters = daemon.get("/api/v1/letters").await;
        let written = letters["letters"].as_array().unwrap().iter();
        let written = written.filter(|letter| letter["text"] == "it is done").count();
        if written >= 2 { Ok(()) } else { Err(letters) }
    })
    .await;
    assert!(told(&stage, "tell the person").contains("You are the lent."));
    assert_eq!(contents(&files), before);
    assert_eq!(doctor(&stage, data.path(), &[]).await, "none");
    drop(daemon);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_over_acp_has_its_tools_also_where_the_user_lets_in_other_servers_only() {
    requires!(npm);
    for version in [&Cli::versions()[0], NEWEST] {
        let mut team = Team::on(version, SCRIPT).await;
        let settings = team.stage.home().gemini().join("settings.json");
        let text = fs::read_to_string(&settings).unwrap();
        let own = "{ \"mcp\": { \"allowed\": [\"mine\"] },";
        fs::write(&settings, text.replacen('{', own, 1)).unwrap();
        team.look();
        let job = team.handoff("developer", "tell the person", json!({})).await;
        assert_eq!(job["result"]["text"], "I have written.", "{version}: {job}");
        let letters = team.house.get("/api/v1/letters").await;
        assert_eq!(letters["letters"][0]["text"], "it is done", "{version}: {letters}");
        team.close().await;
    }
}

//! What a team can do beyond one worker: levels, teams side by side, budgets, worktrees, skills, servers of a profile.

use super::clients::sdk_home;
use super::house::{LONGEST, NEWEST, Team};
use pollux_e2e::{Cli, repository, requires};
use serde_json::{Value, json};
use std::path::Path;

const LEVELS: &str = "
    [[rule]]
    prompt = 'bring it from far below'
    reply = [{ call = 'handoff', args = { agent_profile = 'supervisor', message = 'fetch it from your own worker' } }]
    [[rule]]
    prompt = 'fetch it from your own worker'
    reply = [{ call = 'handoff', args = { agent_profile = 'developer', message = 'say the first word' } }]
    [[rule]]
    prompt = 'bring another thing'
    reply = [{ call = 'handoff', args = { agent_profile = 'developer', message = 'say the second word' } }]
    [[rule]]
    prompt = 'say the first word'
    reply = 'Apple.'
    [[rule]]
    prompt = 'say the second word'
    reply = 'Pear.'
    [[rule]]
    tool = 'handoff'
    result = 'Apple.'
    reply = 'I was told: Apple.'
    [[rule]]
    tool = 'handoff'
    result = 'Pear.'
    reply = 'I was told: Pear.'
";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_hands_off_to_a_worker_of_its_own_and_two_teams_in_one_directory_do_not_mix() {
    requires!(npm);
    let team = Team::on(NEWEST, LEVELS).await;
    let deep = team.launch("supervisor", Some("bring it from far below")).await;
    let flat = team.launch("supervisor", Some("bring another thing")).await;
    let path = "/api/v1/jobs";
    let all = team
        .wait_for("three jobs are done", path, |all| {
            let jobs = all["jobs"].as_array().unwrap();
            jobs.len() == 3 && jobs.iter().all(|job| job["state"] == "done")
        })
        .await;
    let text = |profile: &str, caller: &Value| {
        let jobs = all["jobs"].as_array().unwrap().iter();
        let job = { jobs }.find(|job| job["profile"] == profile && job["caller"] == *caller);
        job.unwrap()["result"]["text"].clone()
    };
    assert_eq!(text("developer", &json!(flat)), "Pear.");
    assert_eq!(text("supervisor", &json!(deep)), "I was told: Apple.");
    for (lead, word) in [(&deep, "I was told: Apple."), (&flat, "I was told: Pear.")] {
        team.status(lead, "idle").await;
        assert_eq!(team.said(lead).await.last().unwrap().1, word);
    }
    let members = team.house.get("/api/v1/team").await;
    let members = members["members"].as_array().unwrap();
    let depth = |member: &&Value| member["team"] == *deep && member["depth"] == 2;
    assert_eq!(members.iter().filter(depth).count(), 1, "{members:#?}");
    assert_eq!(members.iter().filter(|member| member["team"] == *flat).count(), 2);
    team.stop(&deep).await;
    team.stop(&flat).await;
    team.close().await;
}

const BUDGET: &str = "
    [[rule]]
    prompt = 'Continue this work: much work'
    reply = 'All of it is done.'
    [[rule]]
    prompt = 'much work'
    usage = { prompt = 900, answer = 100 }
    reply = [{ call = 'list_directory', args = { dir_path = '.' } }]
    [[rule]]
    tool = 'list_directory'
    reply = ['There is more to do. ', { stall = true }]
";

#[tokio::test(flavor = "multi_thread")]
async fn a_job_at_its_budget_pauses_and_a_person_lets_it_go_on_at_once_with_its_task() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        pauses_and_goes_on(cli.version()).await;
    }
}

async fn pauses_and_goes_on(version: &str) {
    let team = Team::on(version, BUDGET).await;
    let budget = json!({ "budget": { "tokens": 500 } });
    let job = team.handoff("developer", "much work", budget).await;
    assert_eq!(job["state"], "paused", "{job}");
    assert!(job["why"].as_str().unwrap().contains("of 500 tokens"), "{job}");
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    // At once: its turn has not ended yet.
    let (status, went) =
        team.house.post(&format!("{path}/continue"), json!({ "tokens": 50_000 })).await;
    assert_eq!(status, 200, "{version}: {went}");
    let job = team.told(&job).await;
    assert_eq!(job["state"], "done", "{version}: {job}");
    assert_eq!(job["result"]["text"], "All of it is done.", "{version}");
    team.status(job["worker"].as_str().unwrap(), "exited").await;
    team.close().await;
}

const WORKTREE: &str = "
    [[rule]]
    prompt = 'write a file'
    reply = [{ call = 'write_file', args = { file_path = 'made.txt', content = 'made' } }]
    [[rule]]
    tool = 'write_file'
    reply = 'It is written.'
";

#[expect(clippy::disallowed_methods, reason = "git answers at once and is waited for")]
fn git(cwd: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
    let ran = command.current_dir(cwd).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_in_a_worktree_of_its_own_is_merged_or_kept_and_nothing_is_thrown_away() {
    requires!(npm, git);
    let mut team = Team::on(NEWEST, WORKTREE).await;
    let workspace = team.stage.workspace().to_path_buf();
    git(&workspace, &["init", "--quiet", "-b", "main"]);
    git(&workspace, &["add", "--all"]);
    git(&workspace, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    team.look();
    team.profile("writer", "role: developer\nmode: auto-edit");
    for (choice, here) in [("keep", false), ("merge", true)] {
        let more = json!({ "worktree": choice });
        let job = team.handoff("writer", "write a file", more).await;
        assert_eq!(job["state"], "done", "{choice}: {job}");
        assert_eq!(workspace.join("made.txt").exists(), here, "{choice}: {job}");
        assert!(job["result"]["worktree"].is_string(), "{job}");
        team.status(job["worker"].as_str().unwrap(), "exited").await;
        // Its tree goes after it.
        pollux_e2e::wait_for("only what was kept to have a branch", LONGEST, async || {
            let branches = git(&workspace, &["branch", "--list", "pollux/*"]);
            if branches.lines().count() == 1 { Ok(()) } else { Err(branches) }
        })
        .await;
    }
    let log = git(&workspace, &["log", "--oneline", "--merges"]);
    assert_eq!(log.lines().count(), 1, "{log}");
    team.close().await;
}

const GIVEN: &str = "
    [[rule]]
    prompt = 'use your skill'
    reply = [{ call = 'load_skill', args = { name = 'haiku' } }]
    [[rule]]
    tool = 'load_skill'
    result = 'five, seven, five'
    reply = [{ call = 'add', args = { a = 2, b = 3 } }]
    [[rule]]
    tool = 'add'
    result = 'the sum is 5'
    reply = [{ call = 'run_shell_command', args = { command = 'touch made.txt', description = 'Makes a file' }, exact = true }]
    [[rule]]
    tool = 'run_shell_command'
    reply = 'I may not.'
";

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_gives_a_skill_and_a_server_of_its_own_and_nothing_that_it_does_not_name() {
    requires!(npm);
    let mut team = Team::on(NEWEST, GIVEN).await;
    // What a repository allows, it does not allow to those whose profile does not.
    let project = team.stage.workspace().join(".gemini");
    std::fs::create_dir_all(&project).unwrap();
    let allowed = json!({ "tools": { "allowed": ["run_shell_command"] } });
    std::fs::write(project.join("settings.json"), allowed.to_string()).unwrap();
    team.look();
    let skills = team.house.directory.path().join("skills/haiku");
    std::fs::create_dir_all(&skills).unwrap();
    std::fs::write(skills.join("SKILL.md"), "Lines of five, seven, five.").unwrap();
    let server = repository().join("crates/pollux/tests/it/team/server.mjs");
    let about = json!({ "calc": { "command": "node", "args": [server, sdk_home()] } });
    team.profile(
        "poet",
        &format!(
            "tools: ['@pollux', '@calc/add']\nmode: yolo\nskills: ['haiku']\nmcpServers: {about}"
        ),
    );
    let job = team.handoff("poet", "use your skill", json!({})).await;
    let results = team.stage.rehearsal().journal().results();
    let done = (&job["state"], &job["result"]["text"]);
    assert_eq!(done, (&json!("done"), &json!("I may not.")), "{job}: {results:?}");
    assert!(!team.stage.workspace().join("made.txt").exists(), "it has no shell");
    let tools = team.stage.rehearsal().journal().turns()[0]["tools"].to_string();
    assert!(tools.contains("load_skill") && tools.contains("add"), "{tools}");
    assert!(!tools.contains("run_shell_command"), "what is refused is not offered: {tools}");
    team.status(job["worker"].as_str().unwrap(), "exited").await;
    team.close().await;
}

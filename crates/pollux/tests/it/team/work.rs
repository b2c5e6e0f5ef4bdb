//! Handing work over: the answer comes back to the letter.

use super::house::Team;
use pollux_e2e::{Cli, requires};
use serde_json::json;

/// What a screen would have spoilt: indentation, blank lines, quotes, marks that look like the CLI's own.
pub(super) const EXACT: &str = "def greet(name):\n    return f\"Hello, {name}!\"\n\n\n> a quote\n✦ a star\n * YOLO mode, 2 MCP servers";

/// A worker that says the words, and a lead that hands off to one of this profile and says what came back.
pub(super) fn exact_script(worker: &str) -> String {
    format!(
        "
        [[rule]]
        prompt = 'say the words'
        reply = '''{EXACT}'''
        [[rule]]
        prompt = 'bring it home'
        reply = [{{ call = 'handoff', args = {{ agent_profile = '{worker}', message = 'say the words' }} }}]
        [[rule]]
        tool = 'handoff'
        result = 'def greet'
        reply = 'It came back: {{{{result}}}}'
        "
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_says_last_comes_back_to_the_letter() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let version = cli.version();
        let team = Team::on(version, &exact_script("developer")).await;
        let job = team.handoff("developer", "say the words", json!({})).await;
        assert_eq!(job["state"], "done", "{version}: {job}");
        assert_eq!(job["result"]["text"], EXACT, "{version}");
        let worker = job["worker"].as_str().unwrap();
        team.status(worker, "exited").await;
        team.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_hands_off_over_mcp_and_gets_the_exact_text() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let version = cli.version();
        let team = Team::on(version, &exact_script("developer")).await;
        let supervisor = team.launch("supervisor", Some("bring it home")).await;
        let jobs = "/api/v1/jobs";
        team.wait_for("the job is done", jobs, |all| all["jobs"][0]["state"] == "done").await;
        team.status(&supervisor, "idle").await;
        let told = team.stage.rehearsal().journal().results();
        let came = told.iter().find(|(tool, _)| tool.ends_with("handoff")).unwrap();
        assert!(came.1.contains(EXACT), "{version}: {}", came.1);
        let jobs = team.jobs().await;
        assert_eq!((jobs.len(), &jobs[0]["caller"]), (1, &json!(supervisor)), "{version}");
        assert_eq!(jobs[0]["result"]["text"], EXACT, "{version}");
        let said = team.said(&supervisor).await;
        assert!(said.last().unwrap().1.starts_with("It came back:"), "{version}: {said:?}");
        let system = team.stage.rehearsal().journal().turns()[0]["systemInstruction"].to_string();
        assert!(system.contains("You lead a team of agents"), "{version}: {system}");
        team.close().await;
    }
}

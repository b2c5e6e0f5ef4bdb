//! A session of `pollux claude` or `pollux acp` while a daemon runs: seen there, answered in either place, and the first
//! answer wins. And sessions of the daemon, joined by an editor.

use super::daemon::house::{House, gemini_on, settings};
use super::run::program;
use pollux_e2e::home::age;
use pollux_e2e::pinned::ACP_SDK;
use pollux_e2e::{Cli, PINNED, Stage, repository, requires, wait_for, wait_until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};

const LIMIT: Duration = Duration::from_mins(2);

/// The CLI against a script, a daemon, and a place where programs find both.
struct Scene {
    stage: Stage,
    house: House,
    place: TempDir,
}

impl Scene {
    async fn new(script: &str) -> Self {
        let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), script).await.unwrap();
        let house = House::on(&stage).await;
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        std::fs::create_dir(&data).unwrap();
        // Where a program of the user looks for the daemon.
        std::os::unix::fs::symlink(house.directory.path(), data.join("pollux")).unwrap();
        std::os::unix::fs::symlink(program(), place.path().join("pollux-claude")).unwrap();
        Self { stage, house, place }
    }

    /// A program beside the daemon.
    #[expect(clippy::disallowed_methods, reason = "it is waited for, and killed on drop")]
    fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.stage.workspace()).envs(self.stage.env());
        command.env("GEMINI_CLI_PATH", self.stage.cli().program());
        command.env("XDG_DATA_HOME", self.place.path().join("data"));
        command.env("XDG_CACHE_HOME", self.place.path().join("cache"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    /// One of Node's.
    fn node(&self, file: &str, args: &[&str]) -> Running {
        let file = repository().join("crates/pollux/tests/it").join(file);
        Running(self.program("node").arg(file).args(args).spawn().unwrap())
    }

    /// A program made for Claude's SDK.
    fn claude(&self, plan: &Value) -> Running {
        let sdk = super::claude::sdk().join("@anthropic-ai/claude-agent-sdk/sdk.mjs");
        let exe = self.place.path().join("pollux-claude");
        self.node("claude/drive.mjs", &[text(&sdk), text(&exe), &plan.to_string()])
    }

    /// An editor.
    fn editor(&self, plan: &Value) -> Running {
        let sdk = ACP_SDK.npm().unwrap();
        let sdk = sdk.join("node_modules/@agentclientprotocol/sdk/dist/v1/unstable/acp.js");
        let (plan, program) = (plan.to_string(), program());
        self.node("editor/client.mjs", &[text(&sdk), &plan, &program, "acp"])
    }

    /// The question that nobody has answered, when there is one.
    async fn question(&self) -> Value {
        wait_for("a question", LIMIT, async || {
            let all = self.house.get("/api/v1/questions").await["questions"].clone();
            let open = all.as_array().unwrap().iter().find(|it| it["sent"].is_null()).cloned();
            open.ok_or("none yet")
        })
        .await
    }

    /// Answers a question from another device.
    async fn answer(&self, open: &Value, effect: &str) {
        let options = open["question"]["options"].as_array().unwrap();
        let option = options.iter().find(|option| option["effect"] == effect).unwrap();
        let answer = json!({ "type": "answer", "question_id": open["question"]["id"],
            "choice": option["id"], "shown": open["shown"] });
        let session = open["session_id"].as_str().unwrap();
        let (status, reply) = self.house.command(session, "from afar", answer).await;
        assert_eq!((status, &reply["reply"]["done"]["yours"]), (200, &json!(true)), "{reply}");
    }

    async fn session(&self, fits: impl Fn(&Value) -> bool) -> Value {
        wait_for("the session", LIMIT, async || {
            let all = self.house.get("/api/v1/sessions").await["sessions"].clone();
            let found = all.as_array().unwrap().iter().find(|it| fits(it)).cloned();
            found.ok_or(all)
        })
        .await
    }

    /// The session, when it waits for a prompt and has more messages than it had.
    async fn talked(&self, id: &str, than: u64) -> Value {
        self.session(|it| {
            it["id"] == *id && it["status"] == "idle" && it["messages"].as_u64() > Some(than)
        })
        .await
    }

    async fn kinds(&self, session: &str) -> Vec<String> {
        let page = self.house.get(&format!("/api/v1/sessions/{session}/events?limit=500")).await;
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| event["event"]["type"].as_str().unwrap().to_owned()).collect()
    }

    async fn close(self) {
        self.house.close().await;
        self.stage.close().await;
    }
}

struct Running(Child);

impl Running {
    /// What it printed, when it is over.
    async fn heard(self) -> Vec<Value> {
        let ran = tokio::time::timeout(LIMIT, self.0.wait_with_output()).await;
        let ran = ran.expect("it comes to its end").unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        let lines: Vec<Value> =
            printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!lines.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
        lines
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn at<'h>(heard: &'h [Value], at: &str) -> Vec<&'h Value> {
    heard.iter().filter(|line| line["at"] == at).collect()
}

fn result(heard: &[Value]) -> &Value {
    let messages = heard.iter().map(|line| &line["message"]);
    messages.into_iter().find(|message| message["type"] == "result").unwrap()
}

fn made(scene: &Scene) -> PathBuf {
    scene.stage.workspace().join("approved.txt")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_from_a_phone_wins_while_the_callback_of_an_sdk_still_waits() {
    requires!(npm);
    let scene = Scene::new("approval").await;
    let plan = json!({ "prompt": "touch a file", "decide": { "*": { "behavior": "wait" } } });
    let program = scene.claude(&plan);
    let open = scene.question().await;
    let session = open["session_id"].as_str().unwrap().to_owned();
    let prompt = json!({ "type": "prompt", "text": "and now something else" });
    let (status, refused) = scene.house.command(&session, "no", prompt).await;
    assert_eq!((status, &refused["code"]), (409, &json!("driven_elsewhere")));
    scene.answer(&open, "allow_once").await;
    let heard = program.heard().await;
    assert_eq!((at(&heard, "asked").len(), at(&heard, "withdrawn").len()), (1, 1), "{heard:#?}");
    assert_eq!(result(&heard)["result"], "Done, or not.");
    assert!(made(&scene).exists());
    let summary = scene.session(|it| it["id"] == *session && it["status"] == "exited").await;
    assert_eq!(summary["questions"], json!([]));
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_from_a_phone_is_a_denial_for_the_sdk_too() {
    requires!(npm);
    let scene = Scene::new("approval").await;
    let plan = json!({ "prompt": "touch a file", "decide": { "*": { "behavior": "wait" } } });
    let program = scene.claude(&plan);
    let open = scene.question().await;
    scene.answer(&open, "reject_once").await;
    let heard = program.heard().await;
    let denials = &result(&heard)["permission_denials"];
    assert_eq!(denials[0]["tool_input"]["command"], "touch approved.txt", "{heard:#?}");
    assert!(!made(&scene).exists());
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_callback_of_an_sdk_answers_is_seen_on_the_phone() {
    requires!(npm);
    let scene = Scene::new("approval").await;
    let plan = json!({ "prompt": "touch a file", "decide": { "*": { "behavior": "allow" } } });
    let heard = scene.claude(&plan).heard().await;
    assert_eq!(result(&heard)["result"], "Done, or not.");
    let summary = scene.session(|it| it["driver"] == "acp" && it["status"] == "exited").await;
    let kinds = scene.kinds(summary["id"].as_str().unwrap()).await;
    for kind in
        ["turn_started", "asked", "answered", "tool_ended", "message_recorded", "turn_ended"]
    {
        assert!(kinds.iter().any(|it| it == kind), "{kind}: {kinds:?}");
    }
    assert_eq!(summary["title"], "touch a file");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_is_answered_by_a_phone_and_hears_what_the_phone_asks() {
    requires!(npm);
    let scene = Scene::new("approval").await;
    let cwd = scene.stage.workspace();
    let words = |text: &str| json!([{ "type": "text", "text": text }]);
    let steps = json!([
        ["new", { "cwd": cwd, "mcpServers": [] }, "s"],
        ["prompt", { "sessionId": "$s", "prompt": words("touch a file") }],
        ["heard", { "kind": "user_message_chunk", "text": "touch" }],
        ["prompt", { "sessionId": "$s", "prompt": words("touch it again") }],
    ]);
    let editor = scene.editor(&json!({ "steps": steps, "decide": "wait" }));
    let open = scene.question().await;
    let session = open["session_id"].as_str().unwrap().to_owned();
    scene.answer(&open, "allow_once").await;
    scene.session(|it| it["id"] == *session && it["status"] == "idle").await;
    // The phone asks too; meanwhile the editor's next prompt waits for its turn.
    let prompt = json!({ "type": "prompt", "text": "touch from the phone" });
    assert_eq!(scene.house.command(&session, "p2", prompt).await.0, 200);
    for id in ["a2", "a3"] {
        let open = scene.question().await;
        let once = json!({ "type": "answer", "question_id": open["question"]["id"],
            "choice": open["question"]["options"].as_array().unwrap().iter()
                .find(|it| it["effect"] == "allow_once").unwrap()["id"] });
        assert_eq!(scene.house.command(&session, id, once).await.0, 200);
    }
    let heard = editor.heard().await;
    let stops: Vec<&Value> =
        at(&heard, "answer").into_iter().filter(|it| it["step"] == "prompt").collect();
    assert_eq!(stops.len(), 2, "{heard:#?}");
    assert!(stops.iter().all(|it| it["answer"]["stopReason"] == "end_turn"), "{stops:#?}");
    assert!(made(&scene).exists());
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_a_terminal_goes_on_in_an_editor_and_again_when_its_daemon_is_back() {
    requires!(npm, tmux);
    let mut scene = Scene::new("terminal").await;
    let cwd = scene.stage.workspace();
    let id = scene
        .house
        .begin(json!({ "cwd": cwd, "driver": "terminal", "prompt": "talk to me" }))
        .await;
    let talked = scene.talked(&id, 1).await;
    let own = talked["agent_id"].as_str().unwrap();
    let words = |text: &str| json!([{ "type": "text", "text": text }]);
    let sign = |name: &str| scene.place.path().join(name);
    let steps = json!([
        ["list", { "cwd": cwd }],
        ["load", { "cwd": cwd, "sessionId": own, "mcpServers": [] }, "s"],
        ["prompt", { "sessionId": "$s", "prompt": words("run a command") }],
        ["touch", { "path": sign("prompted") }],
        ["there", { "path": sign("gone") }],
        ["prompt", { "sessionId": "$s", "prompt": words("talk to me, nobody") }],
        ["set_mode", { "sessionId": "$s", "modeId": "yolo" }],
        ["touch", { "path": sign("refused") }],
        ["there", { "path": sign("back") }],
        ["prompt", { "sessionId": "$s", "prompt": words("talk to me, editor") }],
        ["close", { "sessionId": "$s" }],
    ]);
    let editor = scene.editor(&json!({ "steps": steps }));
    let (prompted, gone, refused, back) =
        (sign("prompted"), sign("gone"), sign("refused"), sign("back"));
    wait_until("the first prompt", LIMIT, || prompted.exists()).await;
    let directory = scene.house.close().await;
    std::fs::write(gone, "").unwrap();
    wait_until("the refusal", LIMIT, || refused.exists()).await;
    let gemini = scene.stage.home().path().join(".gemini");
    scene.house = House::at(directory, &gemini, gemini_on(&scene.stage), &settings()).await;
    let before = scene.talked(&id, 1).await["messages"].as_u64().unwrap();
    // What was said while the editor was away is told when it is back.
    let prompt = json!({ "type": "prompt", "text": "talk to me, phone" });
    assert_eq!(scene.house.command(&id, "p", prompt).await.0, 200);
    scene.talked(&id, before).await;
    std::fs::write(back, "").unwrap();
    let heard = editor.heard().await;
    went_on(&heard, own);
    joined_again(&heard);
    let after = scene.house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!(after["status"], "idle", "the session outlives the editor");
    let (status, _) = scene.house.command(&id, "end", json!({ "type": "stop" })).await;
    assert_eq!(status, 200);
    scene.session(|it| it["id"] == *id && it["status"] == "exited").await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_leaves_a_joined_session_leaves_its_question_to_others() {
    requires!(npm);
    let scene = Scene::new("approval").await;
    let cwd = scene.stage.workspace();
    let begin = json!({ "cwd": cwd, "driver": "acp", "prompt": "touch a file" });
    let id = scene.house.begin(begin).await;
    let open = scene.question().await;
    let own = scene.house.get(&format!("/api/v1/sessions/{id}")).await["agent_id"].clone();
    let steps = json!([
        ["load", { "cwd": cwd, "sessionId": own, "mcpServers": [] }],
        ["list", { "cwd": cwd }],
    ]);
    let heard = scene.editor(&json!({ "steps": steps, "decide": "wait" })).heard().await;
    assert_eq!(at(&heard, "asked").len(), 1, "{heard:#?}");
    scene.answer(&open, "allow_once").await;
    scene.session(|it| it["id"] == *id && it["status"] == "idle").await;
    assert!(made(&scene).exists());
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_an_editor_reach_a_session_that_it_has_joined() {
    requires!(npm);
    let scene = Scene::new("greeting").await;
    let cwd = scene.stage.workspace();
    let id = scene.house.begin(json!({ "cwd": cwd, "driver": "acp", "prompt": "hello" })).await;
    let own = scene.talked(&id, 1).await["agent_id"].clone();
    let link = format!("file://{}/two%20words.txt", text(&cwd.canonicalize().unwrap()));
    let inside = json!({ "uri": "untitled:1", "text": "a stork in a buffer" });
    let model = json!({ "sessionId": "$s", "configId": "model", "value": "gemini-2.5-flash" });
    let prompt = |blocks: Value| json!(["prompt", { "sessionId": "$s", "prompt": blocks }]);
    let hello = json!({ "type": "text", "text": "hello" });
    let steps = json!([
        ["load", { "cwd": cwd, "sessionId": own, "mcpServers": [] }, "s"],
        prompt(json!([hello, { "type": "resource_link", "name": "x", "uri": link }])),
        prompt(json!([hello, { "type": "resource", "resource": inside }])),
        prompt(json!([hello, { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }])),
        // A model that it has by then is no news that could be waited for.
        ["set_option", model],
        ["set_option", model],
    ]);
    let heard = scene.editor(&json!({ "steps": steps })).heard().await;
    let errors = at(&heard, "error");
    assert_eq!(errors.len(), 1, "{heard:#?}");
    assert!(errors[0]["message"].as_str().unwrap().contains("`audio`"), "{errors:#?}");
    let set = at(&heard, "answer").into_iter().filter(|it| it["step"] == "set_option");
    let models: Vec<&Value> =
        set.map(|it| &it["answer"]["configOptions"][0]["currentValue"]).collect();
    assert_eq!(models, ["gemini-2.5-flash", "gemini-2.5-flash"], "{heard:#?}");
    let messages = scene.house.get(&format!("/api/v1/sessions/{id}/messages")).await.to_string();
    for part in [r"/two\\ words.txt", "a stork in a buffer", "untitled:1"] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    scene.close().await;
}

/// Begins a session of the daemon with a prompt, and waits for what comes of it: the exit code, stdout and stderr.
async fn begun(scene: &Scene, prompt: &str) -> (Option<i32>, String, String) {
    let mut new = scene.program(&program());
    let ran = new.args(["new", "--driver", "acp", prompt, "--wait"]).output();
    let ran = tokio::time::timeout(LIMIT, ran).await.unwrap().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_turn_that_fails_hears_why_and_gets_another_exit_code() {
    requires!(npm);
    let scene = Scene::new("error-400").await;
    let (code, _, told) = begun(&scene, "be refused").await;
    assert!(code == Some(2) && told.contains("error: "), "{code:?} {told}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_long_answer_gets_all_of_it() {
    requires!(npm);
    let scene = Scene::new("very-long").await;
    let (code, said, told) = begun(&scene, "talk for long").await;
    assert_eq!((code, said.matches("liquor jugs").count()), (Some(0), 2000), "{told}");
    assert!(said.trim_end().ends_with("The end of the long answer."));
    scene.close().await;
}

/// The words that an editor heard.
fn said(heard: &[Value], kind: &str) -> String {
    let updates = at(heard, "update").into_iter().map(|it| &it["update"]);
    let of = updates.filter(|it| it["sessionUpdate"] == kind);
    of.filter_map(|it| it["content"]["text"].as_str()).collect()
}

fn answers<'h>(heard: &'h [Value], step: &str) -> Vec<&'h Value> {
    let all = at(heard, "answer").into_iter().filter(|it| it["step"] == step);
    all.map(|it| &it["answer"]).collect()
}

fn went_on(heard: &[Value], own: &str) {
    let listed = answers(heard, "list")[0]["sessions"].as_array().unwrap();
    assert!(listed.iter().any(|it| it["sessionId"] == own), "{listed:#?}");
    assert!(said(heard, "user_message_chunk").starts_with("talk to me"), "{heard:#?}");
    assert!(said(heard, "agent_message_chunk").contains("and another one."), "{heard:#?}");
    assert_eq!(at(heard, "asked").len(), 1, "{heard:#?}");
    let prompts = answers(heard, "prompt");
    assert_eq!(prompts.len(), 2, "{heard:#?}");
    assert!(prompts.iter().all(|it| it["stopReason"] == "end_turn"), "{heard:#?}");
    assert!(said(heard, "agent_message_chunk").contains("Done, or not."), "{heard:#?}");
}

fn joined_again(heard: &[Value]) {
    let errors = at(heard, "error");
    assert_eq!(errors.len(), 2, "{errors:#?}");
    for error in errors {
        assert_eq!(error["data"]["code"], "daemon_gone", "{error:#}");
        let hint = error["data"]["hint"].as_str().unwrap();
        assert!(hint.contains("`pollux serve --detach`"), "{hint}");
    }
    let prompts = said(heard, "user_message_chunk");
    assert_eq!(prompts.matches("talk to me, phone").count(), 1, "{prompts}");
    assert!(!prompts.contains("nobody") && !prompts.contains("editor"), "{prompts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_daemon_drives_is_not_given_a_second_agent() {
    requires!(npm);
    let scene = Scene::new("greeting").await;
    let cwd = scene.stage.workspace();
    let begin = json!({ "cwd": cwd, "driver": "acp", "prompt": "hello" });
    let id = scene.house.begin(begin).await;
    let own = scene.talked(&id, 1).await["agent_id"].as_str().unwrap().to_owned();
    let plan = |options: Value| json!({ "prompt": "hello again", "options": options });
    for options in [json!({ "resume": own }), json!({ "continue": true })] {
        let heard = scene.claude(&plan(options)).heard().await;
        let error = at(&heard, "error")[0]["message"].as_str().unwrap();
        assert!(error.contains(&format!("session `{own}` is already running")), "{error}");
        for way in [&format!("pollux send {id}"), &format!("pollux stop {id}"), "--fork-session"] {
            assert!(error.contains(way), "{way}: {error}");
        }
    }
    for line in ["run hello --via acp", "run hello --via headless", "new"] {
        let mut command = scene.program(&program());
        let ran = command.args(line.split(' ')).args(["--resume", &own]).output();
        let ran = tokio::time::timeout(LIMIT, ran).await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.code() == Some(1) && said.contains("under the daemon"), "{said}");
    }
    let summary = scene.house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!((&summary["status"], &summary["messages"]), (&"idle".into(), &2.into()));
    // When its agent is gone, another one may go on with it.
    assert_eq!(scene.house.command(&id, "end", json!({ "type": "stop" })).await.0, 200);
    scene.session(|it| it["id"] == *id && it["status"] == "exited").await;
    age(scene.stage.home().path()).unwrap();
    let heard = scene.claude(&plan(json!({ "resume": own }))).heard().await;
    assert_eq!(result(&heard)["subtype"], "success", "{heard:#?}");
    scene.close().await;
}

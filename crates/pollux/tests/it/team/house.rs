//! A daemon whose agents are the real CLI on one script, and what a team does in it.

use crate::daemon::house::{House, gemini_on, settings};
use pollux::daemon::instance::Serve;
use pollux_e2e::{Cli, PINNED, Stage};
use pollux_rehearsal::Home;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nothing here takes longer, unless it hangs.
pub(crate) const LONGEST: Duration = Duration::from_mins(2);
/// The version that most of the tests run on.
pub(crate) const NEWEST: &str = PINNED[2];

pub(crate) struct Team {
    pub(crate) house: House,
    pub(crate) stage: Stage,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Team {
    pub(crate) async fn on(version: &str, script: &str) -> Self {
        Self::with(version, script, &settings()).await
    }

    pub(crate) async fn with(version: &str, script: &str, serve: &Serve) -> Self {
        let cli = Cli::install(version).unwrap();
        let stage = Stage::new(&cli, script.parse().unwrap()).await.unwrap();
        settled(&stage);
        let before = users_files(&stage);
        let directory = tempfile::tempdir().unwrap();
        let gemini = stage.home().path().join(".gemini");
        let house = House::at(directory, &gemini, gemini_on(&stage), serve).await;
        Self { house, stage, before }
    }

    /// What there is now is the user's own.
    pub(crate) fn look(&mut self) {
        self.before = users_files(&self.stage);
    }

    /// A profile with these fields.
    pub(crate) fn profile(&self, name: &str, fields: &str) {
        let profiles = self.house.directory.path().join("profiles");
        std::fs::create_dir_all(&profiles).unwrap();
        let text = format!(
            "---\nname: {name}\ndescription: One of ours\n{fields}\n---\nYou are the {name}.\n"
        );
        std::fs::write(profiles.join(format!("{name}.md")), text).unwrap();
    }

    /// The daemon ends and is started again.
    pub(crate) async fn restart(self) -> Self {
        self.restart_after(|| {}).await
    }

    /// The daemon ends and is started again; meanwhile something happens.
    pub(crate) async fn restart_after(self, happens: impl FnOnce()) -> Self {
        let Self { house, stage, before } = self;
        let directory = house.close().await;
        happens();
        let gemini = stage.home().path().join(".gemini");
        let house = House::at(directory, &gemini, gemini_on(&stage), &settings()).await;
        Self { house, stage, before }
    }

    /// Ends all, and looks that nothing was left and no file of the user's was touched.
    pub(crate) async fn close(self) {
        let Self { house, stage, before } = self;
        let directory = house.close().await;
        let lent: Vec<_> =
            std::fs::read_dir(directory.path().join("daemon/lent")).unwrap().collect();
        assert!(lent.is_empty(), "what was lent was given back: {lent:?}");
        assert_eq!(users_files(&stage), before, "the user's files are as they were");
        stage.close().await;
    }

    pub(crate) async fn launch(&self, profile: &str, prompt: Option<&str>) -> String {
        let body = json!({ "profile": profile, "prompt": prompt, "cwd": self.stage.workspace() });
        let (status, summary) = self.house.post("/api/v1/team/launch", body).await;
        assert_eq!(status, 200, "{summary}");
        summary["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn give(
        &self,
        kind: &str,
        profile: &str,
        message: &str,
        more: Value,
    ) -> Value {
        let mut body = json!({ "kind": kind, "profile": profile, "message": message,
            "cwd": self.stage.workspace() });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, job) = self.house.post("/api/v1/jobs", body).await;
        assert_eq!(status, 200, "{job}");
        job
    }

    /// Hands off a job, and waits until there is something to say of it.
    pub(crate) async fn handoff(&self, profile: &str, message: &str, more: Value) -> Value {
        let job = self.give("handoff", profile, message, more).await;
        self.told(&job).await
    }

    /// Writes to an agent, and waits until it was told.
    pub(crate) async fn write(&self, to: &str, text: &str) {
        let (status, sent) =
            self.house.post("/api/v1/letters", json!({ "to": to, "text": text })).await;
        assert_eq!(status, 200, "{sent}");
        let is_delivered =
            |letter: &Value| letter["id"] == sent["id"] && letter["state"] == "delivered";
        self.wait_for("it is delivered", &format!("/api/v1/letters?of={to}"), |all| {
            all["letters"].as_array().unwrap().iter().any(is_delivered)
        })
        .await;
    }

    /// Waits until there is something to say of a job.
    pub(crate) async fn told(&self, job: &Value) -> Value {
        let id = job["id"].as_str().unwrap();
        loop {
            let job = self.house.get(&format!("/api/v1/jobs/{id}?wait=25")).await;
            if !matches!(job["state"].as_str().unwrap(), "starting" | "working") {
                return job;
            }
        }
    }

    pub(crate) async fn wait_for(
        &self,
        label: &str,
        path: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Value {
        pollux_e2e::wait_for(label, LONGEST, async || {
            let value = self.house.get(path).await;
            if fits(&value) { Ok(value) } else { Err(value) }
        })
        .await
    }

    pub(crate) async fn status(&self, session: &str, status: &str) -> Value {
        let path = format!("/api/v1/sessions/{session}");
        self.wait_for(&format!("{session} is {status}"), &path, |it| it["status"] == status).await
    }

    pub(crate) async fn jobs(&self) -> Vec<Value> {
        self.house.get("/api/v1/jobs").await["jobs"].as_array().unwrap().clone()
    }

    /// What the agent of a session said and was told, the oldest first: role and text.
    pub(crate) async fn said(&self, session: &str) -> Vec<(String, String)> {
        let page = self.house.get(&format!("/api/v1/sessions/{session}/messages?limit=200")).await;
        let messages = page["messages"].as_array().unwrap().iter();
        let said = messages.filter(|recorded| recorded["message"]["meta"] != true);
        let text = |recorded: &Value| {
            let content = &recorded["message"]["content"];
            let blocks = content.as_array().cloned().unwrap_or_default();
            let texts: Vec<String> = blocks
                .iter()
                .filter_map(|block| block["text"].as_str().map(str::to_owned))
                .collect();
            content.as_str().map_or_else(|| texts.join(" "), str::to_owned)
        };
        said.map(|recorded| {
            (recorded["message"]["role"].as_str().unwrap().to_owned(), text(recorded))
        })
        .filter(|(_, text)| !text.is_empty())
        .collect()
    }

    /// Ends an agent and those who work for it. Gives their names, in the order in which they were told.
    pub(crate) async fn stop(&self, agent: &str) -> Vec<String> {
        let (status, stopped) =
            self.house.post(&format!("/api/v1/team/{agent}/stop"), json!({})).await;
        assert_eq!(status, 200, "{stopped}");
        serde_json::from_value(stopped).unwrap()
    }
}

/// Settings as a user has them: with a comment, and with no name of old that the CLI itself would put in order.
fn settled(stage: &Stage) {
    let mut settings = Home::settings();
    if let Some(general) = settings["general"].as_object_mut() {
        general.retain(|name, _| !name.starts_with("disable"));
    }
    let text = serde_json::to_string_pretty(&settings).unwrap();
    std::fs::write(stage.home().gemini().join("settings.json"), format!("// mine\n{text}\n"))
        .unwrap();
}

/// The files that are the user's, by their paths: all but what the CLI writes by itself while it runs, and what a worker makes.
fn users_files(stage: &Stage) -> Vec<(PathBuf, Vec<u8>)> {
    let gemini = stage.home().path().join(".gemini");
    let mut all = Vec::new();
    for name in
        ["settings.json", "GEMINI.md", "trustedFolders.json", "policies", "extensions", "skills"]
    {
        files_of(&gemini, Path::new(name), &mut all);
    }
    for entry in std::fs::read_dir(stage.workspace()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // What git keeps is git's: a worktree is written down there.
        if (name.starts_with('.') && name != ".git") || name.starts_with("GEMINI") {
            files_of(stage.workspace(), Path::new(&name), &mut all);
        }
    }
    all.sort();
    all
}

/// A file, or all files in a directory; nothing where there is neither. A directory that the CLI made and left empty is none.
fn files_of(root: &Path, name: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    let path = root.join(name);
    if path.is_dir() {
        for entry in std::fs::read_dir(&path).unwrap() {
            files_of(root, &name.join(entry.unwrap().file_name()), all);
        }
    } else if path.exists() {
        all.push((name.to_owned(), std::fs::read(&path).unwrap()));
    }
}

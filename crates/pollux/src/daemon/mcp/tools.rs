//! The tools. Few, and short: every agent reads them with every prompt.

use crate::api::team::{Give, Job, Worktree};
use crate::daemon::team::{Caller, Teams};
use crate::team::job::{Kind, State};
use crate::team::limits::Budget;
use crate::trouble::Trouble;
use axum::http::request::Parts;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, ProgressNotificationParam, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// So long one call waits at most: less than clients do. What is not there by then is fetched with `job_result`.
const LONGEST_WAIT: Duration = Duration::from_mins(9);
/// How often it is said that a job goes on.
const PROGRESS: Duration = Duration::from_secs(5);
/// So many profiles are listed.
const PROFILES: usize = 20;

/// The server, for one caller.
#[derive(Debug, Clone)]
pub struct Server {
    teams: Teams,
    /// Who asks, where one connection is one caller.
    caller: Option<Caller>,
    /// Where its client was started, if it says so.
    place: Option<PathBuf>,
    tool_router: ToolRouter<Self>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct HandoffArgs {
    /// Profile of the new agent (see `find_profiles`)
    agent_profile: String,
    /// Complete task; the agent sees nothing else
    message: String,
    /// Seconds to wait for the answer
    timeout: Option<u64>,
    /// Working directory; defaults to yours
    working_directory: Option<PathBuf>,
    /// Run it in a separate git worktree: "merge" or "keep"
    worktree: Option<String>,
    /// Token budget
    tokens: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AssignArgs {
    /// Profile of the new agent (see `find_profiles`)
    agent_profile: String,
    /// Complete task; the agent sees nothing else
    message: String,
    /// Working directory; defaults to yours
    working_directory: Option<PathBuf>,
    /// Run it in a separate git worktree: "merge" or "keep"
    worktree: Option<String>,
    /// Token budget
    tokens: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct MessageArgs {
    /// Name of an agent, or "person" for the user; defaults to the agent or user you work for
    receiver_id: Option<String>,
    /// Text of the message
    message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AnswerArgs {
    /// Name of the agent that asks
    agent: String,
    /// Id of the choice
    choice: String,
    /// Reason for the answer; required by some choices
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AgentArgs {
    /// Name of the agent
    agent: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct JobArgs {
    /// Id of the job
    job: String,
    /// Seconds to wait for the job to finish
    wait: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct QueryArgs {
    /// Words to search for; defaults to all profiles
    query: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SkillArgs {
    /// Name of the skill
    name: String,
}

type Answer = Result<CallToolResult, rmcp::ErrorData>;

#[tool_router]
impl Server {
    /// A server on teams; the caller is known, or comes with each request.
    pub fn new(teams: Teams, caller: Option<Caller>, place: Option<PathBuf>) -> Self {
        Self { teams, caller, place, tool_router: Self::tool_router() }
    }

    #[tool(description = "Give a task to a new agent and wait for its answer")]
    async fn handoff(
        &self,
        Parameters(args): Parameters<HandoffArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        let give =
            give(Kind::Handoff, args.agent_profile, args.message, (args.worktree, args.tokens))?;
        let timeout = args.timeout.or(Some(3600));
        let cwd = self.cwd(&caller, args.working_directory);
        match self.teams.give(&caller, Give { cwd, timeout, ..give }).await {
            Ok(job) => Ok(self.wait(job, LONGEST_WAIT, &context).await),
            Err(error) => Ok(wrong(&error)),
        }
    }

    #[tool(
        description = "Give a task to a new agent without waiting; its answer arrives as a message"
    )]
    async fn assign(
        &self,
        Parameters(args): Parameters<AssignArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        let give =
            give(Kind::Assign, args.agent_profile, args.message, (args.worktree, args.tokens))?;
        let give = Give { cwd: self.cwd(&caller, args.working_directory), ..give };
        Ok(match self.teams.give(&caller, give).await {
            Ok(job) => said(
                format!("{} is working on it. Its answer will arrive as a message.", job.name),
                json!({ "job": job.id, "agent": job.name, "state": job.state }),
            ),
            Err(error) => wrong(&error),
        })
    }

    #[tool(description = "Send a message to an agent; it is delivered when the agent is idle")]
    async fn send_message(
        &self,
        Parameters(args): Parameters<MessageArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        let sent = self.teams.send(&caller, args.receiver_id.as_deref(), &args.message).await;
        Ok(match sent {
            Ok((id, to)) => said(format!("Sent to {to}."), json!({ "message_id": id, "to": to })),
            Err(error) => wrong(&error),
        })
    }

    #[tool(description = "Answer the pending question of an agent that works for you")]
    async fn answer(
        &self,
        Parameters(args): Parameters<AnswerArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        let answered = self.teams.answer(&caller, &args.agent, &args.choice, args.reason).await;
        Ok(match answered {
            Ok(()) => said("Answered.".into(), json!({ "answered": true })),
            Err(error) => wrong(&error),
        })
    }

    #[tool(description = "List the agents of your team and their status")]
    async fn list_agents(&self, context: RequestContext<RoleServer>) -> Answer {
        let caller = self.caller(&context)?;
        let members = match self.teams.list(&caller).await {
            Ok(members) => members,
            Err(error) => return Ok(wrong(&error)),
        };
        let mut text = String::new();
        for member in members.iter().filter(|member| !member.gone) {
            let status = serde_json::to_value(member.status).unwrap_or_default();
            let you = if Some(member.session.as_str()) == caller.session() { " (you)" } else { "" };
            // Writing to a string does not fail.
            let _written = writeln!(
                text,
                "{}{}{you}: {}, {} tokens",
                "  ".repeat(usize::try_from(member.depth).unwrap_or(0)),
                member.name,
                status.as_str().unwrap_or_default(),
                member.tokens
            );
        }
        let agents: Vec<Value> = members
            .iter()
            .filter(|member| !member.gone)
            .map(|member| {
                json!({ "name": member.name, "profile": member.profile, "status": member.status,
                    "job": member.job, "tokens": member.tokens })
            })
            .collect();
        Ok(said(text, json!({ "agents": agents })))
    }

    #[tool(description = "List the profiles available for new agents")]
    async fn find_profiles(
        &self,
        Parameters(args): Parameters<QueryArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        self.caller(&context)?;
        let query = args.query.unwrap_or_default();
        let store = self.teams.store().clone();
        let listed = tokio::task::spawn_blocking(move || store.list()).await.unwrap_or_default();
        let profiles: Vec<Value> = listed
            .into_iter()
            .filter_map(|found| found.profile.ok())
            .filter(|profile| profile.fits(&query))
            .take(PROFILES)
            .map(|profile| json!({ "name": profile.name, "description": profile.description }))
            .collect();
        let lines = profiles.iter().map(|profile| {
            let word = |field: &str| profile[field].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", word("name"), word("description"))
        });
        Ok(said(lines.collect::<Vec<_>>().join("\n"), json!({ "profiles": profiles })))
    }

    #[tool(description = "Stop an agent that works for you, and the agents that work for it")]
    async fn stop_agent(
        &self,
        Parameters(args): Parameters<AgentArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        let stopped = match self.teams.find(&caller, &args.agent) {
            Ok(session) => self.teams.stop(&caller, &session).await,
            Err(trouble) => Err(trouble.into()),
        };
        Ok(match stopped {
            Ok(stopped) => {
                said(format!("Stopped: {}.", stopped.join(", ")), json!({ "stopped": stopped }))
            }
            Err(error) => wrong(&error),
        })
    }

    #[tool(description = "Get the status and result of a job; waits up to `wait` seconds")]
    async fn job_result(
        &self,
        Parameters(args): Parameters<JobArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        let job = match self.teams.job(&caller, &args.job).await {
            Ok(job) => job,
            Err(error) => return Ok(wrong(&error)),
        };
        let most = Duration::from_secs(args.wait.unwrap_or(0)).min(LONGEST_WAIT);
        let is_over = job.state.is_told() && job.state != State::TimedOut;
        if is_over || most.is_zero() {
            return Ok(told(&job));
        }
        Ok(self.wait(job, most, &context).await)
    }

    #[tool(description = "Get the text of a skill")]
    async fn load_skill(
        &self,
        Parameters(args): Parameters<SkillArgs>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let caller = self.caller(&context)?;
        Ok(match self.teams.skill(&caller, &args.name) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(error) => wrong(&error),
        })
    }
}

impl Server {
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, rmcp::ErrorData> {
        let of_request =
            || context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>());
        let caller = self.caller.as_ref().or_else(of_request).cloned();
        caller.ok_or_else(|| {
            rmcp::ErrorData::invalid_request("the request has no authenticated caller", None)
        })
    }

    /// Where a worker is to work: a person's where his client was started, unless he says otherwise. What an agent says is
    /// looked at where work is given.
    fn cwd(&self, caller: &Caller, wanted: Option<PathBuf>) -> Option<PathBuf> {
        match (caller, &self.place, wanted) {
            (Caller::Person(_), Some(place), Some(wanted)) => Some(place.join(wanted)),
            (Caller::Person(_), Some(place), None) => Some(place.clone()),
            (_, _, wanted) => wanted,
        }
    }

    /// Waits for a job, and says every now and then that it goes on. A client that waits no longer loses nothing.
    async fn wait(
        &self,
        job: Job,
        most: Duration,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let end = tokio::time::Instant::now() + most;
        let waiting = self.teams.wait(&job);
        tokio::pin!(waiting);
        let mut seconds = 0_u32;
        loop {
            let token = context.meta.get_progress_token();
            tokio::select! {
                job = &mut waiting => return told(&job),
                () = context.ct.cancelled() => return told(&job),
                () = tokio::time::sleep_until(end) => return told(&job),
                () = tokio::time::sleep(PROGRESS), if token.is_some() => {
                    seconds += 5;
                    if let Some(token) = token {
                        let progress = ProgressNotificationParam::new(token, f64::from(seconds))
                            .with_message(format!("{} is working", job.name));
                        // A client that is gone needs no progress.
                        drop(context.peer.notify_progress(progress).await);
                    }
                }
            }
        }
    }
}

fn give(
    kind: Kind,
    profile: String,
    message: String,
    (worktree, tokens): (Option<String>, Option<u64>),
) -> Result<Give, rmcp::ErrorData> {
    let worktree = match worktree.as_deref() {
        None => None,
        Some("merge") => Some(Worktree::Merge),
        Some("keep") => Some(Worktree::Keep),
        // Not one that nobody asked for: its branch would stay.
        Some(word) => {
            let why = format!("invalid worktree `{word}`: use `merge` or `keep`, or omit it");
            return Err(rmcp::ErrorData::invalid_params(why, None));
        }
    };
    Ok(Give {
        client_id: None,
        kind,
        profile,
        message,
        cwd: None,
        timeout: None,
        budget: Budget { tokens, seconds: None },
        worktree,
        keep: None,
        driver: None,
    })
}

/// A job as an agent reads it: the answer itself where it is done, and in every case what to do next.
fn told(job: &Job) -> CallToolResult {
    let about = json!({ "job": job.id, "agent": job.name, "state": job.state, "why": job.why,
        "question": job.question, "changed": job.result.as_ref().map(|result| &result.changed),
        "worktree": job.result.as_ref().and_then(|result| result.worktree.as_ref()),
        "derived": job.result.as_ref().and_then(|result| result.derived.as_ref()),
        "tokens": job.result.as_ref().map(|result| result.tokens) });
    let next = match job.state {
        State::Done => {
            return said(
                job.result.as_ref().map(|result| result.text.clone()).unwrap_or_default(),
                about,
            );
        }
        State::Starting | State::Working => "It is still running: get its answer with job_result.",
        State::Waiting => {
            "Answer it with `answer` if you may, or tell the user; then call job_result."
        }
        State::Paused => "It has used up its budget: tell the user, who can continue it.",
        State::TimedOut => {
            "Its agent is still working: call job_result later, or stop it with stop_agent."
        }
        State::Failed | State::Cancelled => "",
    };
    let mut text = format!("Job {} of {} is {}.", job.id, job.name, job.state.word());
    if let Some(why) = &job.why {
        let _written = write!(text, " {why}.");
    }
    if let Some(question) = &job.question {
        let choices: Vec<&str> = question.options.iter().map(|(id, _)| id.as_str()).collect();
        let _written =
            write!(text, " Question: {} Choices: {}.", question.about, choices.join(", "));
    }
    let text = format!("{text} {next}").trim_end().to_owned();
    if job.state == State::Failed {
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    }
    said(text, about)
}

fn said(text: String, about: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(about);
    result
}

fn wrong(error: &anyhow::Error) -> CallToolResult {
    let problem = crate::daemon::routes::problem(error);
    let trouble = error.downcast_ref::<Trouble>();
    let message = trouble.map_or(problem.message, |trouble| trouble.message.clone());
    let hint = problem.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(format!("{message}{hint}"))])
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("pollux", env!("CARGO_PKG_VERSION"));
        info
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Server, Worktree, give};
    use crate::team::tools::OWN_TOOLS;

    #[test]
    fn a_worktree_is_made_for_those_only_who_ask_for_one() {
        let given = |word: Option<&str>| {
            let more = (word.map(str::to_owned), None);
            give(Kind::Assign, "developer".into(), "go".into(), more).map(|give| give.worktree)
        };
        assert!(given(None).unwrap().is_none());
        assert!(matches!(given(Some("merge")).unwrap(), Some(Worktree::Merge)));
        assert!(matches!(given(Some("keep")).unwrap(), Some(Worktree::Keep)));
        assert!(given(Some("none")).is_err());
    }

    #[test]
    fn the_tools_that_are_offered_are_those_that_the_policy_allows() {
        let all = Server::tool_router().list_all();
        let mut offered: Vec<String> = all.into_iter().map(|tool| tool.name.to_string()).collect();
        offered.sort();
        assert_eq!(offered, OWN_TOOLS);
    }
}

//! `pollux run --via acp`: a session that lives, with questions, and with more than one prompt if need be.

use super::ask::Asker;
use super::live::Live as Line;
use super::output::Output;
use super::{Format, Here, Run, prompt, refused, resume};
use crate::ends::Stop;
use crate::report;
use crate::report::keys::Wanted;
use pollux_agent::acp::{
    Agent, Budgets, Config as AgentConfig, Control, Open, Policy, Prompt, Rules, Session,
};
use pollux_agent::gemini::acp::{Gemini, Live};
use pollux_agent::gemini::cli::Cli;
use pollux_agent::model::{Event, EventKind, Failure, Mode, Outcome};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So long may an agent take to answer that a turn was stopped, where it is ended next in any case. Gemini CLI does not answer
/// while a command runs.
const STOPPED: Duration = Duration::from_secs(1);

/// Who answers the agent's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Permission {
    /// You, in this terminal
    Ask,
    /// Allow each request once, never "always"
    Auto,
    /// Reject each request
    Deny,
    /// Apply the rules file given with `--rules`
    Rules,
}

/// An agent with one session.
enum Talk {
    Gemini(Box<Live>),
    Any(Box<(Agent, Session)>),
}

impl Talk {
    async fn next(&mut self) -> Option<Event<'static>> {
        match self {
            Self::Gemini(live) => live.next().await,
            Self::Any(any) => any.1.next().await,
        }
    }

    fn control(&self) -> Control {
        match self {
            Self::Gemini(live) => live.control(),
            Self::Any(any) => any.1.control(),
        }
    }

    fn outcome(&mut self) -> Option<Outcome> {
        match self {
            Self::Gemini(live) => live.outcome(),
            Self::Any(any) => any.1.outcome(),
        }
    }

    async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Gemini(live) => live.close().await?,
            Self::Any(any) => drop(any.0.close().await),
        }
        Ok(())
    }
}

/// Refuses rules that nobody would look at.
pub(super) fn are_rules_used(args: &Run) -> anyhow::Result<()> {
    if args.rules.is_some() && args.permission.is_some_and(|asked| asked != Permission::Rules) {
        let message = "`--rules` only works with `--permission rules`".to_owned();
        return Err(refused(
            "unused_rules",
            message,
            "remove `--rules`, or use `--permission rules`",
        ));
    }
    Ok(())
}

/// Who answers the questions of this run. Refused where somebody is to be asked and nobody is there.
pub(super) fn policy(args: &Run) -> anyhow::Result<Policy> {
    let asked = args.permission.unwrap_or(match (&args.rules, report::can_ask()) {
        (Some(_), _) => Permission::Rules,
        (None, true) => Permission::Ask,
        // Who can ask nobody is as careful as a headless run, which only reads.
        (None, false) => Permission::Deny,
    });
    if args.permission.is_none() && asked == Permission::Deny && args.output == Format::Text {
        report::quiet(
            "no terminal: tool calls that need approval will be denied (use `--permission auto` or `--rules FILE`)",
        );
    }
    match asked {
        Permission::Ask if !report::can_ask() => {
            let message = "`--permission ask` needs a terminal".to_owned();
            let hint = "use `--permission auto`, `--permission deny`, or `--rules FILE`";
            Err(refused("nobody_to_ask", message, hint))
        }
        Permission::Ask => Ok(Policy::Ask),
        Permission::Auto => Ok(Policy::Auto),
        Permission::Deny => Ok(Policy::Deny),
        Permission::Rules => rules(args),
    }
}

fn rules(args: &Run) -> anyhow::Result<Policy> {
    let Some(file) = &args.rules else {
        let message = "`--permission rules` needs a rules file".to_owned();
        return Err(refused("no_rules", message, "add `--rules FILE`"));
    };
    let wrong = |error: String| {
        let message = format!("cannot use the rules file {}: {error}", file.display());
        refused("bad_rules", message, "docs/acp.md describes the format")
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let rules: Rules = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let asks = rules.otherwise == pollux_agent::acp::Verdict::Ask
        || rules.rules.iter().any(|rule| rule.verdict == pollux_agent::acp::Verdict::Ask);
    if asks && !report::can_ask() {
        return Err(wrong("a rule asks the user, but there is no terminal".to_owned()));
    }
    Ok(Policy::Rules(rules))
}

/// Starts the agent, gives it the prompt, and the next ones where there are more.
pub(super) async fn drive(
    here: Here<'_>,
    first: Option<String>,
    cli: Option<Cli>,
    output: &mut Output,
) -> anyhow::Result<Outcome> {
    let Here { args, cwd, .. } = here;
    let policy = policy(args)?;
    // Before the agent is there: a start that nobody wants any more leaves none behind.
    let mut signals = Signals { stop: Stop::new()?, ended: false };
    let mut kept = None;
    let starts = async {
        match cli {
            Some(cli) => gemini(here, cli, policy, &mut kept).await,
            None => Ok(any(args, cwd, policy).await),
        }
    };
    let started = tokio::select! {
        started = starts => Some(started?),
        () = signals.stop.told() => None,
    };
    let mut talk = match started {
        Some(Ok(talk)) => talk,
        Some(Err(failure)) => return super::told(super::not_started(failure), output),
        None => {
            if let Some(kept) = &kept {
                kept.given_up().await;
            }
            return super::told(super::cancelled(None), output);
        }
    };
    let last = turns(here, first, &mut talk, &mut signals, output).await;
    // Also where nobody reads any more: what a resume left is taken away here.
    let closed = talk.close().await;
    let last = last?;
    closed?;
    Ok(last.unwrap_or_default())
}

/// One turn after the other, until nobody says more. Gives how the last one ended.
async fn turns(
    here: Here<'_>,
    first: Option<String>,
    talk: &mut Talk,
    signals: &mut Signals,
    output: &mut Output,
) -> anyhow::Result<Option<Outcome>> {
    let mut next = first;
    let mut last = None;
    // What is attached is said once.
    let mut attach: &[PathBuf] = &here.args.attach;
    loop {
        let words = match next.take() {
            Some(words) => words,
            None if here.args.interactive => match signals.unless(prompt::next).await? {
                Some(words) => words,
                None => return Ok(last),
            },
            None => return Ok(last),
        };
        let outcome =
            turn(here, (words, std::mem::take(&mut attach)), talk, signals, output).await?;
        // Before the next prompt is asked for.
        let outcome = super::told(outcome, output)?;
        // Of a turn that was left in its middle nothing is known: nothing more can be said there.
        let left = outcome.turns == 0;
        let gone = outcome.error.as_ref().is_some_and(|error| GONE.contains(&error.code));
        let over = left || gone || signals.ended;
        last = Some(outcome);
        if over {
            return Ok(last);
        }
    }
}

/// Failures that no further prompt survives.
const GONE: [&str; 5] = ["agent_ended", "agent_gone", "killed", "stuck", "agent_deaf"];

/// A session that is kept must have come to rest before the next prompt.
fn budgets(args: &Run) -> Budgets {
    let all = Budgets::default();
    if args.interactive { all } else { Budgets { cancel: STOPPED, ..all } }
}

/// Starts Gemini CLI.
async fn gemini(
    here: Here<'_>,
    cli: Cli,
    policy: Policy,
    kept: &mut Option<resume::Kept>,
) -> anyhow::Result<Result<Talk, Failure>> {
    let Here { args, cwd, config } = here;
    let mut config = config.clone();
    let mut order = Gemini::new().cwd(cwd).policy(policy).mode(args.mode).budgets(budgets(args));
    if let Some(turns) = args.max_turns {
        order = order.max_turns(turns);
    }
    for (name, value) in &args.env {
        order = order.env(name, value);
    }
    config.at_home_of(&args.env);
    let home = config.gemini.parent().unwrap_or(&config.gemini);
    order = order.home(home).cli(cli.clone());
    for directory in &args.include {
        order = order.include(config.cwd.join(directory));
    }
    for file in &args.attach {
        let file = prompt::attached(&config.cwd.join(file))?;
        if let Some(parent) = file.parent().filter(|parent| !parent.starts_with(cwd)) {
            order = order.include(parent);
        }
    }
    if let Some(model) = &args.model {
        order = order.model(model);
    }
    for tool in &args.allow_tool {
        order = order.extra_arg(format!("--allowed-tools={tool}"));
    }
    order = args.extra_arg.iter().fold(order, Gemini::extra_arg);
    if let Some(wanted) = &args.resume {
        let wanted = resume::free(wanted, cwd, &config, None).await?;
        let found = resume::alone(resume::find(&wanted, cwd, &config, &cli)?)?;
        order = order.resume(kept.insert(found).resume.clone());
    }
    Ok(order.start().await.map(|live| Talk::Gemini(Box::new(live))))
}

/// Starts any other agent.
async fn any(args: &Run, cwd: &Path, policy: Policy) -> Result<Talk, Failure> {
    let mut words = args.agent_command.iter().flat_map(|command| command.split_whitespace());
    let mut config = AgentConfig::new(words.next().unwrap_or_default()).args(words).cwd(cwd);
    config = config.policy(policy).budgets(budgets(args));
    for (name, value) in &args.env {
        config = config.env(name, value);
    }
    let agent = Agent::spawn(config).await?;
    let mut open = Open::new(cwd);
    open.load.clone_from(&args.resume);
    let session = agent.open(open).await?;
    if args.mode != Mode::Default {
        session.control().set_mode(args.mode).await?;
    }
    if let Some(model) = &args.model {
        session.control().set_model(model).await?;
    }
    Ok(Talk::Any(Box::new((agent, session))))
}

/// Ctrl-C, and being told to end.
struct Signals {
    stop: Stop,
    /// It was told to end in the middle of a turn: there is no other one.
    ended: bool,
}

impl Signals {
    /// What the person says next; none where a signal comes first.
    async fn unless<T>(
        &mut self,
        says: impl AsyncFnOnce(&Wanted) -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<Option<T>> {
        let wanted = Wanted::default();
        tokio::select! {
            said = says(&wanted) => return said,
            () = self.stop.told() => {}
        }
        wanted.end();
        Ok(None)
    }
}

/// One prompt, until the turn is over.
async fn turn(
    here: Here<'_>,
    (words, attach): (String, &[PathBuf]),
    talk: &mut Talk,
    signals: &mut Signals,
    output: &mut Output,
) -> anyhow::Result<Outcome> {
    let Here { args, config, .. } = here;
    let control = talk.control();
    let mut order = Prompt::text(words);
    for file in attach {
        order = order.attach(&prompt::attached(&config.cwd.join(file))?);
    }
    if let Some(timeout) = args.timeout {
        order = order.timeout(timeout);
    }
    if let Some(turns) = args.max_turns {
        order = order.max_turns(turns);
    }
    if let Err(failure) = control.prompt(order).await {
        return Ok(super::not_started(failure));
    }
    let mut asker = Asker::default();
    let outcome = hear(talk, &mut asker, signals, output).await;
    // Whatever the person is being asked, nobody waits for it any more.
    asker.close().await;
    outcome
}

/// Tells what happens, and asks what is asked, until the turn is over.
async fn hear(
    talk: &mut Talk,
    asker: &mut Asker,
    signals: &mut Signals,
    output: &mut Output,
) -> anyhow::Result<Outcome> {
    let control = talk.control();
    let mut line = Line::new(output.is_for_people());
    let mut stopping = false;
    loop {
        tokio::select! {
            event = talk.next() => {
                let Some(event) = event else { return Ok(talk.outcome().unwrap_or_default()) };
                line.hide();
                output.event(&event)?;
                line.show(&event);
                match &event.kind {
                    EventKind::Asked(question) => asker.asked(question),
                    EventKind::Answered { question_id, .. } => asker.answered(&question_id.to_str()),
                    EventKind::TurnEnded { .. } => return Ok(talk.outcome().unwrap_or_default()),
                    _ => {}
                }
            }
            () = line.tick(), if !asker.is_asking() => {}
            answer = asker.answer() => {
                let answer = answer?;
                // Somebody else may have been first; the events say what holds.
                drop(control.answer(answer.question, answer.choice, answer.reason).await);
            }
            _ = signals.stop.interrupted.recv() => {
                if stopping {
                    return Ok(super::cancelled(Some(control.id())));
                }
                stopping = true;
                line.hide();
                report::quiet("stopping; press Ctrl-C again to kill the agent");
                drop(control.cancel().await);
            }
            () = signals.stop.ends.told() => {
                signals.ended = true;
                drop(control.cancel().await);
            }
        }
    }
}

/// Refuses what cannot go together: many turns, and a format that has room for one.
pub(super) fn check(args: &Run) -> anyhow::Result<()> {
    if args.interactive && args.output == Format::Json {
        let message =
            "`-o json` prints one turn and cannot be used with `--interactive`".to_owned();
        return Err(refused("one_object", message, "use `-o events`"));
    }
    Ok(())
}

//! What one process is given, and no other: what it is told, what it may use, which servers it has.

use super::profile::{Profile, Server};
use super::tools::{Tools, lesser};
use pollux_agent::model::{Effect, Mode, QuestionKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one process is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The profile that it comes from.
    pub profile: String,
    /// What it is told before all else.
    pub system: String,
    /// What it may use.
    pub tools: Tools,
    /// What it can pass on; none in what was written before there was a difference.
    #[serde(default)]
    pub lends: Option<Tools>,
    /// The servers of its profile.
    #[serde(default)]
    pub servers: BTreeMap<String, Server>,
    /// The skills that it may load.
    #[serde(default)]
    pub skills: Vec<String>,
    /// True where it may answer the questions of those who work for it.
    #[serde(default)]
    pub answers: bool,
    /// True where it is an agent of a team, and so has our server.
    #[serde(default)]
    pub teams: bool,
    /// The mode that it began in, which it has again when it is started again.
    #[serde(default)]
    pub mode: Option<Mode>,
}

/// What a caller has, and so can pass on. None for a person, who has everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// What it may do without asking.
    pub mode: Mode,
    /// What those who work for it may use.
    pub tools: Tools,
    /// True where it may answer questions.
    pub answers: bool,
}

/// What an agent of this profile is given by a caller, and the mode that it begins in.
pub fn given(profile: &Profile, name: &str, caller: Option<&Rights>) -> (Given, Mode) {
    let wanted = profile.mode.unwrap_or_default();
    let (tools, lends, mode, answers) = match caller {
        None => (profile.tools.clone(), profile.lends.clone(), wanted, profile.answers),
        Some(rights) => (
            profile.tools.and(&rights.tools),
            profile.lends.and(&rights.tools),
            lesser(wanted, rights.mode),
            profile.answers && rights.answers,
        ),
    };
    let teams = tools.has("@pollux");
    let given = Given {
        profile: profile.name.clone(),
        system: system(profile, name, teams),
        tools,
        lends: Some(lends),
        servers: profile.servers.clone(),
        skills: profile.skills.clone(),
        answers,
        teams,
        mode: Some(mode),
    };
    (given, mode)
}

/// True where an agent may answer so: yes or no for this once, or what a model itself wants to know. All else lasts, such as
/// a guard that is switched off for the whole session or a model that is changed, and is for a person.
pub fn may_choose(kind: QuestionKind, effect: Effect) -> bool {
    match effect {
        Effect::AllowOnce | Effect::RejectOnce => true,
        Effect::AllowAlways | Effect::RejectAlways => false,
        Effect::Words | Effect::Other => kind == QuestionKind::Choice,
    }
}

/// What it is told: the profile's own words, and the little that every agent of a team needs to know.
fn system(profile: &Profile, name: &str, teams: bool) -> String {
    let mut text = profile.prompt.clone();
    text.push_str(
        "\n\n# How you work\n\nYou are an agent in Gemini CLI and act through its tools in the project's directory. Look before \
         you change anything, follow the project's conventions, and never claim anything that you have not checked. The last \
         message of your turn is your answer.\n",
    );
    if teams {
        text.push_str("\n# Your team\n\nYou are `");
        text.push_str(name);
        text.push_str(
            "`, one agent of a team. Use the tools of the server `pollux` to hand work to other agents (`handoff` waits for the \
             answer, `assign` does not), send messages and list the agents. Messages from other agents arrive as prompts that begin \
             with `[`. Results of work that you assigned arrive automatically: do not poll for them.\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Rights, given, may_choose};
    use crate::team::profile::Profile;
    use crate::team::tools::Tools;
    use pollux_agent::model::{Effect, Mode, QuestionKind};

    fn profile(fields: &str) -> Profile {
        Profile::read(&format!("---\n{fields}\n---\nWork."), "a", &|_| None).unwrap()
    }

    /// What a developer may use whom an agent of this profile begins.
    fn developer_of(fields: &str) -> Tools {
        let (leader, mode) = given(&profile(fields), "a-1", None);
        let rights = Rights { mode, tools: leader.lends.unwrap(), answers: false };
        given(&profile("role: developer"), "b-1", Some(&rights)).0.tools
    }

    #[test]
    fn who_leads_by_role_has_others_do_what_it_does_not_do_and_a_written_limit_holds_for_all_below()
    {
        assert!(developer_of("role: supervisor").has("write_file"));
        assert!(!developer_of("role: reviewer").has("write_file"));
        assert!(!developer_of("role: supervisor\ntools: [fs_read, '@pollux']").has("write_file"));
        let rights = Rights { mode: Mode::Yolo, tools: Tools::named(["fs_read"]), answers: true };
        let (leader, _) = given(&profile("role: supervisor"), "a-1", Some(&rights));
        assert!(!leader.lends.unwrap().has("write_file"));
    }

    #[test]
    fn an_agent_opens_no_door_for_good() {
        assert!(may_choose(QuestionKind::Command, Effect::AllowOnce));
        assert!(may_choose(QuestionKind::Loop, Effect::RejectOnce));
        assert!(may_choose(QuestionKind::Choice, Effect::Other));
        assert!(!may_choose(QuestionKind::Edit, Effect::AllowAlways));
        // "Disable loop detection for this session" is neither yes nor no.
        assert!(!may_choose(QuestionKind::Loop, Effect::Other));
        assert!(!may_choose(QuestionKind::SignIn, Effect::Other));
    }
}

//! The tmux servers on which agents are looked for: the one for terminals of ours, the user's own, and those others on which
//! somebody has adopted one.

use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::gemini::terminal::{Found, adoptable, all};
use pollux_agent::model::Failure;
use pollux_agent::regular;
use pollux_agent::terminal::Socket;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server of somebody else's may take so long to say what there is: ours does not wait for it.
const OTHERS: Duration = Duration::from_secs(2);

/// All servers that are looked at.
#[derive(Debug, Clone)]
pub struct Servers {
    own: Socket,
    /// The sockets of those on which somebody was adopted, a line each.
    noted: PathBuf,
}

impl Servers {
    /// Ours, the user's, and what is noted in our directory.
    pub fn new(own: Socket, data: &Path) -> Self {
        Self { own, noted: data.join("tmux-servers") }
    }

    /// The one for terminals of ours.
    pub fn own(&self) -> &Socket {
        &self.own
    }

    /// All agents in terminals that have a name: ours, and those that were adopted, wherever they are.
    pub async fn all(&self) -> Result<Vec<Found>, Failure> {
        let others = self.others();
        let asked = others.iter().map(|socket| tokio::time::timeout(OTHERS, all(socket)));
        let (own, asked) = tokio::join!(all(&self.own), futures::future::join_all(asked));
        let mut found = own?;
        for (socket, told) in others.iter().zip(asked) {
            match told {
                Ok(told) => found.extend(told?),
                Err(_late) => tracing::warn!("tmux server `{socket}` does not respond"),
            }
        }
        Ok(found)
    }

    fn others(&self) -> Vec<Socket> {
        // Where the note cannot be read, those on it are not found: that is told when somebody asks for one.
        let noted = regular::text(&self.noted).unwrap_or_default();
        let mut others = vec![Socket::Users];
        for other in noted.lines().filter(|line| !line.is_empty()).map(Socket::named) {
            if !others.contains(&other) {
                others.push(other);
            }
        }
        others.retain(|other| *other != self.own);
        others
    }

    /// The agent that is meant, with a name, by which it is found from now on. Without a pane it is the only one that has none yet.
    pub async fn adopt(
        &self,
        socket: &Socket,
        pane: Option<&str>,
        home: &Path,
    ) -> anyhow::Result<Found> {
        let found = named(socket, pane, home).await?;
        self.note(socket).with_context(|| {
            let message = format!("could not record the tmux server in {}", self.noted.display());
            Trouble::failed("unwritable_file", message)
                .hint("check the permissions and free space there, then adopt the pane again")
        })?;
        Ok(found)
    }

    fn note(&self, socket: &Socket) -> io::Result<()> {
        if *socket == self.own || self.others().contains(socket) {
            return Ok(());
        }
        if let Some(directory) = self.noted.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(&self.noted)?;
        file.write_all(format!("{socket}\n").as_bytes())
    }
}

/// The agent that is meant, with a name.
async fn named(socket: &Socket, pane: Option<&str>, home: &Path) -> anyhow::Result<Found> {
    let mut known = all(socket).await.map_err(trouble)?;
    if let Some(at) = known.iter().position(|found| Some(found.pane.as_str()) == pane) {
        return Ok(known.swap_remove(at));
    }
    let mut nameless = adoptable(socket).await.map_err(trouble)?;
    nameless.retain(|found| pane.is_none_or(|pane| found.pane == pane));
    if nameless.len() > 1 {
        let panes =
            nameless.iter().map(|found| format!("{} ({})", found.pane, found.cwd.display()));
        let hint = format!("choose one pane: {}", panes.collect::<Vec<_>>().join(", "));
        let message = format!("more than one agent is running in {}", called(socket));
        return Err(Trouble::refused("several_agents", message).hint(hint).into());
    }
    let Some(mut found) = nameless.pop() else {
        return Err(nobody(socket, pane, &known).into());
    };
    found.adopt(home).await.map_err(trouble)?;
    Ok(found)
}

/// A server in words.
fn called(socket: &Socket) -> String {
    match socket {
        Socket::Users => "your tmux server".to_owned(),
        other => format!("the tmux server `{other}`"),
    }
}

/// Nobody is there who has no name yet.
fn nobody(socket: &Socket, pane: Option<&str>, known: &[Found]) -> Trouble {
    let server = called(socket);
    if let Some(pane) = pane {
        let message = format!("no Gemini CLI is running in pane {pane} of {server}");
        return Trouble::refused("no_agent", message)
            .hint("list the panes with `tmux list-panes -a`");
    }
    if !known.is_empty() {
        let named = |found: &Found| {
            format!("{} ({})", found.key.as_deref().unwrap_or_default(), found.pane)
        };
        let names: Vec<String> = known.iter().map(named).collect();
        let message = format!("all agents in {server} are already adopted: {}", names.join(", "));
        return Trouble::refused("adopted_already", message).hint("list them with `pollux ls`");
    }
    let hint = "run `gemini` in a tmux pane, or start one with `pollux new`";
    Trouble::refused("no_agent", format!("no Gemini CLI is running in {server}")).hint(hint)
}

/// What went wrong with tmux, as an error.
pub fn trouble(failure: Failure) -> anyhow::Error {
    Trouble::refused(failure.code, failure.message).hint_of(failure.hint).into()
}

#[cfg(test)]
mod tests {
    use super::{Servers, Socket};

    #[test]
    fn a_server_is_noted_once_and_ours_and_the_users_never() {
        let data = tempfile::tempdir().unwrap();
        let servers = Servers::new(Socket::default(), &data.path().join("pollux"));
        assert_eq!(servers.others(), [Socket::Users]);
        let more = [Socket::Named("work".to_owned()), Socket::Path("/x/y".into())];
        for socket in [&Socket::default(), &Socket::Users, &more[0], &more[1], &more[0]] {
            servers.note(socket).unwrap();
        }
        let text = std::fs::read_to_string(&servers.noted).unwrap();
        assert_eq!(text, "work\n/x/y\n");
        assert_eq!(servers.others(), [Socket::Users, more[0].clone(), more[1].clone()]);
    }
}

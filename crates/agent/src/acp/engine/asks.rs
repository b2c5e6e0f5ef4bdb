//! What an agent asks of us: permission, and files and terminals where they are switched on.

use super::super::connection::Wrong;
use super::super::files;
use super::super::terminals::State;
use super::super::wire::{Json, Params, number, object, text};
use super::Engine;
use serde_json::json;
use serde_json::value::RawValue;
use std::io;
use std::path::PathBuf;

/// JSON-RPC's code for a method that is not there.
const NO_METHOD: i64 = -32601;
/// JSON-RPC's code for wrong parameters.
const BAD_PARAMS: i64 = -32602;
/// The protocol's code for a resource that is not there.
const NOT_FOUND: i64 = -32002;
/// JSON-RPC's code for all else.
const FAILED: i64 = -32603;

impl Engine {
    pub(super) async fn asked(&mut self, id: &RawValue, method: &str, params: Json<'_>) {
        match method {
            "session/request_permission" => self.permission(id, params),
            "fs/read_text_file" if self.config.file_reads => self.read(id, params).await,
            "fs/write_text_file" if self.config.file_writes => self.write(id, params).await,
            "terminal/create" if self.config.terminals => self.create(id, params),
            _ if self.config.terminals && method.starts_with("terminal/") => {
                self.terminal(id, method, params);
            }
            _ => {
                let message = format!("\"Method not found\": {method}");
                self.connection.refuse(id, Wrong { code: NO_METHOD, message: &message });
            }
        }
    }

    fn permission(&mut self, id: &RawValue, params: Json<'_>) {
        let read: Params<'_> = object(params);
        let session = text(read.session_id).unwrap_or_default();
        if let Some(live) = self.sessions.get_mut(session.as_ref()) {
            return live.asked(id, params, &self.connection);
        }
        self.no_session(id);
    }

    fn no_session(&self, id: &RawValue) {
        let message = "no such session";
        self.connection.refuse(id, Wrong { code: BAD_PARAMS, message });
    }

    /// Where the session works that asks; none where there is no such session, and then the agent was told so.
    fn root(&self, id: &RawValue, params: &Params<'_>) -> Option<PathBuf> {
        let session = text(params.session_id).unwrap_or_default();
        let root = self.sessions.get(session.as_ref()).map(|live| live.cwd().to_owned());
        if root.is_none() {
            self.no_session(id);
        }
        root
    }

    async fn read(&mut self, id: &RawValue, params: Json<'_>) {
        let params: Params<'_> = object(params);
        let Some(root) = self.root(id, &params) else { return };
        let path = text(params.path).unwrap_or_default();
        let count = |json| number(json).and_then(|number| usize::try_from(number).ok());
        let (line, limit) = (count(params.line), count(params.limit));
        let content = match files::read(&root, &path, line, limit).await {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && self.config.dialect.missing_file_is_empty() =>
            {
                Ok(String::new())
            }
            content => content,
        };
        match content {
            Ok(content) => drop(self.connection.reply(id, json!({ "content": content }))),
            Err(error) => self.failed(id, &error),
        }
    }

    async fn write(&mut self, id: &RawValue, params: Json<'_>) {
        let params: Params<'_> = object(params);
        let Some(root) = self.root(id, &params) else { return };
        let path = text(params.path).unwrap_or_default();
        let content = text(params.content).unwrap_or_default();
        match files::write(&root, &path, &content).await {
            Ok(()) => drop(self.connection.reply(id, json!({}))),
            Err(error) => self.failed(id, &error),
        }
    }

    fn create(&mut self, id: &RawValue, params: Json<'_>) {
        let params: Params<'_> = object(params);
        let Some(root) = self.root(id, &params) else { return };
        match self.terminals.create(&root, &params) {
            Ok(terminal) => drop(self.connection.reply(id, json!({ "terminalId": terminal }))),
            Err(error) => self.failed(id, &error),
        }
    }

    /// What is asked of a terminal that is there.
    fn terminal(&mut self, id: &RawValue, method: &str, params: Json<'_>) {
        let params: Params<'_> = object(params);
        let terminal = text(params.terminal_id).unwrap_or_default();
        let reply = match method {
            "terminal/output" => self.terminals.output(&terminal),
            "terminal/wait_for_exit" => match self.terminals.state(&terminal) {
                State::Runs => return self.waiting.push((terminal.into_owned(), id.to_owned())),
                State::Ended(exit) => Some(exit.clone()),
                State::Unknown => None,
            },
            "terminal/kill" => self.terminals.kill(&terminal).then(|| json!({})),
            "terminal/release" => self.terminals.release(&terminal).then(|| json!({})),
            _ => {
                let message = format!("\"Method not found\": {method}");
                self.connection.refuse(id, Wrong { code: NO_METHOD, message: &message });
                return;
            }
        };
        match reply {
            Some(reply) => drop(self.connection.reply(id, reply)),
            None => self.failed(id, &io::ErrorKind::NotFound.into()),
        }
    }

    /// A terminal's command has ended: who waits for it is told.
    pub(super) fn command_ended(&mut self, terminal: &str, exit: &serde_json::Value) {
        let (told, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(of, _)| of == terminal);
        self.waiting = waiting;
        for (_, id) in told {
            self.connection.reply(&id, exit);
        }
    }

    fn failed(&self, id: &RawValue, error: &io::Error) {
        let code = match error.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => BAD_PARAMS,
            _ => FAILED,
        };
        self.connection.refuse(id, Wrong { code, message: &error.to_string() });
    }
}

//! Stdin and stdout: JSON-RPC with the editor.

use super::frame::{BAD_PARAMS, Call, Frame};
use crate::report;
use crate::trouble::Trouble;
use pollux_agent::model::Failure;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// How many lines may wait until they are looked at. When there are more, stdin is not read.
const WAITING: usize = 64;

/// JSON-RPC's code for all else.
const FAILED: i64 = -32603;
/// The protocol's code for a missing sign-in.
const NOT_SIGNED_IN: i64 = -32000;

/// Requests of ours that the editor has not answered yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Desk(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    asked: u64,
    waiting: HashMap<String, oneshot::Sender<Value>>,
}

/// Reads stdin in a thread of its own: a read of it cannot be given up, and must not hold up the end of the program.
pub(super) fn open() -> (mpsc::Receiver<Call>, Desk) {
    let desk = Desk::default();
    let (tell, lines) = mpsc::channel(WAITING);
    let own = desk.clone();
    std::thread::spawn(move || {
        for line in report::lines() {
            let Some(frame) = Frame::read(&line) else { continue };
            let heard = match frame {
                Frame::Call(call) => tell.blocking_send(call).is_ok(),
                Frame::Answer { id, result } => {
                    own.answered(&id, result);
                    true
                }
                // The next one may be a message.
                Frame::Wrong { id, code, message } => {
                    answer(&id, Err(Wrong::new(code, message))).is_ok()
                }
            };
            if !heard {
                return;
            }
        }
        // What the editor was asked is left open. Its sessions end now, and one that the daemon drives goes on without it: no
        // answer would be taken for a no.
    });
    (lines, desk)
}

impl Desk {
    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, id: &Value, result: Value) {
        if let Some(waiting) = self.lock().waiting.remove(id.as_str().unwrap_or_default()) {
            // Whoever asked may have gone away.
            drop(waiting.send(result));
        }
    }

    /// Asks the editor; returns the id of the request and its answer. An error counts as a null answer.
    pub(super) fn ask(
        &self,
        method: &str,
        params: &Value,
    ) -> anyhow::Result<(String, oneshot::Receiver<Value>)> {
        let (tell, answer) = oneshot::channel();
        let id = {
            let mut open = self.lock();
            open.asked += 1;
            let id = format!("pollux-{}", open.asked);
            open.waiting.insert(id.clone(), tell);
            id
        };
        print(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok((id, answer))
    }

    /// Takes a request back.
    pub(super) fn withdraw(&self, id: &str) -> anyhow::Result<()> {
        match self.lock().waiting.remove(id) {
            Some(_) => print(
                &json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id } }),
            ),
            None => Ok(()),
        }
    }
}

/// Tells an update of a session.
pub(super) fn update(session: &str, update: &Value) -> anyhow::Result<()> {
    let params = json!({ "sessionId": session, "update": update });
    print(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
}

/// Answers a request.
pub(super) fn answer(id: &Value, outcome: Result<Value, Wrong>) -> anyhow::Result<()> {
    match outcome {
        Ok(result) => print(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Err(wrong) => print(&json!({ "jsonrpc": "2.0", "id": id, "error": wrong.0 })),
    }
}

/// An error for the editor.
#[derive(Debug, Clone)]
pub(super) struct Wrong(Value);

impl Wrong {
    pub(super) fn new(code: i64, message: &str) -> Self {
        Self(json!({ "code": code, "message": message }))
    }
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        let code = match failure.code {
            "not_signed_in" => NOT_SIGNED_IN,
            "unknown_session" | "no_prompt" => BAD_PARAMS,
            _ => failure.rpc_code.map_or(FAILED, i64::from),
        };
        let data =
            json!({ "code": failure.code, "hint": failure.hint, "retryable": failure.retryable });
        Self(json!({ "code": code, "message": failure.message, "data": data }))
    }
}

impl From<anyhow::Error> for Wrong {
    fn from(error: anyhow::Error) -> Self {
        let mut wrong = Self::new(BAD_PARAMS, &format!("{error:#}"));
        if let Some(Trouble { code, hint, .. }) = error.downcast_ref() {
            wrong.0["data"] = json!({ "code": code, "hint": hint });
        }
        wrong
    }
}

fn print(line: &Value) -> anyhow::Result<()> {
    let mut out = report::raw();
    report::line(&mut out, line)?;
    Ok(out.flush()?)
}

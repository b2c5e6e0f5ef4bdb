//! What a checkpoint drops is neither lost nor counted for something else than what is shown.

use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::model::{Block, Message};
use serde_json::{Value, json};

#[test]
fn a_call_that_a_checkpoint_dropped_with_the_messages_id_is_counted_and_shown() {
    let call = |id: &str| json!({ "id": id, "name": "read_file", "args": {}, "status": "success" });
    let part = |id: &str| json!({ "functionCall": { "id": id, "name": "read_file", "args": {} } });
    let listed = |id: &str, calls: Value| json!({ "id": id, "type": "gemini", "content": "", "toolCalls": calls });
    let in_parts = |id: &str, parts: Value| json!({ "id": id, "type": "gemini", "content": parts });
    let histories = [
        (listed("1", json!([call("a"), call("b")])), listed("2", json!([call("a")]))),
        (listed("1", json!([call("a"), call("b")])), in_parts("2", json!([part("a")]))),
        (in_parts("1", json!([part("a"), part("b")])), in_parts("2", json!([part("b")]))),
        (in_parts("1", json!([part("a"), part("b")])), listed("2", json!([call("b")]))),
        (listed("1", json!([call("a"), call("b")])), listed("1", json!([call("b")]))),
    ];
    for (first, copy) in histories {
        let text = format!(
            "{{\"sessionId\":\"s\"}}\n{first}\n{}\n",
            json!({ "$set": { "messages": [copy] } })
        );
        let transcript = Transcript::read(&text);
        for messages in [transcript.messages().collect(), transcript.messages_ever()] {
            let is_call = |block: &&Block<'_>| matches!(block, Block::ToolUse { .. });
            let shown = messages.iter().flat_map(Message::blocks).filter(is_call).count();
            assert_eq!(shown, 2, "{text}");
            assert!(
                messages.iter().all(|message| message.restored.contains(&"tool_calls")),
                "{text}"
            );
        }
        assert_eq!(digest(&text).tools["Read"].calls, 2, "{text}");
    }
}

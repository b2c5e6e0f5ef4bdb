//! The server against raw HTTP.

use pollux_rehearsal::{Asks, Ended, Event, Rehearsal, Script};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) async fn rehearse(script: &str) -> Rehearsal {
    let script: Script = script.parse().unwrap_or_else(|wrongs| panic!("{wrongs}"));
    Rehearsal::start(script).await.unwrap()
}

pub(crate) fn client() -> reqwest::Client {
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// A turn of a conversation, the way the CLI asks for it.
pub(crate) fn turn(prompt: &str) -> Value {
    json!({
        "contents": [
            { "role": "user", "parts": [
                { "text": "<session_context>\n- **Workspace Directories:**\n  - /work/space\n</session_context>" },
                { "text": prompt },
            ] },
        ],
        "tools": [{ "functionDeclarations": [{ "name": "read_file", "parametersJsonSchema": {
            "properties": { "absolute_path": { "type": "string" } }, "required": ["absolute_path"],
        } }] }],
    })
}

/// The same after the model called a tool.
pub(crate) fn after_tool(prompt: &str, tool: &str, output: &str) -> Value {
    let mut body = turn(prompt);
    let contents = body["contents"].as_array_mut().unwrap();
    contents.push(
        json!({ "role": "model", "parts": [{ "functionCall": { "name": tool, "args": {} } }] }),
    );
    contents.push(json!({ "role": "user", "parts": [
        { "functionResponse": { "name": tool, "response": { "output": output } } },
    ] }));
    body
}

pub(crate) async fn post(rehearsal: &Rehearsal, method: &str, body: &Value) -> reqwest::Response {
    let url = format!("{}/v1beta/models/gemini-x:{method}", rehearsal.url());
    client().post(url).body(body.to_string()).send().await.unwrap()
}

/// All chunks of a stream.
pub(crate) async fn stream(rehearsal: &Rehearsal, body: &Value) -> Vec<Value> {
    let text = post(rehearsal, "streamGenerateContent?alt=sse", body).await.text().await.unwrap();
    let data = text.split("\r\n\r\n").filter_map(|event| event.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn parts(chunk: &Value) -> &Value {
    &chunk["candidates"][0]["content"]["parts"]
}

fn said(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|chunk| parts(chunk)[0]["text"].as_str()).collect()
}

#[tokio::test]
async fn a_stream_has_thoughts_text_usage_and_one_finish_reason_at_its_end() {
    let rehearsal = rehearse(
        "[[rule]]\nprompt = 'hello'\nusage = { prompt = 7, answer = 5, thoughts = 3, cached = 1 }\n\
         reply = [{ thought = 'Hm.' }, { text = ['Hel', 'lo.'] }]",
    )
    .await;
    let chunks = stream(&rehearsal, &turn("say hello")).await;
    assert_eq!(chunks.len(), 3);
    assert_eq!(parts(&chunks[0]), &json!([{ "text": "Hm.", "thought": true }]));
    assert_eq!(parts(&chunks[2]), &json!([{ "text": "lo." }]));
    let finish: Vec<&Value> =
        chunks.iter().map(|chunk| &chunk["candidates"][0]["finishReason"]).collect();
    assert_eq!(finish, [&Value::Null, &Value::Null, &json!("STOP")]);
    assert_eq!(chunks[0]["usageMetadata"]["totalTokenCount"], 15);
    assert_eq!(chunks[0]["modelVersion"], "gemini-x");
    rehearsal.stop().await;
}

#[tokio::test]
async fn one_script_answers_as_events_as_an_array_and_as_a_whole() {
    let rehearsal = rehearse("[[rule]]\nreply = ['a', 'b']").await;
    assert_eq!(said(&stream(&rehearsal, &turn("x")).await), "ab");
    let array = post(&rehearsal, "streamGenerateContent", &turn("x")).await.text().await.unwrap();
    assert_eq!(said(&serde_json::from_str::<Vec<Value>>(&array).unwrap()), "ab");
    let whole = post(&rehearsal, "generateContent", &turn("x")).await.text().await.unwrap();
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(parts(&whole), &json!([{ "text": "a" }, { "text": "b" }]));
}

#[tokio::test]
async fn every_address_that_the_cli_may_use_is_answered() {
    let rehearsal = rehearse("[[rule]]\nreply = 'here'").await;
    for base in ["v1beta", "v1", "v1/projects/p/locations/l/publishers/google", "gateway/v1beta"] {
        let url = format!("{}/{base}/models/m:generateContent?key=secret", rehearsal.url());
        let answer = client().post(url).body(turn("x").to_string()).send().await.unwrap();
        assert!(answer.text().await.unwrap().contains("here"), "{base}");
    }
    let count = post(&rehearsal, "countTokens", &turn("x")).await.text().await.unwrap();
    assert!(serde_json::from_str::<Value>(&count).unwrap()["totalTokens"].as_u64() > Some(10));
    let list = client().get(format!("{}/v1beta/models", rehearsal.url())).send().await.unwrap();
    assert!(list.text().await.unwrap().contains("models/gemini-2.5-flash"));
    for name in ["gemini-y", "models-of-mine"] {
        let url = format!("{}/v1/models/{name}", rehearsal.url());
        let one = client().get(url).send().await.unwrap().text().await.unwrap();
        assert!(one.contains(&format!("models/{name}\"")), "{one}");
    }
    let unknown = client().get(format!("{}/nothing", rehearsal.url())).send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    // Keys never reach the journal.
    assert!(!serde_json::to_string(&rehearsal.journal().entries()).unwrap().contains("secret"));
}

#[tokio::test]
async fn rules_are_tried_in_order_on_prompt_tool_result_model_step_and_time() {
    let rehearsal = rehearse(
        "[[rule]]\nprompt-regex = '^read (?<file>\\S+)$'\ntime = 1\nreply = [{ call = 'read_file', args = { file_path = '{{file}}' } }]\n\
         [[rule]]\nprompt = 'read'\nreply = 'again'\n\
         [[rule]]\ntool = 'read_file'\nresult-regex = '(?<word>\\w+)!'\nreply = '{{file}} in {{cwd}} has {{word}}'\n\
         [[rule]]\nmodel = 'gemini-x'\nprompt = 'who'\nreply = 'I am {{model}}'\n\
         [default]\nreply = 'else'\n",
    )
    .await;
    let chunks = stream(&rehearsal, &turn("read a.txt")).await;
    // The argument and the path are as this version declares them.
    let call = json!([{ "functionCall": { "name": "read_file", "args": { "absolute_path": "/work/space/a.txt" } } }]);
    assert_eq!(parts(&chunks[0]), &call);
    let chunks = stream(&rehearsal, &after_tool("read a.txt", "read_file", "well hello!")).await;
    assert_eq!(said(&chunks), "a.txt in /work/space has hello");
    assert_eq!(said(&stream(&rehearsal, &turn("read a.txt")).await), "again");
    assert_eq!(said(&stream(&rehearsal, &turn("who")).await), "I am gemini-x");
    assert_eq!(said(&stream(&rehearsal, &turn("other")).await), "else");
    assert_eq!(rehearsal.journal().rules(), ["rule 1", "rule 3", "rule 2", "rule 4", "default"]);
    rehearsal.reset();
    assert_ne!(said(&stream(&rehearsal, &turn("read a.txt")).await), "again");
}

#[tokio::test]
async fn what_the_cli_asks_on_its_own_account_is_answered_without_the_script() {
    let rehearsal = rehearse(
        "[[rule]]\nreply = 'only for turns'\n[[rule]]\nasks = 'next-speaker'\nreply = '{\"next_speaker\":\"model\"}'\n",
    )
    .await;
    let ask = |properties: Value| {
        json!({ "contents": [{ "role": "user", "parts": [{ "text": "?" }] }], "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": { "type": "OBJECT", "properties": properties },
        } })
    };
    let answer = async |body: Value| -> Value {
        let text = post(&rehearsal, "generateContent", &body).await.text().await.unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        serde_json::from_str(parts(&whole)[0]["text"].as_str().unwrap()).unwrap()
    };
    let router = answer(ask(
        json!({ "reasoning": { "type": "STRING" }, "model_choice": { "type": "STRING" } }),
    ))
    .await;
    assert_eq!(router["model_choice"], "flash");
    let score = answer(ask(json!({ "complexity_score": { "type": "INTEGER" } }))).await;
    assert_eq!(score["complexity_score"], 10);
    let looped =
        answer(ask(json!({ "unproductive_state_confidence": { "type": "NUMBER" } }))).await;
    assert!(looped["unproductive_state_confidence"].as_f64() < Some(0.5));
    let other =
        answer(ask(json!({ "corrected": { "type": "STRING" }, "many": { "type": "ARRAY" } })))
            .await;
    assert_eq!(other, json!({ "corrected": "rehearsed", "many": [] }));
    // A script may answer for itself.
    let speaker = answer(ask(json!({ "next_speaker": { "type": "STRING" } }))).await;
    assert_eq!(speaker["next_speaker"], "model");
    let summary = json!({ "contents": [{ "role": "user", "parts": [{ "text": "sum up" }] }] });
    let text = post(&rehearsal, "generateContent", &summary).await.text().await.unwrap();
    assert!(text.contains("A rehearsed summary."));
    let search = json!({ "contents": [], "tools": [{ "googleSearch": {} }] });
    let text = post(&rehearsal, "generateContent", &search).await.text().await.unwrap();
    assert!(text.contains("groundingChunks"));
}

#[tokio::test]
async fn an_error_has_its_status_its_headers_and_what_the_api_says_about_trying_again() {
    let rehearsal = rehearse(
        "[[rule]]\n[rule.error]\nstatus = 429\nmessage = 'slow down'\nretry = '1.5s'\nquota = 'PerDay'\nheaders = { retry-after = '2' }\n",
    )
    .await;
    let answer = post(&rehearsal, "streamGenerateContent?alt=sse", &turn("x")).await;
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "2");
    let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(body["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(body["error"]["details"][0]["violations"][0]["quotaId"], "PerDay");
    assert_eq!(body["error"]["details"][1]["retryDelay"], "1.5s");
}

#[tokio::test]
async fn a_stream_can_be_empty_or_broken_or_garbage_or_without_an_end() {
    let rehearsal = rehearse(
        "[[rule]]\nprompt = 'empty'\nempty = true\n\
         [[rule]]\nprompt = 'none'\nempty = true\nfinish = 'none'\n\
         [[rule]]\nprompt = 'half'\nreply = ['a', { cut = 'half' }]\n\
         [[rule]]\nprompt = 'lost'\nreply = ['a', { cut = 'lost' }]\n\
         [[rule]]\nprompt = 'garbage'\nreply = [{ raw = 'not an event' }]\nfinish = 'none'\n",
    )
    .await;
    let body = async |prompt: &str| {
        post(&rehearsal, "streamGenerateContent?alt=sse", &turn(prompt)).await.text().await
    };
    let empty = stream(&rehearsal, &turn("empty")).await;
    assert_eq!(
        (parts(&empty[0]), &empty[0]["candidates"][0]["finishReason"]),
        (&json!([]), &json!("STOP"))
    );
    assert_eq!(body("none").await.unwrap(), "");
    assert!(body("half").await.unwrap().ends_with("\"text\":\"cut"));
    assert!(body("lost").await.is_err(), "the connection broke");
    assert_eq!(body("garbage").await.unwrap(), "not an event");
    let entries = rehearsal.journal().entries();
    let ended: Vec<Ended> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Reply { ended, .. } => Some(*ended),
            Event::Request { .. } => None,
        })
        .collect();
    assert_eq!(ended, [Ended::Done, Ended::Done, Ended::Done, Ended::Cut, Ended::Done]);
}

#[tokio::test]
async fn pauses_are_kept_and_text_is_split_where_the_script_says() {
    let rehearsal = rehearse(
        "[[rule]]\nreply = [{ text = 'one two three', split = 'words', pause = '30ms' }, { text = '{{n}} ', repeat = 3 }]",
    )
    .await;
    let since = Instant::now();
    let chunks = stream(&rehearsal, &turn("x")).await;
    assert!(since.elapsed() >= Duration::from_millis(60));
    assert_eq!(chunks.len(), 6);
    assert_eq!(said(&chunks), "one two three1 2 3 ");
}

#[tokio::test]
async fn calls_beside_each_other_are_made_at_once() {
    let rehearsal = rehearse(
        "[[rule]]\nreply = ['Two. ', { call = 'a', args = { x = 1 } }, { call = 'b', id = 'call-2' }, { pause = '1ms' }, { call = 'c' }]",
    )
    .await;
    let chunks = stream(&rehearsal, &turn("x")).await;
    assert_eq!(chunks.len(), 3);
    assert_eq!(
        parts(&chunks[1]),
        &json!([
            { "functionCall": { "name": "a", "args": { "x": 1 } } },
            { "functionCall": { "name": "b", "args": {}, "id": "call-2" } },
        ])
    );
}

#[tokio::test]
async fn the_journal_has_every_request_whole_and_every_reply() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("journal.jsonl");
    let options = pollux_rehearsal::Options { journal: Some(file.clone()), ..Default::default() };
    let script = "[[rule]]\nname = 'greet'\nreply = ['Hello ', 'you.']".parse().unwrap();
    let rehearsal = Rehearsal::start_with(script, options).await.unwrap();
    let mut body = turn("hello");
    body["systemInstruction"] = json!({ "parts": [{ "text": "Be kind." }] });
    stream(&rehearsal, &body).await;
    rehearsal.stop().await;
    let lines: Vec<Value> = std::fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["kind"], &lines[0]["asks"]), (&json!("request"), &json!(Asks::Turn)));
    assert_eq!(lines[0]["body"], body);
    assert_eq!((&lines[1]["kind"], &lines[1]["rule"]), (&json!("reply"), &json!("greet")));
    assert_eq!(lines[1]["said"], json!([{ "text": "Hello you." }]));
    assert_eq!((&lines[1]["chunks"], &lines[1]["ended"]), (&json!(2), &json!("done")));
}

#[tokio::test]
async fn sessions_in_two_directories_do_not_count_together() {
    let rehearsal =
        rehearse("[[rule]]\ntime = 1\nreply = 'first'\n[[rule]]\nreply = 'later'").await;
    let elsewhere: Value =
        serde_json::from_str(&turn("x").to_string().replace("/work/space", "/else/where")).unwrap();
    assert_eq!(said(&stream(&rehearsal, &turn("x")).await), "first");
    assert_eq!(said(&stream(&rehearsal, &turn("x")).await), "later");
    assert_eq!(said(&stream(&rehearsal, &elsewhere).await), "first");
}

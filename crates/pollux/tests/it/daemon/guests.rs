//! Those who were let in, those who were not, and what is written down of both.

use super::door::{house, paired, status};
use super::house::{House, LONGEST, settings, wait_until};
use super::told::{Stagehand, grew};
use pollux::daemon::instance::Told;
use pollux::daemon::team::badge::{Lent, Terms};
use pollux::team::given::Given;
use pollux_agent::acp::McpServer;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// More than a socket has room for.
const EVENTS: u64 = 1_500;

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_device_that_was_revoked_ends_though_there_is_more_to_tell() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    wait_until("the agent is there", || hand.is_there(&id)).await;
    for _ in 0..EVENTS {
        hand.say(&id, grew("x".repeat(8_000))).await;
    }
    let feed = house.api.hub.feed(&id).unwrap().1;
    wait_until("all of it on disk", || feed.head().0 == EVENTS).await;
    let token = paired(&house, &["view"]).await;
    // A client with little room, which does not read for a while.
    let small = tokio::net::TcpSocket::new_v4().unwrap();
    small.set_recv_buffer_size(4096).unwrap();
    let mut stream = small.connect(house.host().parse().unwrap()).await.unwrap();
    let epoch = feed.head().1;
    let request = format!(
        "GET /api/v1/sessions/{id}/stream?after=0&epoch={epoch} HTTP/1.1\r\nHost: {}\r\n\
         Authorization: Bearer {token}\r\nConnection: close\r\n\r\n",
        house.host()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = vec![0; 4096];
    assert!(stream.read(&mut heard).await.unwrap() > 0);
    let device = house.api.door.list().remove(0).id;
    assert!(house.api.door.revoke(&device).await.unwrap());
    let all = tokio::time::timeout(LONGEST, stream.read_to_end(&mut heard)).await;
    all.expect("it ends").unwrap();
    let text = String::from_utf8_lossy(&heard);
    assert!(!text.contains(&format!("\"seq\":{EVENTS},")), "it was told all of it");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_passes_on_more_than_he_has_or_takes_the_name_of_another() {
    let house = house().await;
    let admin = paired(&house, &["view", "admin"]).await;
    let pair = |token: &str, name: &str, scopes: &[&str]| {
        let body = json!({ "name": name, "scopes": scopes });
        status(house.bare(Method::POST, "/api/v1/pairings").bearer_auth(token).json(&body))
    };
    assert_eq!(pair(&admin, "tab", &["view"]).await, 200);
    assert_eq!(pair(&admin, "tab", &["view", "approve"]).await, 403, "it may not approve itself");
    for name in ["owner", " Owner ", "pollux", "(not let in)", "a\u{1b}[2J", ""] {
        assert_eq!(pair(&house.token, name, &["view"]).await, 400, "{name}");
    }
    let body = json!({ "name": "tab", "scopes": ["view"] });
    let (_, pair) = house.post("/api/v1/pairings", body).await;
    let claim = json!({ "code": pair["code"], "name": "owner" });
    let claim = house.bare(Method::POST, "/api/v1/pair").json(&claim).send().await.unwrap();
    assert_eq!(claim.json::<Value>().await.unwrap()["device"], "tab");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_is_not_let_in_fills_the_audit_log() {
    let house = house().await;
    house.post("/api/v1/pairings", json!({ "name": "x", "scopes": ["view"] })).await;
    for _ in 0..20 {
        let claim = house.bare(Method::POST, "/api/v1/pair").json(&json!({ "code": "AAAA-AAAA" }));
        assert_eq!(status(claim).await, 401);
    }
    let audit = house.get("/api/v1/audit").await;
    let entries = audit["entries"].as_array().unwrap().iter();
    assert_eq!(entries.filter(|entry| entry["action"] == "wrong_code").count(), 5);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_in_the_audit_log_also_where_whoever_did_it_has_gone() {
    let house = house().await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    for number in 0..20 {
        let body =
            json!({ "id": format!("c{number}"), "command": { "type": "prompt", "text": "x" } });
        let body = body.to_string();
        let mut stream = TcpStream::connect(house.host()).await.unwrap();
        let request = format!(
            "POST /api/v1/sessions/{id}/commands HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            house.host(),
            house.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut socket = house.socket().await;
        let frame = json!({ "type": "command", "id": format!("w{number}"), "session_id": id,
            "command": { "type": "interrupt" } });
        socket.say(frame).await;
    }
    let (last, _) = house.command(&id, "last", json!({ "type": "prompt", "text": "y" })).await;
    assert_eq!(last, 200);
    let log = house.api.hub.log();
    pollux_e2e::wait_for("all that was done to be told", LONGEST, async || {
        let counts = log.read(|connection| {
            let one = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0));
            let done = one("SELECT COUNT(*) FROM commands")?;
            let told = one("SELECT COUNT(*) FROM audit WHERE action IN ('prompt', 'interrupt')
                 AND detail NOT LIKE '%refused%'")?;
            Ok((done, told))
        });
        let (done, told) = counts.await.unwrap();
        // The last one alone was done by somebody who has stayed.
        if done > 1 && done == told { Ok(()) } else { Err(format!("{done} done, {told} told")) }
    })
    .await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_has_one_shape() {
    let house = house().await;
    let post = |body: &'static str| {
        let request = house.request(Method::POST, "/api/v1/sessions").body(body);
        request.header("content-type", "application/json")
    };
    let ways = [
        (post("{"), "wrong_request"),
        (post("{\"cwd\": 5}"), "wrong_request"),
        (house.request(Method::GET, "/api/v1/sessions/x/events/y"), "wrong_request"),
        (house.request(Method::GET, "/api/v1/search"), "wrong_request"),
        (house.request(Method::GET, "/api/v1/pairings"), "wrong_method"),
        (house.request(Method::GET, "/api/v1/nothing"), "unknown_route"),
    ];
    for (request, code) in ways {
        let answer = request.send().await.unwrap();
        let (status, problem) = (answer.status(), answer.json::<Value>().await.unwrap());
        assert!(status.is_client_error() && problem["code"] == code, "{status} {problem}");
        assert!(!problem["message"].as_str().unwrap().is_empty(), "{problem}");
    }
    let nul = house.get("/api/v1/search?q=%00a").await;
    assert_eq!(nul["found"], json!([]));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_in_front_sends_nobody_to_the_network_in_the_clear() {
    let origins = async |proxy: &str| {
        let bind = Some("0.0.0.0".parse().unwrap());
        let told =
            Told { port: Some(0), bind, behind_proxy: Some(proxy.into()), ..Told::default() };
        let hand = Stagehand::default();
        let serve = told.settle().unwrap();
        let house = House::with(tempfile::tempdir().unwrap(), hand.agents(), &serve).await;
        let origins = house.api.addresses.origins();
        house.close().await;
        origins
    };
    let here = |origin: &String| {
        ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
            .iter()
            .any(|it| origin.starts_with(it))
    };
    let proxied = origins("https://pollux.example").await;
    assert!(proxied.contains(&"https://pollux.example".to_owned()), "{proxied:?}");
    assert!(proxied.iter().all(|it| here(it) || it == "https://pollux.example"), "{proxied:?}");
    // One that speaks no TLS itself makes nothing of the network safer.
    let plain = origins("http://localhost:9").await;
    assert!(
        plain.iter().all(|it| it.starts_with("https://") || it == "http://localhost:9"),
        "{plain:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn any_address_of_this_machine_is_one_of_ours_when_it_was_asked_for() {
    let told = Told { port: Some(0), bind: Some("127.0.0.2".parse().unwrap()), ..Told::default() };
    let hand = Stagehand::default();
    let house =
        House::with(tempfile::tempdir().unwrap(), hand.agents(), &told.settle().unwrap()).await;
    let origins = house.api.addresses.origins();
    let own = origins.iter().find(|origin| origin.contains("127.0.0.2")).cloned().unwrap();
    let health = super::house::client().get(format!("{own}/api/v1/health"));
    assert_eq!(status(health).await, 200);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_down_is_not_done() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    wait_until("the agent is there", || hand.is_there(&id)).await;
    paired(&house, &["view"]).await;
    let body = json!({ "name": "tab", "scopes": ["view"] });
    let (_, pair) = house.post("/api/v1/pairings", body.clone()).await;
    let full = "CREATE TRIGGER full BEFORE INSERT ON audit
                BEGIN SELECT RAISE(ABORT, 'there is no room'); END";
    house.api.hub.log().write(|connection| connection.execute_batch(full)).await.unwrap();
    assert_eq!(house.post("/api/v1/pairings", body).await.0, 507);
    let claim = house.bare(Method::POST, "/api/v1/pair").json(&json!({ "code": pair["code"] }));
    assert_eq!(status(claim).await, 507);
    let devices = house.api.door.list();
    assert_eq!(devices.len(), 1, "nobody was let in");
    let revoke = house.request(Method::DELETE, &format!("/api/v1/devices/{}", devices[0].id));
    assert_eq!(status(revoke.header("content-type", "application/json")).await, 507);
    assert_eq!(house.api.door.list().len(), 1);
    let mode = json!({ "type": "mode", "mode": "yolo" });
    assert_eq!(house.command(&id, "m", mode).await.0, 507);
    assert!(hand.told().is_empty(), "{:?}", hand.told());
    house.close().await;
}

/// What an agent of a team would be lent, and the credential in it.
fn lent(house: &House, session: &str) -> (Lent, String) {
    let given = json!({ "profile": "developer", "system": "", "tools": null, "teams": true });
    let given: Given = serde_json::from_value(given).unwrap();
    let terms = Terms { given: &given, own: "pollux", users: &[] };
    let lent = house.api.hub.badges().lend(session, terms).unwrap();
    let McpServer::Remote { headers, .. } = &lent.servers[0] else {
        unreachable!("by its address")
    };
    let badge = headers[0].value.strip_prefix("Bearer ").unwrap().to_owned();
    (lent, badge)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_agent_ends_with_its_credential() {
    let house = house().await;
    let launch = json!({ "profile": "supervisor", "cwd": house.directory.path() });
    let (_, agent) = house.post("/api/v1/team/launch", launch).await;
    let (lent, badge) = lent(&house, agent["id"].as_str().unwrap());
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    let request = format!(
        "GET /mcp/stream HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {badge}\r\n\
         Connection: upgrade\r\nUpgrade: mcp\r\n\r\n",
        house.host()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = vec![0; 4096];
    let read = stream.read(&mut heard).await.unwrap();
    assert!(String::from_utf8_lossy(&heard[..read]).starts_with("HTTP/1.1 101"));
    lent.give_back();
    let end = tokio::time::timeout(LONGEST, stream.read_to_end(&mut heard)).await;
    end.expect("it ends").unwrap();
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_worker_cannot_be_started_after_a_restart_is_told_of() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let cwd = house.directory.path().join("no repository");
    std::fs::create_dir(&cwd).unwrap();
    let give = json!({ "kind": "assign", "profile": "developer", "cwd": cwd, "message": "work",
        "worktree": "merge" });
    let (status, refused) = house.post("/api/v1/jobs", give).await;
    assert_eq!((status, &refused["code"]), (409, &json!("not_started")), "{refused}");
    assert_eq!(house.get("/api/v1/team").await["unread"], 0, "who gave it knows");
    // As if the daemon had been killed when it was written down, and no more.
    let open = |connection: &rusqlite::Connection| {
        let job = "UPDATE jobs SET state = 'starting', job = json_set(job, '$.state', 'starting')";
        connection.execute(job, [])
    };
    house.api.hub.log().write(open).await.unwrap();
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &settings()).await;
    pollux_e2e::wait_for("the letter", LONGEST, async || {
        let team = house.get("/api/v1/team").await;
        if team["unread"] == 1 { Ok(()) } else { Err(team) }
    })
    .await;
    assert_eq!(house.get("/api/v1/jobs").await["jobs"][0]["state"], "failed");
    house.close().await;
}

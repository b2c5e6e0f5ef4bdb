//! The door: one test for each way in which others of this kind were entered.

use super::house::{House, Socket, client, settings};
use super::told::Stagehand;
use pollux::daemon::instance::Told;
use pollux_agent::model::SessionStatus;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error as WsError;

pub(super) async fn house() -> House {
    House::open(Stagehand::default().agents()).await
}

/// Pairs a device as a program does, and gives its token.
pub(super) async fn paired(house: &House, scopes: &[&str]) -> String {
    let (status, pair) =
        house.post("/api/v1/pairings", json!({ "name": "phone", "scopes": scopes })).await;
    assert_eq!(status, 200, "{pair}");
    let claim = json!({ "code": pair["code"], "name": "my phone" });
    let claim = house.bare(Method::POST, "/api/v1/pair").json(&claim);
    let claimed: Value = claim.send().await.unwrap().json().await.unwrap();
    assert_eq!(claimed["device"], "my phone");
    claimed["token"].as_str().unwrap().to_owned()
}

pub(super) async fn status(request: reqwest::RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_let_in_without_a_credential_on_loopback_either() {
    let house = house().await;
    let document = house.get("/api/v1/openapi.json").await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if ["/health", "/pair", "/shared"].iter().any(|open| path.ends_with(open)) {
            continue;
        }
        for method in methods.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let real = path.replace("{id}", "x").replace("{seq}", "1");
            let request = house.bare(method.clone(), &real).json(&json!({}));
            assert_eq!(status(request).await, 401, "{method} {path}");
            let wrong = house.bare(method.clone(), &real).bearer_auth("wrong").json(&json!({}));
            assert_eq!(status(wrong).await, 401, "{method} {path} with a wrong token");
        }
    }
    // The token belongs into a header; in an address it is in every log.
    let in_url = house.bare(Method::GET, &format!("/api/v1/sessions?token={}", house.token));
    assert_eq!(status(in_url).await, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_made_to_point_here_is_not_ours() {
    let house = house().await;
    let port = house.host().split_once(':').unwrap().1.to_owned();
    for host in
        ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"]
    {
        let host = host.replace(":80", &format!(":{port}"));
        for path in ["/", "/api/v1/health", "/api/v1/sessions"] {
            let request = house.request(Method::GET, path).header("host", &host);
            assert_eq!(status(request).await, 403, "{host} {path}");
        }
    }
    let ours =
        house.request(Method::GET, "/api/v1/sessions").header("host", format!("localhost:{port}"));
    assert_eq!(status(ours).await, 200);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_page_can_neither_read_nor_write_nor_open_a_socket() {
    let house = house().await;
    let origins = ["null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1", ""];
    for origin in origins {
        let read = house.request(Method::GET, "/api/v1/sessions").header("origin", origin);
        assert_eq!(status(read).await, 403, "`{origin}` reads");
        let write = house.request(Method::POST, "/api/v1/sessions").header("origin", origin);
        assert_eq!(status(write.json(&json!({ "cwd": "/" }))).await, 403, "`{origin}` writes");
        let bearer = format!("Bearer {}", house.token);
        let socket = Socket::open(&house, &[("authorization", &bearer), ("origin", origin)]).await;
        assert!(matches!(socket, Err(WsError::Http(answer)) if answer.status() == 403), "{origin}");
    }
    let ours = house.request(Method::GET, "/api/v1/sessions").header("origin", &house.origin);
    let answer = ours.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(!answer.headers().contains_key("access-control-allow-origin"), "nobody shares with us");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_alone_writes_nothing() {
    let house = house().await;
    let token = paired(&house, &["view", "prompt", "approve", "admin"]).await;
    let cookie = format!("{}={token}", house.api.door.cookie());
    let body = json!({ "name": "x", "scopes": ["admin"] });
    let post = |path: &str| house.bare(Method::POST, path).header("cookie", &cookie).json(&body);
    assert_eq!(status(post("/api/v1/pairings")).await, 403, "no origin");
    let cross = post("/api/v1/pairings").header("sec-fetch-site", "cross-site");
    assert_eq!(status(cross).await, 403);
    let same_site = post("/api/v1/pairings").header("sec-fetch-site", "same-site");
    assert_eq!(status(same_site).await, 403, "another port of this machine is another site to us");
    let ours = post("/api/v1/pairings")
        .header("origin", &house.origin)
        .header("sec-fetch-site", "same-origin");
    assert_eq!(status(ours).await, 200);
    let no_origin = Socket::open(&house, &[("cookie", &cookie)]).await;
    assert!(matches!(no_origin, Err(WsError::Http(answer)) if answer.status() == 403));
    let ours = Socket::open(&house, &[("cookie", &cookie), ("origin", &house.origin)]).await;
    assert!(ours.is_ok());
    // What a form can send without asking.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let form = house.request(Method::POST, "/api/v1/pairings").header("content-type", kind);
        assert_eq!(status(form.body(body.to_string())).await, 403, "{kind}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_gets_a_cookie_that_no_script_reads_and_no_other_site_sends() {
    let house = house().await;
    let (_, pair) =
        house.post("/api/v1/pairings", json!({ "name": "tab", "scopes": ["view"] })).await;
    let urls = pair["urls"].as_array().unwrap();
    assert!(urls.iter().all(|url| url.as_str().unwrap().contains("/#pair=")), "not in the query");
    let claim = house.bare(Method::POST, "/api/v1/pair").header("origin", &house.origin);
    let answer = claim.json(&json!({ "code": pair["code"] })).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let body: Value = answer.json().await.unwrap();
    assert!(body.get("token").is_none(), "the page itself never sees it");
    let page = house.bare(Method::GET, "/").send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_cannot_be_guessed_and_is_good_once() {
    let house = house().await;
    let (_, pair) =
        house.post("/api/v1/pairings", json!({ "name": "x", "scopes": ["view"] })).await;
    let claim =
        |code: &Value| house.bare(Method::POST, "/api/v1/pair").json(&json!({ "code": code }));
    for _ in 0..5 {
        assert_eq!(status(claim(&json!("AAAA-AAAA"))).await, 401);
    }
    assert_eq!(
        status(claim(&pair["code"])).await,
        401,
        "five tries, then the right one is wrong too"
    );
    let (_, pair) =
        house.post("/api/v1/pairings", json!({ "name": "x", "scopes": ["view"] })).await;
    assert_eq!(status(claim(&pair["code"])).await, 200);
    assert_eq!(status(claim(&pair["code"])).await, 401, "once");
    assert_eq!(
        status(house.request(Method::GET, "/api/v1/pairings")).await,
        405,
        "nobody reads it"
    );
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_does_what_its_scopes_say_and_nothing_else() {
    let house = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let session = house.begin(json!({ "cwd": cwd })).await;
    let view = paired(&house, &["view"]).await;
    let prompt = paired(&house, &["view", "prompt"]).await;
    let as_device =
        |token: &str, method: Method, path: String| house.bare(method, &path).bearer_auth(token);
    let command = |kind: Value| json!({ "id": "c1", "command": kind });
    let path = format!("/api/v1/sessions/{session}/commands");
    let say = command(json!({ "type": "prompt", "text": "x" }));
    let yolo = command(json!({ "type": "mode", "mode": "yolo" }));
    assert_eq!(status(as_device(&view, Method::GET, "/api/v1/sessions".into())).await, 200);
    assert_eq!(status(as_device(&view, Method::POST, path.clone()).json(&say)).await, 403);
    assert_eq!(status(as_device(&prompt, Method::POST, path.clone()).json(&say)).await, 200);
    assert_eq!(status(as_device(&prompt, Method::POST, path.clone()).json(&yolo)).await, 403);
    let begin = json!({ "cwd": cwd, "mode": "yolo" });
    let start = as_device(&prompt, Method::POST, "/api/v1/sessions".into()).json(&begin);
    assert_eq!(status(start).await, 403, "a mode is for those who may approve");
    for path in ["/api/v1/devices", "/api/v1/audit"] {
        assert_eq!(status(as_device(&prompt, Method::GET, path.into())).await, 403, "{path}");
    }
    // Not even one that may do everything widens what devices may do, or ends the daemon.
    let admin = paired(&house, &["view", "prompt", "approve", "admin"]).await;
    let trust =
        as_device(&admin, Method::POST, "/api/v1/projects".into()).json(&json!({ "path": "/" }));
    assert_eq!(status(trust).await, 403);
    let end = as_device(&admin, Method::POST, "/api/v1/shutdown".into()).json(&json!({}));
    assert_eq!(status(end).await, 403);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn yolo_from_a_device_ends_and_from_the_machine_itself_it_does_not() {
    let house = house().await;
    let cwd = house.directory.path().canonicalize().unwrap();
    let session = house.begin(json!({ "cwd": cwd })).await;
    let token = paired(&house, &["view", "prompt", "approve"]).await;
    let path = format!("/api/v1/sessions/{session}/commands");
    let yolo = json!({ "id": "y", "command": { "type": "mode", "mode": "yolo" } });
    assert_eq!(status(house.bare(Method::POST, &path).bearer_auth(&token).json(&yolo)).await, 200);
    let is = |session: &str| {
        let summary = house.api.hub.feed(session).unwrap().1.summary();
        (summary.mode == pollux_agent::model::Mode::Yolo).then_some(summary.mode_until)
    };
    super::house::wait_until("the mode is set", || is(&session).is_some()).await;
    assert!(is(&session).unwrap().is_some(), "it ends");
    let begin = json!({ "cwd": cwd, "mode": "yolo" });
    let began = house.bare(Method::POST, "/api/v1/sessions").bearer_auth(&token).json(&begin);
    let began: Value = began.send().await.unwrap().json().await.unwrap();
    let other = began["id"].as_str().unwrap();
    super::house::wait_until("the mode is set", || is(other).is_some()).await;
    assert!(is(other).unwrap().is_some(), "also where a session is begun with it");
    house.command(other, "stop", json!({ "type": "stop" })).await;
    let status_of = || house.api.hub.feed(other).unwrap().1.summary().status;
    super::house::wait_until("it has ended", || status_of() == SessionStatus::Exited).await;
    let resume = json!({ "cwd": cwd, "resume": other, "mode": "yolo" });
    let resume = house.bare(Method::POST, "/api/v1/sessions").bearer_auth(&token).json(&resume);
    assert_eq!(status(resume).await, 201);
    super::house::wait_until("the mode is set", || is(other).is_some()).await;
    assert!(is(other).unwrap().is_some(), "and where it is gone on with");
    let own = house.begin(json!({ "cwd": cwd, "mode": "yolo" })).await;
    assert_eq!(is(&own).unwrap(), None);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_was_revoked_is_good_for_nothing_and_its_socket_closes() {
    let house = house().await;
    let token = paired(&house, &["view"]).await;
    let bearer = format!("Bearer {token}");
    let mut socket = Socket::open(&house, &[("authorization", &bearer)]).await.unwrap();
    assert_eq!(socket.next().await["type"], "hello");
    let devices = house.get("/api/v1/devices").await;
    let id = devices["devices"][0]["id"].as_str().unwrap().to_owned();
    assert!(!devices.to_string().contains(&token));
    let revoke = house.request(Method::DELETE, &format!("/api/v1/devices/{id}"));
    assert_eq!(status(revoke.header("content-type", "application/json")).await, 200);
    while socket.try_next().await.is_some() {}
    let again = house.bare(Method::GET, "/api/v1/sessions").bearer_auth(&token);
    assert_eq!(status(again).await, 401);
    let directory = house.close().await;
    let house = House::with(directory, Stagehand::default().agents(), &settings()).await;
    let again = house.bare(Method::GET, "/api/v1/sessions").bearer_auth(&token);
    assert_eq!(status(again).await, 401, "after a restart too");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_starts_agents_only_in_directories_that_were_allowed_wherever_links_lead() {
    let house = house().await;
    let root = house.directory.path().canonicalize().unwrap();
    let (inside, outside) = (root.join("inside"), root.join("outside"));
    std::fs::create_dir_all(inside.join("deep")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    let (allowed, _) = house.post("/api/v1/projects", json!({ "path": inside })).await;
    assert_eq!(allowed, 200);
    let token = paired(&house, &["view", "prompt"]).await;
    let begin = |cwd: String| {
        house
            .bare(Method::POST, "/api/v1/sessions")
            .bearer_auth(&token)
            .json(&json!({ "cwd": cwd }))
    };
    let inside = inside.display().to_string();
    assert_eq!(status(begin(format!("{inside}/deep"))).await, 201);
    let ways = [
        format!("{inside}/link"),
        format!("{inside}/../outside"),
        format!("{inside}-not"),
        outside.display().to_string(),
        "/etc".into(),
        "inside".into(),
        format!("{inside}/nowhere"),
        "/".into(),
    ];
    for way in ways {
        assert_eq!(status(begin(way.clone())).await, 403, "{way}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_in_addresses_lead_nowhere() {
    let house = house().await;
    std::fs::write(house.directory.path().join("secret.txt"), "nobody reads this").unwrap();
    for path in [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/assets/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/secret.txt",
    ] {
        let mut stream = TcpStream::connect(house.host()).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", house.host());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        for inside in ["nobody reads this", "root:"] {
            assert!(!answer.contains(inside), "{path}: {answer}");
        }
    }
    for id in ["..%2f..%2fetc", "%00", "a%2fb", "'%20OR%201=1"] {
        let answer =
            house.request(Method::GET, &format!("/api/v1/sessions/{id}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{id}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_long_and_a_client_that_trickles_are_sent_away() {
    let house = house().await;
    let long = json!({ "cwd": "/", "prompt": "x".repeat(5 << 20) });
    let request = house.request(Method::POST, "/api/v1/sessions").json(&long);
    match request.send().await {
        Ok(answer) => assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE),
        // The refusal may come while the body is still being sent.
        Err(error) => assert!(error.is_request() && !error.is_timeout(), "{error:?}"),
    }
    assert_eq!(house.get("/api/v1/sessions").await["sessions"], json!([]), "nothing came of it");
    let begun = Instant::now();
    let stays = async |said: &[u8]| {
        let mut slow = TcpStream::connect(house.host()).await.unwrap();
        slow.write_all(said).await.unwrap();
        let mut answer = Vec::new();
        let read = slow.read_to_end(&mut answer);
        let read = tokio::time::timeout(Duration::from_secs(30), read).await;
        assert!(read.is_ok(), "who says no more than {said:?} may not stay for ever");
    };
    tokio::join!(stays(b"GET / HTTP/1.1\r\nHost: "), stays(b""));
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(house.get("/api/v1/health").await["ok"], true, "the others are served");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_address_speaks_tls_and_says_the_fingerprint() {
    let told = Told { port: Some(0), bind: Some("0.0.0.0".parse().unwrap()), ..Told::default() };
    let serve = told.settle().unwrap();
    let hand = Stagehand::default();
    let house = House::with(tempfile::tempdir().unwrap(), hand.agents(), &serve).await;
    assert!(house.origin.starts_with("https://"), "{}", house.origin);
    assert!(house.api.fingerprint.as_ref().is_some_and(|print| print.len() == 95));
    let plain = format!("http://{}/api/v1/health", house.host());
    assert!(client().get(plain).send().await.is_err(), "nothing is said in the clear");
    let key = house.directory.path().join("daemon/tls/key.pem");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(key).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    house.close().await;
    for proxy in ["http://pollux.example", "http://localhost.evil.example"] {
        let told = Told { behind_proxy: Some(proxy.into()), ..Told::default() };
        assert!(told.settle().is_err(), "{proxy}: a proxy in front must speak TLS");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_the_users_is_nobody_elses() {
    use std::os::unix::fs::PermissionsExt;
    let house = house().await;
    let place = house.directory.path().join("daemon");
    let mode = |name: &str| {
        std::fs::metadata(place.join(name)).map_or(0, |file| file.permissions().mode() & 0o777)
    };
    assert_eq!(mode(""), 0o700);
    // Behind that door it is made, and closed a moment later.
    super::house::wait_until("the socket is closed to others", || mode("socket") == 0o600).await;
    for name in ["token", "socket", "log.db", "log.db-wal"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    house.close().await;
}

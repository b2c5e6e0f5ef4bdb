//! The ends: a port in use, a client that goes away in mid-stream, a stop while streaming.

use crate::http::{client, post, rehearse, turn};
use pollux_rehearsal::{Ended, Event, Options, Rehearsal, StartError};
use std::time::{Duration, Instant};

const STALL: &str = "[[rule]]\nreply = ['begun', { stall = true }]";

/// Waits until the journal has a reply, and gives how it ended.
async fn ended(rehearsal: &Rehearsal) -> Ended {
    let since = Instant::now();
    loop {
        let replies =
            rehearsal.journal().entries().into_iter().find_map(|entry| match entry.event {
                Event::Reply { ended, .. } => Some(ended),
                Event::Request { .. } => None,
            });
        if let Some(ended) = replies {
            return ended;
        }
        assert!(since.elapsed() < Duration::from_secs(5), "no reply in the journal");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let first = rehearse("[[rule]]\nreply = 'x'").await;
    let port = first.url().rsplit(':').next().unwrap().parse().unwrap();
    let script = "[[rule]]\nreply = 'y'".parse().unwrap();
    let second = Rehearsal::start_with(script, Options { port, ..Options::default() }).await;
    let error = second.unwrap_err();
    assert!(matches!(error, StartError::Listen { .. }));
    assert_eq!(error.to_string(), format!("could not listen on 127.0.0.1:{port}"));
}

#[tokio::test]
async fn a_client_that_goes_away_in_mid_stream_is_noted() {
    let rehearsal = rehearse(STALL).await;
    let mut answer = post(&rehearsal, "streamGenerateContent?alt=sse", &turn("x")).await;
    assert!(answer.chunk().await.unwrap().is_some());
    drop(answer);
    assert_eq!(ended(&rehearsal).await, Ended::Left);
    rehearsal.stop().await;
}

#[tokio::test]
async fn a_stop_while_streaming_breaks_the_stream_and_takes_no_time() {
    let rehearsal = rehearse(STALL).await;
    let url = rehearsal.url();
    let mut answer = post(&rehearsal, "streamGenerateContent?alt=sse", &turn("x")).await;
    assert!(answer.chunk().await.unwrap().is_some());
    let since = Instant::now();
    rehearsal.stop().await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert!(answer.chunk().await.is_err(), "a stream that was stopped is not a stream that ended");
    assert!(client().get(url).send().await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_hold_up_a_stop() {
    let rehearsal =
        rehearse("[[rule]]\nreply = [{ text = 'a long line of text', repeat = 10000000 }]").await;
    let answer = post(&rehearsal, "streamGenerateContent?alt=sse", &turn("x")).await;
    let since = Instant::now();
    rehearsal.stop().await;
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    drop(answer);
}

#[tokio::test]
async fn a_body_without_end_is_refused() {
    let rehearsal = rehearse("[[rule]]\nreply = 'x'").await;
    let url = format!("{}/v1beta/models/m:generateContent", rehearsal.url());
    let sent = client().post(url).body(vec![b' '; 65 * 1024 * 1024]).send().await;
    // The refusal may come while the body is still being sent.
    match sent {
        Ok(answer) => assert_eq!(answer.status(), 413),
        Err(error) => assert!(error.is_request() && !error.is_timeout(), "{error:?}"),
    }
    let answer = post(&rehearsal, "generateContent", &turn("x")).await;
    assert_eq!(answer.status(), 200, "the others are served");
}

//! The speed of the scripted model: it must never be what a test or a demo waits for.
//!
//! The server is `pollux rehearse`, built as users have it; the client is a bare socket. A round trip over a bare socket
//! in the same run shows what loopback itself costs.

use super::spread::percentile;
use super::table::Figures;
use crate::release;
use crate::shell::{self, Serving};
use anyhow::{Context, ensure};
use std::fs;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Rounds for the first byte.
const ROUNDS: usize = 2000;
/// Chunks of the one long stream.
const CHUNKS: usize = 100_000;
/// Streams at once, and the chunks of each.
const STREAMS: usize = 100;
const CHUNKS_EACH: usize = 1000;

pub(crate) fn run() -> anyhow::Result<()> {
    let directory = shell::target().join("bench");
    fs::create_dir_all(&directory)?;
    let script = directory.join("rehearsal.toml");
    fs::write(&script, script_text())?;
    let pollux = release::program()?;
    let mut server =
        Serving::start(&pollux, &["rehearse", "--json", &script.display().to_string()])?;
    let env: serde_json::Value = server.first_object()?;
    let address =
        env["GOOGLE_GEMINI_BASE_URL"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.context("the server did not print its address")?.to_owned();
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = Figures::default();
    threads.block_on(measure(&address, &mut figures))?;
    figures.finish()
}

fn script_text() -> String {
    format!(
        "[[rule]]\nprompt = 'short'\nreply = 'x'\n\
         [[rule]]\nprompt = 'long'\nreply = [{{ text = 'a chunk of a long answer ', repeat = {CHUNKS} }}]\n\
         [[rule]]\nprompt = 'many'\nreply = [{{ text = 'a chunk of an answer ', repeat = {CHUNKS_EACH} }}]\n"
    )
}

async fn measure(address: &str, figures: &mut Figures) -> anyhow::Result<()> {
    let bare = bare_round_trips().await?;
    let first = first_bytes(address).await?;
    let (p50, p99) = (percentile(&first, 50), percentile(&first, 99));
    let loopback = percentile(&bare, 50);
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    figures.tell(
        "rehearsal.loopback.p50",
        "a round trip over a bare socket, p50",
        &format!("{loopback:?}"),
    );
    figures.at_most(
        "rehearsal.first_byte.p50",
        "first byte, 46 KB asked, p50",
        milliseconds(p50),
        1.0,
        " ms",
    );
    figures.tell("rehearsal.first_byte.p99", "the same, p99", &format!("{p99:?}"));
    let since = Instant::now();
    let chunks = stream(address, "long").await?;
    let rate = per_second(chunks, since.elapsed());
    ensure!(chunks == CHUNKS, "a stream had {chunks} chunks");
    figures.at_least(
        "rehearsal.chunks_per_second",
        "chunks of one stream, a second",
        rate,
        5000.0,
        "",
    );
    let since = Instant::now();
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        let address = address.to_owned();
        streams.spawn(async move { stream(&address, "many").await });
    }
    let mut all = 0;
    while let Some(chunks) = streams.join_next().await {
        let chunks = chunks??;
        ensure!(chunks == CHUNKS_EACH, "a stream had {chunks} chunks");
        all += chunks;
    }
    let together = per_second(all, since.elapsed());
    figures.tell(
        "rehearsal.chunks_per_second.many",
        &format!("chunks of {STREAMS} streams at once, all whole, a second"),
        &format!("{together:.0}"),
    );
    ensure!(all == STREAMS * CHUNKS_EACH, "{all} chunks came");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// A request as big as the CLI's own.
fn request(prompt: &str, connection: &str) -> Vec<u8> {
    let told = "You are an agent. ".repeat(2500);
    let body = format!(
        r#"{{"contents":[{{"role":"user","parts":[{{"text":"{prompt}"}}]}}],"systemInstruction":{{"parts":[{{"text":"{told}"}}]}},"tools":[{{"functionDeclarations":[{{"name":"read_file"}}]}}]}}"#
    );
    let head = format!(
        "POST /v1beta/models/m:streamGenerateContent?alt=sse HTTP/1.1\r\nhost: x\r\nconnection: {connection}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// From the last byte of a request to the first byte of its answer, over one connection that is kept, as the CLI does.
async fn first_bytes(address: &str) -> anyhow::Result<Vec<Duration>> {
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let (request, mut buffer) = (request("short", "keep-alive"), vec![0; 64 * 1024]);
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        socket.write_all(&request).await?;
        let since = Instant::now();
        let mut answer = Vec::new();
        while !answer.ends_with(b"0\r\n\r\n") {
            let read = socket.read(&mut buffer).await?;
            ensure!(read > 0, "the server closed the connection");
            if answer.is_empty() {
                times.push(since.elapsed());
            }
            answer.extend_from_slice(buffer.get(..read).unwrap_or_default());
        }
    }
    Ok(times)
}

/// Reads one stream to its end and counts its events.
async fn stream(address: &str, prompt: &str) -> anyhow::Result<usize> {
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(&request(prompt, "close")).await?;
    let (mut buffer, mut count, mut tail) = (vec![0; 256 * 1024], 0, Vec::new());
    loop {
        let read = socket.read(&mut buffer).await?;
        if read == 0 {
            return Ok(count);
        }
        // An event may begin in one read and go on in the next.
        tail.extend_from_slice(buffer.get(..read).unwrap_or_default());
        count += memchr::memmem::find_iter(&tail, b"data: ").count();
        let keep = tail.len().min(5);
        tail.drain(..tail.len() - keep);
    }
}

/// What a round trip over loopback costs with nothing behind it.
async fn bare_round_trips() -> anyhow::Result<Vec<Duration>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut echo = JoinSet::new();
    echo.spawn(async move {
        let Ok((mut socket, _)) = listener.accept().await else { return };
        let mut byte = [0];
        while socket.read_exact(&mut byte).await.is_ok() && socket.write_all(&byte).await.is_ok() {}
    });
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let since = Instant::now();
        socket.write_all(b"x").await?;
        socket.read_exact(&mut [0]).await?;
        times.push(since.elapsed());
    }
    echo.shutdown().await;
    Ok(times)
}

//! Writes one session file in one of the formats: `cargo run --example render -- html FILE > page.html`.

use clap::Parser;
use pollux::render::{self, Format, Header, Options};
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::model::{Text, Usage};
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Debug, Parser)]
struct Args {
    #[arg(value_enum)]
    format: Format,
    file: PathBuf,
    #[arg(long)]
    thinking: bool,
    #[arg(long)]
    meta: bool,
    /// The session that called, where the file is a subagent's
    #[arg(long)]
    parent: Option<String>,
}

fn main() -> io::Result<()> {
    let args = Args::parse();
    let bytes = std::fs::read(&args.file)?;
    let text = String::from_utf8_lossy(&bytes);
    let transcript = Transcript::read(&text);
    let messages: Vec<_> = transcript.messages().collect();
    let mut usage = Usage::default();
    messages.iter().filter_map(|message| message.usage).for_each(|counts| usage += counts);
    let owned = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.to_str().into_owned());
    let meta = &transcript.meta;
    let (id, summary) = (owned(&meta.session_id).unwrap_or_default(), owned(&meta.summary));
    let title = summary.clone().or_else(|| transcript.first_words());
    let model = messages.iter().rev().find_map(|message| owned(&message.model));
    let header = Header {
        session_id: args.parent.as_deref().unwrap_or(&id),
        agent_id: args.parent.as_ref().map(|_| &*id),
        title: title.as_deref(),
        summary: summary.as_deref(),
        project: Some("/tmp/ws1"),
        model: model.as_deref(),
        started_at: meta.started_at,
        updated_at: meta.updated_at,
        usage,
    };
    let options = Options { thinking: args.thinking, meta: args.meta, ..Options::default() };
    let mut out: Box<dyn Write> = match args.format {
        Format::Text => Box::new(anstream::AutoStream::auto(io::stdout())),
        _ => Box::new(io::BufWriter::new(io::stdout())),
    };
    render::write(args.format, &header, &messages, &options, &mut out)?;
    out.flush()
}

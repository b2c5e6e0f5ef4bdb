//! Teams, with the real Gemini CLI: agents on rehearsal scripts that call the tools of our MCP server for real.

mod clients;
mod house;
mod letters;
mod more;
mod restart;
mod schedule;
mod shared;
mod storm;
mod terminal;
mod trouble;
mod work;

//! Teams, with the real Gemini CLI: agents on rehearsal scripts that call the tools of our MCP server for real.

mod house;
mod letters;
mod restart;
mod schedule;
mod terminal;
mod trouble;
mod work;

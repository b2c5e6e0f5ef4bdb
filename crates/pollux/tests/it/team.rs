//! Teams, with the real Gemini CLI: agents on rehearsal scripts that call the tools of our MCP server for real.

mod house;
mod letters;
mod trouble;
mod work;

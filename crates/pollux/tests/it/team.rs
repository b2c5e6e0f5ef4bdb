//! Teams, with the real Gemini CLI: agents on rehearsal scripts that call the tools of our MCP server for real.

#[path = "team/house.rs"]
mod house;
#[path = "team/work.rs"]
mod work;

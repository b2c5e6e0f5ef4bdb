//! Teams, with the real Gemini CLI: agents on rehearsal scripts that call the tools of our MCP server for real.

mod clients;
mod ends;
mod house;
mod kinds;
mod letters;
mod more;
mod paused;
mod restart;
mod schedule;
mod storm;
mod trouble;
mod user_servers;
mod work;

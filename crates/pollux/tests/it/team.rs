//! Teams, with the real Gemini CLI: agents on rehearsal scripts that call the tools of our MCP server for real.

mod clients;
mod ends;
mod house;
mod kinds;
mod letters;
mod more;
mod old;
mod paused;
mod restart;
mod schedule;
mod shared;
mod storm;
mod trouble;
mod work;

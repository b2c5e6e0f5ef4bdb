//! Pollux's library: read and drive Gemini CLI in one vocabulary.

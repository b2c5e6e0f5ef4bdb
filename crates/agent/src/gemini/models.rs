//! What is known of the models without asking anybody.

/// The names that the CLI takes for "choose for me", and the models that it has offered.
pub const MODELS: &[(&str, &str)] = &[
    ("auto", "Gemini CLI chooses a model for each prompt"),
    ("pro", "latest Pro model, for complex reasoning"),
    ("flash", "latest Flash model, fast and balanced"),
    ("flash-lite", "latest Flash Lite model, fastest"),
    ("gemini-2.5-pro", "Gemini 2.5 Pro"),
    ("gemini-2.5-flash", "Gemini 2.5 Flash"),
    ("gemini-2.5-flash-lite", "Gemini 2.5 Flash Lite"),
];

/// The context window of every Gemini model since 2.0, in tokens.
pub const CONTEXT_WINDOW: u64 = 1_048_576;

/// How many tokens a model can hold, where that is known.
///
/// ```
/// use pollux_agent::gemini::models::context_window;
///
/// assert_eq!(context_window("gemini-3.8-flash"), Some(1_048_576));
/// assert_eq!(context_window("somebody-elses-model"), None);
/// ```
pub fn context_window(model: &str) -> Option<u64> {
    match model {
        _ if model.starts_with("gemini-1.5-pro") => Some(2 * CONTEXT_WINDOW),
        _ if model.starts_with("gemini-") || model.starts_with("auto") => Some(CONTEXT_WINDOW),
        "pro" | "flash" | "flash-lite" => Some(CONTEXT_WINDOW),
        _ => None,
    }
}

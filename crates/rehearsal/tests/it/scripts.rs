//! Scripts that are wrong: each mistake is named with its line and column.

use pollux_rehearsal::Script;

#[track_caller]
fn wrong(text: &str, expected: &[&str]) {
    let wrongs = text.parse::<Script>().unwrap_err();
    let found: Vec<String> = wrongs.0.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn broken_toml_is_named_where_it_breaks() {
    wrong(
        "[[rule]]\nprompt = \"hello\nreply = 'x'\n",
        &["line 2, column 16: invalid basic string, expected `\"`"],
    );
}

#[test]
fn an_unknown_key_is_named_with_the_known_ones() {
    let text = "[[rule]]\nprompt = 'hello'\nanswer = 'x'\n";
    let wrongs = text.parse::<Script>().unwrap_err();
    assert_eq!((wrongs.0[0].line, wrongs.0[0].column), (3, 1));
    assert!(
        wrongs.0[0].message.starts_with("unknown field `answer`, expected one of `name`"),
        "{wrongs}"
    );
}

#[test]
fn a_key_that_a_piece_does_not_know_is_named() {
    let text = "[[rule]]\nreply = [\n  { text = 'x' },\n  { txet = 'y' },\n]\n";
    let wrongs = text.parse::<Script>().unwrap_err();
    assert_eq!((wrongs.0[0].line, wrongs.0[0].column), (4, 5), "{wrongs}");
}

#[test]
fn a_pattern_that_is_no_regular_expression_says_why() {
    wrong(
        "[[rule]]\nprompt-regex = 'a(b'\nreply = 'x'\n",
        &["line 2, column 16: `prompt-regex` is not a valid regular expression: unclosed group"],
    );
}

#[test]
fn an_answer_with_nothing_in_it_must_be_meant() {
    wrong(
        "[[rule]]\nprompt = 'x'\n\n[[rule]]\nreply = []\n",
        &[
            "line 1, column 1: the rule has no answer: add `reply`, `error` or `empty = true`",
            "line 5, column 9: `reply` is empty; use `empty = true` for an empty answer",
        ],
    );
}

#[test]
fn a_word_that_no_rule_captures_is_found_before_the_show() {
    wrong(
        "[[rule]]\nprompt-regex = '(?<file>.+)'\nreply = [\n  { text = 'in {{file}} of {{cwd}}: {{line}}' },\n]\n",
        &[
            "line 4, column 12: unknown placeholder `line`: add a group named `(?<line>…)` to a pattern of this script",
        ],
    );
}

#[test]
fn every_mistake_is_told_at_once_in_order() {
    wrong(
        concat!(
            "[[rule]]\n",
            "prompt = 'a'\n",
            "prompt-regex = 'b'\n",
            "asks = 'nobody'\n",
            "reply = [{ text = 'x', args = { a = 1 } }, { pause = '1s', repeat = 2 }]\n",
            "\n",
            "[[rule]]\n",
            "error = { status = 200, message = 'fine' }\n",
            "\n",
            "[[rule]]\n",
            "time = 0\n",
            "finish = 'stop'\n",
            "reply = 'x'\n",
        ),
        &[
            "line 3, column 16: `prompt` and `prompt-regex` cannot be used together",
            "line 4, column 8: `asks` must be one of turn, router, next-speaker, loop-check, web-search, web-fetch, json, compress, summary",
            "line 5, column 31: `args` can only be used with `call`",
            "line 5, column 69: `repeat` can only be used with `text` and `thought`",
            "line 8, column 20: the `status` of an error must be between 400 and 599",
            "line 11, column 8: `time` must be at least 1",
            "line 12, column 10: `finish` must be a finish reason of the API such as `STOP` or `MAX_TOKENS`, or `none`",
        ],
    );
}

#[test]
fn values_of_the_wrong_kind_say_what_is_wanted() {
    let cases = [
        ("[[rule]]\nstep = 'many'\nreply = 'x'\n", (2, 8), "a range such as"),
        ("[[rule]]\nreply = [{ pause = 'soon' }]\n", (2, 20), "`30ms` or `1.5s`"),
        ("[[rule]]\nreply = [{ stall = false }]\n", (2, 20), "`true` (forever) or a duration"),
        (
            "[[rule]]\nreply = [{ text = 'x', split = 'letters' }]\n",
            (2, 32),
            "a number of characters",
        ),
        ("[[rule]]\nreply = [{ cut = 'deep' }]\n", (2, 18), "`half` or `lost`"),
        ("[[rule]]\nreply = [{ chunk = '{' }]\n", (2, 20), "`chunk` is not valid JSON"),
        (
            "[[rule]]\nreply = [{ call = 'x', pause = '1s' }]\n",
            (2, 10),
            "an item of `reply` must be exactly one of",
        ),
        (
            "[[rule]]\nreply = [{ text = 'x', repeat = 0 }]\n",
            (2, 33),
            "`repeat` must be at least 1",
        ),
        ("[[rule]]\nreply = [7]\n", (2, 10), "a string, or a table"),
        ("[default]\nprompt = 'x'\nreply = 'y'\n", (2, 10), "cannot have conditions"),
        ("[default]\nreply = 'y'\ntime = 2\n", (3, 8), "cannot have conditions"),
        ("[[rule]]\nreply = 'y'\n\n[trial]\nargs = []\n", (4, 1), "needs a `prompt`"),
        ("about = 'nothing'\n", (1, 1), "the script has no rule"),
    ];
    for (text, place, part) in cases {
        let wrongs = text.parse::<Script>().expect_err(text);
        assert_eq!((wrongs.0[0].line, wrongs.0[0].column), place, "{wrongs}");
        assert!(wrongs.0[0].message.contains(part), "{wrongs}");
    }
}

#[test]
fn columns_count_characters_and_not_bytes() {
    wrong(
        "[[rule]]\nreply = [{ text = 'ü😀' }, { text = 'x', exact = true }]\n",
        &["line 2, column 27: `id` and `exact` can only be used with `call`"],
    );
}

//! What somebody does at the agent's own screen from afar.

use super::{at, code, idle, orders, prompt, request};
use pollux_agent::session::{Command, Order};

#[test]
fn keys_are_pressed_at_any_time_and_only_keys_are() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    let keys = |keys: &[&str]| Command::Keys {
        text: None,
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    };
    let verdict = session.command(&request("b", keys(&["Escape"])), at(1));
    assert_eq!(orders(&verdict.effects), [Order::Keys { text: None, keys: vec!["Escape".into()] }]);
    let verdict = session.command(&request("c", keys(&["kill-server"])), at(1));
    assert_eq!(code(&verdict.reply), "wrong_keys");
}

#[test]
fn a_window_is_made_to_fit_and_given_back_and_never_to_a_size_of_no_use() {
    let mut session = idle();
    let fit = |columns, rows| Command::Fit { columns, rows };
    let verdict = session.command(&request("a", fit(50, 40)), at(0));
    assert_eq!(orders(&verdict.effects), [Order::Fit { columns: 50, rows: 40 }]);
    for (id, columns, rows) in [("b", 0, 40), ("c", 50, 9), ("d", u16::MAX, 40)] {
        let verdict = session.command(&request(id, fit(columns, rows)), at(1));
        assert_eq!(code(&verdict.reply), "wrong_size");
    }
    let verdict = session.command(&request("e", Command::GiveBack), at(2));
    assert_eq!(orders(&verdict.effects), [Order::GiveBack]);
}

// Questions, over any screen: exactly what will run, and answers that cannot be tapped by mistake. A question is done
// only when the log says so.

import { ChevronLeft, ChevronRight, CircleAlert } from "lucide";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Choice, OpenQuestion, Outcome, QuestionKind, Summary } from "../api/types";
import { say, send, state } from "../app";
import { diffSource } from "../session/card";
import { DiffOf } from "../session/tool";
import type { Sent } from "../state/model";
import { bare, mark, unturned } from "../state/risk";
import { base, questionOf, titleOf, within } from "../state/words";
import { Store, useStore } from "../store";
import { focused } from "../ui/focus";
import { Badge, Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { ProblemNotice } from "../ui/problem";
import { Sheet } from "../ui/sheet";

/** A question that has just come up takes no taps: the finger was on its way to something else. */
const GUARD = 500;

/** Whether the sheet is up. */
const opened = new Store(false);

type Asked = { session: Summary; open: OpenQuestion; key: string };

function useAsked(here: string | undefined): readonly Asked[] {
  const sessions = useStore(state, (now) => now.sessions);
  return useMemo(() => {
    const all = Object.values(sessions).flatMap((session) =>
      session.questions.map((open) => ({
        session,
        open,
        key: `${session.id} ${open.question.id} ${open.shown}`,
      })),
    );
    // Those of the session that is looked at come first.
    return all.sort((a, b) => Number(b.session.id === here) - Number(a.session.id === here));
  }, [sessions, here]);
}

export function Questions({ here }: { here: string | undefined }) {
  const asked = useAsked(here);
  const [later, setLater] = useState<ReadonlySet<string>>(new Set());
  const fresh = asked.filter(({ key, open }) => !later.has(key) && !open.sent);
  const open = useStore(opened, (now) => now);
  useEffect(() => {
    if (fresh.length > 0 && !typing()) opened.set(true);
    if (asked.length === 0) opened.set(false);
  }, [asked, fresh.length]);
  const { index, go } = useRead(asked, open);
  const current = asked[index];
  if (!current || !open) return null;
  const close = () => {
    opened.set(false);
    setLater(new Set(asked.map(({ key }) => key)));
  };
  return (
    <QuestionSheet
      key={current.key}
      asked={current}
      place={asked.length > 1 ? { index, of: asked.length, go } : undefined}
      onClose={close}
    />
  );
}

/** Which one is read. It stays until it is gone, whatever comes and goes beside it; then the one in its place is next. */
function useRead(asked: readonly Asked[], open: boolean): { index: number; go: (index: number) => void } {
  const [, redraw] = useState(0);
  const read = useRef<{ key: string; index: number } | undefined>(undefined);
  const found = asked.findIndex(({ key }) => key === read.current?.key);
  const index = found >= 0 ? found : Math.max(0, Math.min(read.current?.index ?? 0, asked.length - 1));
  const turn = (to: number) => {
    const key = open ? asked[to]?.key : undefined;
    read.current = key === undefined ? undefined : { key, index: to };
  };
  turn(index);
  const go = (to: number) => {
    turn(to);
    redraw((n) => n + 1);
  };
  return { index, go };
}

/** What waits, for those who put it off. */
export function NeedBar({ here }: { here?: string | undefined }) {
  // What somebody has answered waits for the agent, and for nobody here.
  const asked = useAsked(here).filter(({ open }) => !open.sent);
  const open = useStore(opened, (now) => now);
  const [first] = asked;
  if (!first || open) return null;
  return (
    <button type="button" class="need-bar" onClick={() => opened.set(true)}>
      <Icon of={CircleAlert} size={18} />
      <span>{asked.length === 1 ? "1 question waiting" : `${asked.length} questions waiting`}</span>
      <span class="project">{titleOf(first.session, base(first.session.cwd ?? ""))}</span>
    </button>
  );
}

/** Somebody who writes is not to be interrupted by a sheet. */
function typing(): boolean {
  const { activeElement: at } = document;
  if (at instanceof HTMLTextAreaElement) return at.value !== "" || at.matches(".xterm-helper-textarea");
  return at instanceof HTMLInputElement && at.matches(".keys input, [type=search]") && at.value !== "";
}

type Place = { index: number; of: number; go: (index: number) => void };

function QuestionSheet({
  asked,
  place,
  onClose,
}: {
  asked: Asked;
  place: Place | undefined;
  onClose: () => void;
}) {
  const { session, open } = asked;
  const { question } = open;
  return (
    <Sheet
      title={questionOf(question.kind).title}
      onClose={onClose}
      lead={<Badge size={28} />}
      footer={<Answers key={asked.key} asked={asked} />}
    >
      {place && <Steps place={place} />}
      <p class="question-from">
        <b dir="auto">{titleOf(session)}</b> in{" "}
        <span class="mono">{bare(session.cwd ?? "an unknown folder")}</span>
      </p>
      <Shown open={open} cwd={session.cwd} />
    </Sheet>
  );
}

function Steps({ place }: { place: Place }) {
  const { index, of, go } = place;
  return (
    <div class="steps">
      <button
        type="button"
        class="plain round"
        aria-label="Previous question"
        disabled={index === 0}
        onClick={() => go(index - 1)}
      >
        <Icon of={ChevronLeft} />
      </button>
      <span>
        {index + 1} of {of}
      </span>
      <button
        type="button"
        class="plain round"
        aria-label="Next question"
        disabled={index === of - 1}
        onClick={() => go(index + 1)}
      >
        <Icon of={ChevronRight} />
      </button>
    </div>
  );
}

/** Questions whose words are prose. Of all others each sign counts: markdown would hide where a link leads, and more. */
const PROSE: ReadonlySet<QuestionKind> = new Set(["plan", "choice", "sign_in"]);

/** Exactly what will be released. For an edit the diff comes first. */
function Shown({ open, cwd }: { open: OpenQuestion; cwd: string | undefined }) {
  const { question } = open;
  const { meaning } = question;
  const source = diffSource({ input: undefined, meaning });
  if (source) {
    const path = meaning?.kind === "mutation" ? meaning.path : "";
    const named = [path, within(path, cwd)].includes(question.text.trim());
    return (
      <>
        {path !== "" && <p class="mono object-line">{bare(within(path, cwd))}</p>}
        <DiffOf source={source} />
        {!named && <p class="hint">{bare(question.text)}</p>}
      </>
    );
  }
  if (meaning?.kind === "command") {
    return (
      <>
        <pre class="will-run">
          {mark(bare(meaning.command)).map(({ text, risky }) =>
            risky ? <mark>{words(text)}</mark> : words(text),
          )}
        </pre>
        {question.text !== meaning.command && <p class="hint">{bare(question.text)}</p>}
      </>
    );
  }
  return (
    <div class="question-text">
      {meaning?.kind === "card" && <p class="mono object-line">{bare(meaning.title)}</p>}
      {PROSE.has(question.kind) ? (
        <Markdown text={unturned(question.text)} />
      ) : (
        <p class="exactly" dir="auto">
          {bare(question.text)}
        </p>
      )}
      {question.tool && <p class="hint">Tool: {bare(question.tool)}</p>}
    </div>
  );
}

/** What was answered here to this very question: an agent that was started anew counts its questions from one again. */
function useSent(sessionId: string, { question, shown }: OpenQuestion): Sent | undefined {
  return useStore(state, (now) =>
    Object.values(now.sent).findLast(
      (sent) => sent.sessionId === sessionId && sent.questionId === question.id && sent.shown === shown,
    ),
  );
}

function Answers({ asked }: { asked: Asked }) {
  const { session, open } = asked;
  const { question, shown } = open;
  const sent = useSent(session.id, open);
  const may = useStore(state, (now) => now.hello?.scopes.includes("approve") ?? false);
  const ready = useGuard();
  // What is written to an answer that wants words, or may have some.
  const [written, setWritten] = useState<{ to: Choice; text: string } | undefined>(undefined);
  const answer = (choice: Choice, reason?: string) => {
    const said = reason?.trim() ? { reason: reason.trim() } : {};
    send(
      session.id,
      { type: "answer", question_id: question.id, choice: choice.id, shown, ...said },
      { questionId: question.id, shown },
    );
    navigator.vibrate?.(10);
  };
  useOutcome(sent, question.options);
  const refused = sent?.problem ?? (sent?.reply && "refused" in sent.reply ? sent.reply.refused : undefined);
  if (open.sent) return <Status outcome={open.sent} options={question.options} />;
  if (sent && !refused) return <p class="sent-line">Sent. Waiting for the agent.</p>;
  if (!may) return <p class="sent-line">This device cannot answer questions.</p>;
  const problem = refused && <ProblemNotice problem={refused} />;
  const only = question.options.length === 1 ? question.options.find(wantsWords) : undefined;
  const to = written?.to ?? only;
  if (to) {
    return (
      <div class="answers">
        {problem}
        <Words
          denies={to.effect === "reject_once"}
          text={written?.text ?? ""}
          onText={(text) => setWritten({ to, text })}
          onBack={only ? undefined : () => setWritten(undefined)}
          onSend={() => answer(to, written?.text)}
        />
      </div>
    );
  }
  return (
    <fieldset class="answers" disabled={!ready}>
      <legend class="sr">Answer</legend>
      {problem}
      <Offered
        options={question.options}
        onAnswer={answer}
        onWords={(choice) => setWritten({ to: choice, text: "" })}
      />
    </fieldset>
  );
}

type Offers = {
  options: readonly Choice[];
  onAnswer: (choice: Choice) => void;
  onWords: (choice: Choice) => void;
};

function Offered({ options, onAnswer, onWords }: Offers) {
  const [more, setMore] = useState(false);
  const { allow, deny, others } = sortOptions(options);
  return (
    <>
      {allow && (
        <button type="button" class="button primary big" onClick={() => onAnswer(allow)}>
          Allow once
        </button>
      )}
      {(more || !allow) &&
        others.map((choice) => (
          <button
            key={choice.id}
            type="button"
            class="button big"
            onClick={() => (wantsWords(choice) ? onWords(choice) : onAnswer(choice))}
          >
            {bare(choice.label)}
          </button>
        ))}
      {allow && others.length > 0 && !more && (
        <button type="button" class="button ghost" onClick={() => setMore(true)}>
          More ways to allow
        </button>
      )}
      {deny && (
        <div class="deny-row">
          <button type="button" class="button danger" onClick={() => onAnswer(deny)}>
            Deny
          </button>
          <button type="button" class="button ghost danger" onClick={() => onWords(deny)}>
            Deny and say why
          </button>
        </div>
      )}
    </>
  );
}

const wantsWords = ({ effect }: Choice): boolean => effect === "words";

type Written = {
  denies: boolean;
  text: string;
  onText: (text: string) => void;
  onBack: (() => void) | undefined;
  onSend: () => void;
};

function Words({ denies, text, onText, onBack, onSend }: Written) {
  return (
    <>
      <textarea
        ref={focused}
        class="why"
        rows={3}
        dir="auto"
        placeholder={denies ? "What should it do instead?" : "Type your answer"}
        aria-label={denies ? "Reason for denying" : "Your answer"}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <div class="deny-row">
        {onBack && (
          <button type="button" class="button ghost" onClick={onBack}>
            Back
          </button>
        )}
        <button
          type="button"
          class={denies ? "button danger" : "button primary"}
          disabled={text.trim() === ""}
          onClick={onSend}
        >
          {denies ? "Deny and send" : "Send"}
        </button>
      </div>
    </>
  );
}

function sortOptions(options: readonly Choice[]) {
  const allow = options.find(({ effect }) => effect === "allow_once");
  const deny = options.find(({ effect }) => effect === "reject_once");
  return { allow, deny, others: options.filter((choice) => choice !== allow && choice !== deny) };
}

function useGuard(): boolean {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), GUARD);
    return () => clearTimeout(timer);
  }, []);
  return ready;
}

/** No word of a command is broken in two, unless it is too long for a line. */
function words(text: string) {
  return text.split(/(\s+)/).map((word) => (word.length < 28 ? <span class="word">{word}</span> : word));
}

function told(outcome: Outcome, options: readonly Choice[]): string {
  if (outcome.outcome === "cancelled") return "Cancelled";
  if (outcome.outcome === "elsewhere") return "Answered elsewhere";
  const label = options.find(({ id }) => id === outcome.choice)?.label ?? outcome.choice;
  return outcome.by ? `${outcome.by}: ${label}` : label;
}

function Status({ outcome, options }: { outcome: Outcome; options: readonly Choice[] }) {
  return <p class="sent-line">{told(outcome, options)}. Waiting for the agent.</p>;
}

/** Somebody was faster: it is said what came of it. */
function useOutcome(sent: Sent | undefined, options: readonly Choice[]): void {
  const spoken = useRef(false);
  const done = sent?.reply && "done" in sent.reply ? sent.reply.done : undefined;
  useEffect(() => {
    if (spoken.current || done?.done !== "answered" || done.yours) return;
    spoken.current = true;
    say(`Already answered: ${told(done, options)}`);
  }, [done, options]);
}

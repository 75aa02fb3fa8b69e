// Small pieces that every screen uses: icons, notices, fields, dialogs. All text goes in as text, never as HTML.

import { h, html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";

const PATHS = {
  check: "M4 12l5 5L20 6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  down: "M12 4v12M7 11l5 5 5-5M5 20h14",
  undo: "M9 14L4 9l5-5M4 9h10a6 6 0 010 12h-3",
  redo: "M15 14l5-5-5-5M20 9H10a6 6 0 000 12h3",
  file: "M6 3h8l5 5v13H6zM14 3v5h5M12 18v-7M9 14l3-3 3 3",
  lock: "M6 11h12v9H6zM9 11V8a3 3 0 016 0v3",
  plus: "M12 5v14M5 12h14",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
};

export const Icon = ({ name }) => html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

export const Fish = () => html`<svg viewBox="0 0 34 22" aria-hidden="true">
  <path d="M1 6c3-3.6 7-3.6 10 0l2.6-2.4v4.8L11 6c-3 3.6-7 3.6-10 0z" />
  <path d="M12 15c3-3.6 7-3.6 10 0l2.6-2.4v4.8L22 15c-3 3.6-7 3.6-10 0z" opacity=".75" />
  <path d="M19 6c3-3.6 7-3.6 10 0l2.6-2.4v4.8L29 6c-3 3.6-7 3.6-10 0z" opacity=".5" /></svg>`;

export function Notice({ kind = "", title, children, alert = false }) {
  return html`<div class="notice ${kind}" role=${alert ? "alert" : "note"}>${title && html`<strong>${title}</strong> `}${children}</div>`;
}

/** Hints of the library begin in the middle of a line. */
export const sentence = (words) => words && words[0].toUpperCase() + words.slice(1);

/** An error of the library: what must hold, what was given, what to do. */
export function ErrorNotice({ error }) {
  const at = useRef(null);
  useEffect(() => {
    // The button that led to it may be at the other end of a long screen.
    if (error) at.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  if (!error) return null;
  const problems = error.problems?.length > 1 ? error.problems : [];
  return html`<div class="notice bad" role="alert" ref=${at}><p><strong>${error.message}</strong></p>${!problems.length && error.hint && html`<p>${sentence(error.hint)}</p>`}
    ${problems.length > 0 && html`<ul>${problems.map((one, i) => html`<li key=${i}>${one.message}${one.hint ? ` ${sentence(one.hint)}` : ""}</li>`)}</ul>`}</div>`;
}

/** The heading of a screen. It takes the focus when the screen opens, so that a screen reader begins there. */
export function Title({ children }) {
  const at = useRef(null);
  useEffect(() => {
    at.current.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, []);
  return html`<h1 tabindex="-1" ref=${at}>${children}</h1>`;
}

let spoken = 0;

/** Say something to people who cannot see it change. */
export function announce(text) {
  const region = document.getElementById("said");
  if (!region) return;
  const mine = ++spoken;
  region.textContent = "";
  setTimeout(() => {
    if (mine === spoken) region.textContent = text;
  }, 60);
}

export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setDone(true);
    announce("Copied.");
    setTimeout(() => setDone(false), 1600);
  };
  return html`<button type="button" class="btn small" onClick=${copy}><${Icon} name=${done ? "check" : "copy"} />${done ? "Copied" : label}</button>`;
}

let fields = 0;

/** A control with its label, and a note that describes it. */
export function Field({ label, note, children }) {
  const [id] = useState(() => `field-${++fields}`);
  const control = Array.isArray(children) ? children.find((child) => child?.type) : children;
  return html`<div class="field"><label for=${id}>${label}</label>
    ${h(control.type, { ...control.props, id, "aria-describedby": note ? `${id}-note` : undefined })}
    ${note && html`<small id="${id}-note">${note}</small>`}</div>`;
}

export function Select({ value, options, onChange, ...rest }) {
  return html`<select ...${rest} value=${value ?? ""} onChange=${(event) => onChange(event.target.value)}>
    ${options.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === (value ?? "")}>${words}</option>`)}
  </select>`;
}

/** A number that is taken over when it is complete: on Enter, or when the field is left. */
export function NumberField({ value, onChange, min, max, step = 1, empty = false, ...rest }) {
  const [text, setText] = useState(value ?? "");
  useLayoutEffect(() => setText(value ?? ""), [value]);
  const take = () => {
    if (text === "" && empty) return value === null || value === undefined ? null : onChange(null);
    const wanted = Number(text);
    if (text === "" || !Number.isFinite(wanted)) return setText(value ?? "");
    const kept = Math.min(max ?? Infinity, Math.max(min ?? -Infinity, wanted));
    setText(kept);
    return kept === value ? null : onChange(kept);
  };
  return html`<input ...${rest} type="number" value=${text} min=${min} max=${max} step=${step}
    onInput=${(event) => setText(event.target.value)} onBlur=${take} onKeyDown=${(event) => event.key === "Enter" && take()} />`;
}

/** A text that is taken over when it is complete; `read` makes a value of it, `show` its text again. */
export function TextField({ value, onChange, read = (text) => text || null, show = (one) => String(one ?? ""), lines = false, ...rest }) {
  const [text, setText] = useState(show(value));
  useLayoutEffect(() => setText(show(value)), [JSON.stringify(value)]);
  const take = () => {
    const wanted = read(text.trim());
    if (JSON.stringify(wanted) !== JSON.stringify(value ?? null)) onChange(wanted);
    else setText(show(value));
  };
  const events = { value: text, onInput: (event) => setText(event.target.value), onBlur: take };
  if (lines) return html`<textarea ...${rest} ...${events} spellcheck="false"></textarea>`;
  return html`<input ...${rest} ...${events} autocomplete="off" spellcheck="false" onKeyDown=${(event) => event.key === "Enter" && take()} />`;
}

/** What a choice means, and what it costs. */
export function Cost({ words, cost }) {
  return html`${words && html`<p class="note">${words}</p>`}${cost && html`<dl class="cost"><dt>Costs</dt><dd>${cost}</dd></dl>`}`;
}

/** What is seldom needed, folded away; it opens by itself if something in it is set. */
export function Fold({ title, note, open = false, children }) {
  const [shown] = useState(open);
  return html`<details class="more" open=${shown}><summary>${title}${note && html` <span class="note">${note}</span>`}</summary>${children}</details>`;
}

/** A dialog of the browser: it keeps the focus inside, closes on Escape and gives the focus back. */
export function Dialog({ title, onClose, children }) {
  const at = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    at.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${at} aria-label=${title} onClose=${onClose} onClick=${(event) => event.target === at.current && at.current.close()}>
    <div class="row spread"><h2>${title}</h2><button type="button" class="btn quiet small" onClick=${() => at.current.close()}>Close</button></div>
    ${children}
  </dialog>`;
}

export function Bar({ share }) {
  return html`<div class="track"><i style=${{ width: `${(100 * Math.min(1, Math.max(0, share || 0))).toFixed(1)}%` }}></i></div>`;
}

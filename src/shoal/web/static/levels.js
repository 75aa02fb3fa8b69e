// The order of levels: by dragging, or by keyboard with the buttons of each level.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { announce } from "./parts.js";
import { changeColumns } from "./draft.js";

export function moved(list, from, to) {
  const left = list.filter((_, i) => i !== from);
  return [...left.slice(0, to), list[from], ...left.slice(to)];
}

export function LevelsPart({ column }) {
  const order = column.settings.levels || column.levels || column.values || [];
  const [dragged, setDragged] = useState(null);
  const [over, setOver] = useState(null);
  const focus = useRef(null);
  const list = useRef(null);
  useEffect(() => {
    // The level that moved keeps the focus, on the same button if that is still of use.
    if (!focus.current) return;
    const [at, way] = focus.current;
    focus.current = null;
    const buttons = list.current?.children[at]?.querySelectorAll("button");
    const wanted = buttons?.[way];
    (wanted && !wanted.disabled ? wanted : buttons?.[1 - way])?.focus();
  }, [order]);
  if (!order.length) return html`<p class="note whole">The levels of ${column.name} cannot be listed: it has too many values.</p>`;
  const move = (from, to, way) => {
    if (to < 0 || to >= order.length || from === to) return;
    focus.current = way === undefined ? null : [to, way];
    changeColumns([{ column: column.name, type: "ordinal", levels: moved(order, from, to) }], `${order[from]} is level ${to + 1} of ${order.length}.`);
    announce(`${order[from]} is now level ${to + 1} of ${order.length}.`);
  };
  const drop = (event, to) => {
    event.preventDefault();
    if (dragged !== null) move(dragged, to);
    setDragged(null);
    setOver(null);
  };
  return html`<div class="whole" data-field="levels"><span class="label" id="levels-${column.position}">Levels, lowest first</span><p class="note">Drag them into their order, or move them with the arrows.</p>
    <ol class="levels" ref=${list} aria-labelledby="levels-${column.position}">
      ${order.map((level, i) => html`<li key=${level} class=${over === i ? "over" : ""} draggable="true" onDragStart=${(event) => (event.dataTransfer.setData("text/plain", String(i)), setDragged(i))}
          onDragOver=${(event) => (event.preventDefault(), over !== i && setOver(i))} onDragEnd=${() => (setDragged(null), setOver(null))} onDrop=${(event) => drop(event, i)}>
        <span>${String(level)}</span>
        <button type="button" class="btn quiet" disabled=${i === 0} aria-label="Move ${level} to level ${i}" title="Lower" onClick=${() => move(i, i - 1, 0)}>↑</button>
        <button type="button" class="btn quiet" disabled=${i === order.length - 1} aria-label="Move ${level} to level ${i + 2}" title="Higher" onClick=${() => move(i, i + 1, 1)}>↓</button></li>`)}
    </ol></div>`;
}

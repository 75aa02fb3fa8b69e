// The open table and its plan: as the server has them, and on top of that the changes that are on their way to it.

import * as api from "./api.js";
import { attempt, say, set, store } from "./store.js";

let confirmed = null; // The open table as the server told it last.
const pending = []; // Changes that the server has not answered yet, oldest first.
let queue = Promise.resolve();

let gesture = 0; // Presses of a key or a button so far; a press that leaves a field may also be one of Run.
let refusedBy = -1;
for (const press of ["pointerdown", "keydown"]) window.addEventListener(press, () => gesture++, true);

const draw = () => set({ table: confirmed && pending.filter((one) => one.id === confirmed.id).reduce((table, one) => one.draw(table), confirmed) });

/** The table that is open, also where the address names none. */
export const openId = () => store.view.table ?? confirmed?.id ?? null;

/** Take the server's word for the open table, unless there is a newer one: answers may come in another order. */
export function told(table) {
  if (table.id !== openId() || (confirmed?.id === table.id && table.revision < confirmed.revision)) return;
  confirmed = table;
  draw();
}

/** No table is open, or another one that is not here yet. */
export function closed() {
  confirmed = null;
  draw();
}

/** Ask for the open table if it is not here, or if another window or a script has changed it. */
export async function catchUp() {
  const id = openId();
  const known = store.tables[id];
  if (confirmed && (confirmed.id !== id || known?.state !== "ready")) closed();
  if (known?.state !== "ready" || pending.some((one) => one.id === id) || confirmed?.revision >= known.revision) return;
  const table = await attempt(() => api.get(`tables/${id}`), false);
  if (table) told(table);
}

/** Ask the server for something after all that was asked for before. */
export function inTurn(ask) {
  const turn = queue.then(ask);
  queue = turn.catch(() => {});
  return turn;
}

/** What is shown does not wait for the answer to a change. Each is one step of undo. */
function change(ask, said, drawn = (table) => table, id = store.table.id) {
  return send({ id, draw: (table) => ({ ...drawn(table), can_undo: true, can_redo: false }) }, ask, said);
}

function send(mine, ask, said) {
  mine.gesture = gesture;
  pending.push(mine);
  set({ error: null, toast: null });
  draw();
  return inTurn(async () => {
    const table = await attempt(() => ask(mine.id), false).finally(() => pending.splice(pending.indexOf(mine), 1));
    mine.refused = table === undefined;
    if (mine.refused) refusedBy = mine.gesture;
    if (table) told(table);
    draw();
    if (table) say(said, table.can_undo && !pending.length && table.id === store.table?.id);
    catchUp();
  });
}

/** In turn, begin something with the plan that is on the page; nothing if a change of it is refused meanwhile. */
export async function withChanges(id, begin) {
  if (refusedBy === gesture) return void (refusedBy = -1); // nobody had seen it
  const waiting = pending.filter((one) => one.id === id);
  set({ error: null });
  return inTurn(() => (waiting.some((one) => one.refused) ? undefined : begin()));
}

export function changeColumns(changes, said, fields) {
  const by = new Map(changes.map((one) => [one.column, one]));
  const now = (table) => ({
    ...table,
    columns_list: table.columns_list.map((column) => {
      const wanted = by.get(column.name);
      if (!wanted) return column;
      return { ...column, role: wanted.role ?? column.role, type: wanted.type ?? column.type, settings: { ...column.settings, ...wanted } };
    }),
  });
  return change((id) => api.patch(`tables/${id}/columns`, fields ? { changes, fields } : { changes }), said, now);
}

export const changeFields = (fields, said, id) =>
  change((to) => api.patch(`tables/${to}/plan`, { fields }), said, (table) => ({ ...table, plan: { ...table.plan, ...fields }, fields: { ...table.fields, ...fields } }), id);

export const takePlan = (plan, said, id) => change((to) => api.put(`tables/${to}/plan`, { plan }), said, undefined, id);

/** A change that is not known before it is answered, such as a file that the server reads. `ask` returns the table. */
export const changeBy = (ask, said, id) => change(ask, said, undefined, id);

function step(path, can, said) {
  if (!store.table?.[can]) return;
  const { id } = store.table;
  const before = pending.findLast((one) => one.id === id);
  // What was refused needs no undoing, and there may be fewer steps than were asked for.
  const ask = () => (before?.refused || (confirmed?.id === id && !confirmed[can]) ? null : api.post(`tables/${id}/${path}`));
  send({ id, draw: (table) => table }, ask, said);
}

export const undo = () => step("undo", "can_undo", "Undone.");
export const redo = () => step("redo", "can_redo", "Done again.");

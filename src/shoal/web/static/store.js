// What the page knows, and what it can do. The server keeps the state; this is a copy of it, so a reload loses nothing.

import { useEffect, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { announce } from "./parts.js";

export const SCREENS = ["open", "columns", "protection", "run", "result"];

export const store = {
  phase: "starting", // starting | locked | ready | ended
  session: null,
  catalogue: null,
  tables: {},
  jobs: {},
  table: null, // the open table, with its columns and its plan
  results: {}, // of finished jobs, by id
  traces: {}, // loss and gap of searches so far, by id
  view: { screen: "open", table: null, job: null },
  error: null,
  busy: 0,
  connected: true,
  toast: null,
};

const listeners = new Set();
let waiting = false;

/** Change the store and draw again, once a frame at most. */
export function set(changes) {
  Object.assign(store, changes);
  if (waiting) return;
  waiting = true;
  queueMicrotask(() => {
    waiting = false;
    for (const listener of listeners) listener();
  });
}

export function useStore() {
  const [, draw] = useState(0);
  useEffect(() => {
    const listener = () => draw((n) => n + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return store;
}

// --- where we are: #/columns/<table>, #/result/<table>/<job> ---

export function go(screen, table = store.view.table, job = null) {
  const where = `#/${[screen, table, job].filter(Boolean).map(encodeURIComponent).join("/")}`;
  if (location.hash === where) arrive();
  else location.hash = where;
}

async function arrive() {
  const [, screen = "open", table = null, job = null] = location.hash.split("/").map(decodeURIComponent);
  set({ view: { screen: [...SCREENS, "runs"].includes(screen) ? screen : "open", table, job }, error: null, toast: null });
  if (table && store.table?.id !== table) await openTable(table);
  if (job) needResult(job);
}

async function openTable(id) {
  const summary = store.tables[id];
  if (!summary || summary.state !== "ready") {
    set({ table: null });
    return;
  }
  await attempt(async () => told(await api.get(`tables/${id}`)));
}

// --- doing things ---

/** Do something with the server, and show its error where the user is. */
export async function attempt(action) {
  set({ busy: store.busy + 1, error: null });
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    if (error.status === 401) set({ phase: "locked" });
    else set({ error });
    return undefined;
  } finally {
    set({ busy: store.busy - 1 });
  }
}

let queue = Promise.resolve();
const pending = []; // Changes that the server has not answered yet, as functions of the table.

/** Take the server's word for a table, with the changes on top that are still on their way. */
export const told = (table) => set({ table: pending.filter((one) => one.id === table.id).reduce((now, one) => one.draw(now), table) });

/** Changes of a plan go to the server one after the other; each is one step of undo. */
export function change(method, path, body, said, optimistic = (table) => table) {
  const id = store.table.id;
  const mine = { id, draw: optimistic };
  pending.push(mine);
  set({ table: optimistic(store.table) });
  queue = queue.then(async () => {
    const table = await attempt(() => api.call(method, `tables/${id}/${path}`, body));
    const known = table?.columns_list ? table : await api.get(`tables/${id}`).catch(() => null);
    pending.splice(pending.indexOf(mine), 1);
    if (known && store.table?.id === id) told(known);
    if (table?.columns_list && said) say(said, table.can_undo);
  });
  return queue;
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
  return change("PATCH", "columns", fields ? { changes, fields } : { changes }, said, now);
}

export const changeFields = (fields, said) =>
  change("PATCH", "plan", { fields }, said, (table) => ({ ...table, plan: { ...table.plan, ...fields }, fields: { ...table.fields, ...fields } }));

export const takePlan = (plan, said) => change("PUT", "plan", { plan }, said);
export const undo = () => store.table?.can_undo && change("POST", "undo", {}, "Undone.");
export const redo = () => store.table?.can_redo && change("POST", "redo", {}, "Done again.");

let fading = 0;

export function say(text, undoable = false) {
  clearTimeout(fading);
  announce(text);
  set({ toast: { text, undoable } });
  fading = setTimeout(() => set({ toast: null }), 5000);
}

export const hush = () => set({ toast: null });

// --- jobs ---

export const jobsOf = (table, kind) =>
  Object.values(store.jobs).filter((job) => (!table || job.table === table) && (!kind || job.kind === kind)).sort((a, b) => (a.created < b.created ? -1 : 1));

export const assessmentOf = (run) => Object.values(store.jobs).findLast((job) => job.kind === "assess" && job.of === run);

export const working = (job) => job && (job.state === "queued" || job.state === "running");

export async function start(request) {
  await queue;
  const job = await attempt(() => api.post("jobs", request));
  if (job) take({ ...job, ...store.jobs[job.id] }); // A quick job may have told of its end before this answer came.
  return job;
}

const asked = new Set();

/** Fetch the result of a finished job, once. */
export async function needResult(id) {
  const job = store.jobs[id];
  if (!job || job.state !== "done" || store.results[id] || asked.has(id)) return;
  asked.add(id);
  try {
    const result = await api.get(`jobs/${id}/result`);
    set({ results: { ...store.results, [id]: result } });
  } catch (error) {
    asked.delete(id);
    if (error instanceof api.Refused && error.status !== 404) set({ error });
  }
}

function take(job) {
  const before = store.jobs[job.id];
  set({ jobs: { ...store.jobs, [job.id]: { ...before, ...job, at: Date.now() } } });
  if (job.loss !== null && job.loss !== undefined && job.state === "running") {
    const trace = store.traces[job.id] || [];
    if (!trace.length || job.seconds > trace.at(-1).seconds) {
      set({ traces: { ...store.traces, [job.id]: [...trace, { seconds: job.seconds, loss: job.loss, gap: job.gap }].slice(-2000) } });
    }
  }
  if (before && before.phase !== job.phase && job.state === "running" && store.view.job === job.id) announce(`Now ${job.phase}.`);
  if (before && before.state !== job.state) finished(job);
}

function finished(job) {
  const here = store.view.job === job.id && store.view.screen === "run";
  if (job.state === "done") {
    needResult(job.id);
    if (job.kind === "run" && here) go("result", job.table, job.id);
    else if (job.kind === "run") say(`${job.name} is done.`);
  } else if (["failed", "killed"].includes(job.state)) {
    announce(`${job.name || "The run"} failed. ${job.error?.message || ""}`);
  } else if (job.state === "cancelled" && here) {
    announce("Cancelled. Nothing was kept.");
  }
}

function on(name, data) {
  if (name === "job") take(data);
  else if (name === "table") {
    const before = store.tables[data.id];
    set({ tables: { ...store.tables, [data.id]: { ...before, ...data } } });
    if (data.state === "ready" && store.view.table === data.id && store.table?.id !== data.id) openTable(data.id);
  } else if (name === "gone") {
    const { [data.table]: _table, ...tables } = store.tables;
    const { [data.job]: _job, ...jobs } = store.jobs;
    set({ tables: data.table ? tables : store.tables, jobs: data.job ? jobs : store.jobs });
  } else if (name === "reset") fetchState();
  else if (name === "ending") set({ phase: "ended" });
  else if (name === "open") set({ connected: true });
  else if (name === "lost") set({ connected: false });
}

async function fetchState() {
  const state = await api.get("state");
  const by = (many) => Object.fromEntries(many.map((one) => [one.id, one]));
  set({ tables: by(state.tables), jobs: by(state.jobs) });
  return state.last_event;
}

// --- the beginning ---

async function unlock() {
  const token = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      return await api.post("session", { token: decodeURIComponent(token) });
    } catch (error) {
      if (error.status !== 401) throw error; // A token is good for once: after a reload, the cookie is there.
    }
  }
  return api.get("session");
}

export async function begin() {
  try {
    const session = await unlock();
    const [catalogue, last] = await Promise.all([api.get("catalogue"), fetchState()]);
    set({ session, catalogue, phase: "ready" });
    api.events(last, on);
    window.addEventListener("hashchange", arrive);
    await arrive();
  } catch (error) {
    if (error.status === 401) set({ phase: "locked" });
    else set({ phase: "ended", error });
  }
}

export async function leave() {
  await attempt(() => api.remove("session"));
  set({ phase: "left", tables: {}, jobs: {}, table: null, results: {} });
}

// What the page knows, and what it can do. The server keeps the state; this is a copy of it, so a reload loses nothing.

import { useLayoutEffect, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { catchUp, closed, openId, withChanges } from "./draft.js";
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
  sending: null, // the file that is being uploaded: its name, and the share that has arrived
  connected: true,
  unheard: null, // why the server refuses to tell this window what happens
  why: null, // why the visit has ended
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
  // At once, and not after the next frame: a change in between would not be drawn.
  useLayoutEffect(() => {
    const listener = () => draw((n) => n + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return store;
}

// --- where we are: #/columns/<table>, #/result/<table>/<job> ---

let here = null;

export function go(screen, table = store.view.table, job = null) {
  location.hash = `#/${[screen, table, job].filter(Boolean).map(encodeURIComponent).join("/")}`;
  arrive();
}

function arrive() {
  here = location.hash;
  const [, screen = "open", table = null, job = null] = here.split("/").map(decodeURIComponent);
  set({ view: { screen: [...SCREENS, "runs"].includes(screen) ? screen : "open", table, job }, error: null, toast: null });
  catchUp();
  if (job) needResult(job);
}

// --- doing things ---

/** Do something with the server, and show its error where the user is; an earlier error goes, unless it is to be kept. */
export async function attempt(action, fresh = true) {
  if (fresh) set({ error: null });
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    if (error.status === 401) set({ phase: "locked" });
    else set({ error });
    return undefined;
  }
}

const underWay = new Map();

/** Do something once, however often it is asked for before the answer. */
export function once(key, action) {
  if (!underWay.has(key)) underWay.set(key, action().finally(() => underWay.delete(key)));
  return underWay.get(key);
}

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

/** Begin a job with the plan that is on the page; once, however often it is clicked. */
export const start = (request) =>
  once(JSON.stringify(request), async () => {
    const job = await withChanges(request.table, () => attempt(() => api.post("jobs", request)));
    if (!job) return undefined;
    take(job);
    return store.jobs[job.id];
  });

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

const AGES = { queued: 0, running: 1 };
const age = (job) => AGES[job.state] ?? 2;

/** Take what the server says about a job. An answer may come after an event that tells of a later state. */
export function take(job) {
  const before = store.jobs[job.id];
  const now = before && age(before) > age(job) ? { ...job, ...before } : { ...before, ...job, at: Date.now() };
  set({ jobs: { ...store.jobs, [job.id]: now } });
  if (now.loss !== null && now.loss !== undefined && now.state === "running") {
    const trace = store.traces[job.id] || [];
    if (!trace.length || now.seconds > trace.at(-1).seconds) {
      set({ traces: { ...store.traces, [job.id]: [...trace, { seconds: now.seconds, loss: now.loss, gap: now.gap }].slice(-2000) } });
    }
  }
  if (before && before.phase !== now.phase && now.state === "running" && store.view.job === job.id) announce(`Now ${now.phase}.`);
  if (before && before.state !== now.state) finished(now);
}

/** Events leave plans out: ask for that of a run which this window did not begin. */
async function needPlan({ id, kind }) {
  if (kind !== "run" || store.jobs[id].plan || asked.has(`plan of ${id}`)) return;
  asked.add(`plan of ${id}`);
  const job = await api.get(`jobs/${id}`).catch(() => null);
  if (job && store.jobs[id]) take(job);
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

// --- what the server tells ---

/** Take what the server says about a table; an answer may come after an event that is newer. */
export function takeTable(summary) {
  if (store.tables[summary.id]?.revision > summary.revision) return;
  set({ tables: { ...store.tables, [summary.id]: { ...store.tables[summary.id], ...summary } } });
  if (openId() === summary.id) catchUp();
}

const without = (all, id) => Object.fromEntries(Object.entries(all).filter(([one]) => one !== id));

export const forgetJob = (id) => set({ jobs: without(store.jobs, id) });

export function forgetTable(id) {
  set({ tables: without(store.tables, id) });
  if (openId() === id) closed();
}

let held = null; // Events that come while the whole state is on its way.

function on(name, data, number) {
  if (name === "open") heard();
  else if (name === "lost") set({ connected: false });
  else if (name === "refused") set(data.status === 401 ? { phase: "locked" } : { unheard: data });
  else if (name === "ending") set(store.phase === "left" ? {} : { phase: "ended", why: data.why });
  else if (name === "reset") anew();
  else if (held) held.push([name, data, number]);
  else if (name === "table") takeTable(data);
  else if (name === "job") (take(data), needPlan(data));
  else if (data.table) forgetTable(data.table);
  else forgetJob(data.job);
}

/** The stream is there, perhaps again: what could not be fetched meanwhile is asked for. */
function heard() {
  const back = !store.connected;
  set({ connected: true, unheard: null });
  if (!back) return;
  catchUp();
  if (store.view.job) needResult(store.view.job);
}

const by = (many) => Object.fromEntries(many.map((one) => [one.id, one]));

/** Too much has happened for events: ask for everything, and go on with the events that are newer. */
async function anew() {
  held = [];
  const state = await attempt(() => api.get("state"), false);
  const [later, after] = [held, state?.last_event ?? -1];
  held = null;
  if (state) {
    set({ tables: by(state.tables) });
    for (const id of Object.keys(store.jobs)) if (!state.jobs.some((job) => job.id === id)) forgetJob(id);
    state.jobs.forEach(take);
    catchUp();
  }
  for (const [name, data, number] of later) if (number > after) on(name, data, number);
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
    const [catalogue, state] = await Promise.all([api.get("catalogue"), api.get("state")]);
    set({ session, catalogue, tables: by(state.tables), jobs: by(state.jobs), phase: "ready" });
    window.addEventListener("hashchange", () => location.hash !== here && arrive());
    arrive();
    api.events(state.last_event, on);
  } catch (error) {
    if (error.status === 401) set({ phase: "locked" });
    else set({ phase: "ended", error });
  }
}

export async function leave() {
  const left = await attempt(async () => (await api.remove("session"), true));
  if (left) set({ phase: "left", tables: {}, jobs: {}, results: {} });
}

// The frame of the page: head, steps, the screen of the moment, and what is said aloud.

import { html, render, useEffect } from "./vendor/htm-preact.js";
import { ColumnsScreen } from "./columns.js";
import { OpenScreen } from "./open.js";
import { ErrorNotice, Fish, Icon, Notice, Title, sentence } from "./parts.js";
import { ProtectionScreen } from "./protection.js";
import { ResultScreen } from "./result.js";
import { RunScreen } from "./run.js";
import { RunsScreen } from "./runs.js";
import { redo, undo } from "./draft.js";
import { SCREENS, begin, go, hush, jobsOf, leave, store, useStore } from "./store.js";

const NAMES = { open: "Open", columns: "Columns", protection: "Protection", run: "Run", result: "Result" };
const LOCAL = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
const VIEWS = { open: OpenScreen, columns: ColumnsScreen, protection: ProtectionScreen, run: RunScreen, result: ResultScreen, runs: RunsScreen };

/** Where a step leads now: a screen with its job, or null if it cannot be entered yet. */
function target(screen) {
  const { table, jobs, view } = store;
  if (screen === "open") return ["open", view.table];
  if (!table) return null;
  if (screen === "columns" || screen === "protection") return [screen, table.id];
  const runs = jobsOf(table.id, "run");
  if (screen === "run") return runs.length ? ["run", table.id, (jobs[view.job]?.kind === "run" ? jobs[view.job] : runs.at(-1)).id] : null;
  const done = runs.filter((job) => job.state === "done");
  return done.length ? ["result", table.id, (done.find((job) => job.id === view.job) || done.at(-1)).id] : null;
}

function Steps() {
  const { screen } = store.view;
  const at = SCREENS.indexOf(screen);
  return html`<nav aria-label="Steps"><ol class="steps">
    ${SCREENS.map((name, i) => {
      const where = target(name);
      return html`<li key=${name} class=${where && i < at ? "done" : ""}><button type="button" data-n=${i + 1} aria-current=${name === screen ? "step" : undefined}
        aria-disabled=${where ? undefined : "true"} onClick=${() => where && go(...where)}>${NAMES[name]}</button></li>`;
    })}
  </ol></nav>`;
}

function Tools() {
  const { table, view } = store;
  const runs = jobsOf(null, "run").length;
  const planning = table && view.screen !== "open";
  return html`<div class="tools">
    ${planning && html`<button type="button" class="btn quiet small" aria-label="Undo" title="Undo (Ctrl+Z)" disabled=${!table.can_undo} onClick=${undo}><${Icon} name="undo" /></button>
    <button type="button" class="btn quiet small" aria-label="Redo" title="Redo (Ctrl+Shift+Z)" disabled=${!table.can_redo} onClick=${redo}><${Icon} name="redo" /></button>`}
    <button type="button" class="btn quiet small" onClick=${() => go("runs")} aria-current=${view.screen === "runs" ? "page" : undefined}><${Icon} name="list" />Runs <span class="count">${runs}</span></button>
  </div>`;
}

function Message({ title, children }) {
  return html`<main id="main" tabindex="-1"><${Title}>${title}<//><div class="lead">${children}</div></main>`;
}

function Body() {
  const { phase, view, error, unheard, why } = store;
  if (phase === "starting") return html`<main id="main"><h1>Anonymise a table</h1><p class="lead">One moment: the page is opening.</p></main>`;
  if (phase === "locked") {
    return html`<${Message} title="This page is locked">
      <p>Open the link that <code>shoal serve</code> printed in the terminal. It holds a key that works once; a new link is printed each time the server starts.</p><//>`;
  }
  if (phase === "left") return html`<${Message} title="Everything was wiped"><p>Tables, results and all you did here are gone from the machine’s working folder. You may close this page.</p><//>`;
  if (phase === "ended") {
    if (why) return html`<${Message} title="This visit has ended"><p>${why} Open the newest link that <code>shoal serve</code> printed, or start it again.</p><//>`;
    if (error?.status) return html`<${Message} title="The page could not be opened"><${ErrorNotice} error=${error} /><p>Reload it to try again.</p><//>`;
    return html`<${Message} title="The server has stopped"><p>Tables and results of this sitting are wiped when it stops. Start it again with <code>shoal serve</code>.</p><${ErrorNotice} error=${error} /><//>`;
  }
  const View = VIEWS[view.screen];
  return html`<main id="main" tabindex="-1">${unheard && html`<${Notice} alert title="This window is not told how jobs stand.">${unheard.message} ${sentence(unheard.hint)} It tries again by itself.<//>`}
    <${View} key=${`${view.screen}/${view.table}/${view.screen === "runs" ? "" : view.job}`} /></main>`;
}

function onKey(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !/^(radio|checkbox|range|button)$/.test(event.target.type);
  if (typing || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === "z" && !event.shiftKey) undo();
  else if (key === "y" || (key === "z" && event.shiftKey)) redo();
  else return;
  event.preventDefault();
}

function App() {
  const { phase, toast, connected, table, view } = useStore();
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    // A file that is dropped beside its place must not replace the page.
    for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
    begin();
  }, []);
  useEffect(() => {
    document.title = [NAMES[view.screen] || "Runs", view.screen !== "open" && table?.name, "Shoal"].filter(Boolean).join(" · ");
  }, [view.screen, table?.name]);
  const ready = phase === "ready";
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById("main").focus())}>Skip to the content</a>
    <header class="top"><div><span class="brand"><${Fish} />Shoal</span>${ready && html`<${Steps} /><${Tools} />`}</div></header>
    <${Body} />
    ${ready && html`<footer class="no-print">Shoal ${store.session.version}. ${connected ? `Nothing leaves this ${LOCAL ? "machine" : "server"}.` : html`<strong>The server does not answer. Trying again.</strong>`}
      ${" "}<button type="button" class="btn quiet small" onClick=${() => confirm("Wipe all tables and results of this sitting?") && leave()}>Wipe everything and leave</button></footer>`}
    <div class="hide" role="status" aria-live="polite" id="said"></div>
    ${toast && html`<aside class="toast no-print" aria-label="Last change"><span>${toast.text}</span>${toast.undoable && toast.text !== "Undone." && html`<button type="button" onClick=${() => (hush(), undo())}>Undo</button>`}</aside>`}`;
}

document.getElementById("app").textContent = "";
render(html`<${App} />`, document.getElementById("app"));

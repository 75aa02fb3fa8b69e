// The first screen: a file, a path, a database or the example becomes a table.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { Bar, ErrorNotice, Field, Icon, Title, announce } from "./parts.js";
import { ReadingForm } from "./reading.js";
import { attempt, forgetTable, go, once, say, set, store, takeTable, useStore } from "./store.js";
import { bytes, plural } from "./words.js";

/** Open a new table, and go on as soon as it has been read; whoever has left this screen meanwhile is told of it. */
const open = (key, ask) =>
  once(`open ${key}`, async () => {
    const { view } = store;
    const table = await attempt(ask);
    if (!table) return;
    takeTable(table);
    if (store.view !== view) say(`${table.name} was opened.`);
    else go(store.tables[table.id].state === "ready" ? "columns" : "open", table.id);
  });

async function send(file) {
  if (!file || store.sending) return;
  const { upload_bytes: most } = store.session.limits;
  if (file.size > most) {
    set({ error: { message: `The file must have at most ${bytes(most)}. Got ${bytes(file.size)}.`, hint: store.session.paths ? "Open it by its path, below." : "Leave out columns that are not needed, or ask whoever runs the server for a higher limit." } });
    return;
  }
  const arrived = (share) => set({ sending: { name: file.name, share } });
  arrived(0);
  announce(`Sending ${file.name}.`);
  const headers = { "X-Shoal-Name": encodeURIComponent(file.name) };
  await open("a file", () => api.upload("tables/upload", file, headers, arrived).finally(() => set({ sending: null })));
}

/** What opens something is done once, also by a double click. */
const single = (action) => (event) => event.detail < 2 && action(event);

function Drop({ sending }) {
  const [over, setOver] = useState(false);
  const input = useRef(null);
  const stop = (event, state) => {
    event.preventDefault();
    setOver(state);
  };
  return html`<section class="drop ${over ? "over" : ""}" aria-label="Open a file" onDragOver=${(event) => stop(event, true)} onDragLeave=${(event) => stop(event, false)}
      onDrop=${(event) => (stop(event, false), send(event.dataTransfer.files[0]))}>
    <${Icon} name="file" />
    ${sending
      ? html`<h2>Sending ${sending.name}</h2><p class="note">${Math.round(100 * sending.share)} %</p><${Bar} share=${sending.share} />`
      : html`<h2>Drop a table here</h2><p class="note">${kinds()}; up to ${bytes(store.session.limits.upload_bytes)}</p>
        <div class="row"><button type="button" class="btn main" onClick=${() => input.current.click()}>Choose a file</button>
        <button type="button" class="btn" onClick=${single(() => open("the example", () => api.post("tables/demo", {})))}>Try the example</button></div>
        <input ref=${input} type="file" hidden onChange=${(event) => send(event.target.files[0])} />`}
  </section>`;
}

function PathForm() {
  const [path, setPath] = useState("");
  const [part, setPart] = useState("");
  const submit = (event) => {
    event.preventDefault();
    const reading = part.trim() ? { table: part.trim() } : undefined;
    if (path.trim()) open(`${path} ${part}`, () => api.post("tables/open", { path: path.trim(), reading }));
  };
  return html`<form class="panel" onSubmit=${submit}>
    <h2>Open a path or a database</h2>
    <p class="note">A file on this machine, however large, or the address of a database. It is read where it is.</p>
    <div class="row gap">
      <div class="grow"><${Field} label="Path or address" note="/data/people.csv, sqlite:///survey.db or postgresql://me@host/base"><input value=${path} autocomplete="off" spellcheck="false" onInput=${(event) => setPath(event.target.value)} /><//></div>
      <div class="grow"><${Field} label="Table" note="Of a database or a workbook; may be left empty"><input value=${part} autocomplete="off" spellcheck="false" onInput=${(event) => setPart(event.target.value)} /><//></div>
    </div>
    <div class="row gap"><button class="btn" type="submit">Open it</button></div>
  </form>`;
}

/** The first few kinds of files, as a hint; packed ones are left out. */
function kinds() {
  const plain = store.catalogue.reading.filter((suffix) => !suffix.slice(1).includes("."));
  return plain.length > 9 ? `${plain.slice(0, 9).join(", ")} and ${plain.length - 9} more` : plain.join(", ");
}

const READ = { reading: "being read", choose: "choose a table", failed: "could not be read" };

function Sitting({ tables }) {
  const away = (id) => attempt(async () => {
    await api.remove(`tables/${id}`);
    forgetTable(id);
    if (store.view.table === id) go("open", null);
  });
  return html`<section class="panel" aria-labelledby="sitting"><h2 id="sitting">Tables of this sitting</h2><ul class="list gap">
    ${tables.map((table) => html`<li key=${table.id}><div><strong>${table.name}</strong> <span class="note">${READ[table.state] || `${plural(table.rows, "row")}, ${plural(table.columns, "column")}`}</span></div>
      <div class="row">${table.state === "ready" && html`<button type="button" class="btn small" aria-label="Go on with ${table.name}" onClick=${() => go("columns", table.id)}>Go on</button>`}
      ${(table.state === "choose" || table.state === "failed") && html`<button type="button" class="btn small" onClick=${() => go("open", table.id)}>Look</button>`}
      <button type="button" class="btn small quiet" aria-label="Close ${table.name}" onClick=${() => away(table.id)}>Close</button></div></li>`)}
  </ul></section>`;
}

function Parts({ table }) {
  const pick = (part) => once(`part of ${table.id}`, () => attempt(async () => takeTable(await api.patch(`tables/${table.id}/reading`, { [table.part_key]: part }))));
  return html`<section class="panel" aria-labelledby="parts"><h2 id="parts">Which one?</h2><p class="note">${table.name} has several tables.</p>
    <ul class="list gap">${table.parts.map((part) => html`<li key=${part}><strong>${part}</strong><button type="button" class="btn small" aria-label="Open ${part}" onClick=${() => pick(part)}>Open</button></li>`)}</ul></section>`;
}

/** What becomes of the table that was just opened. */
function Current({ table }) {
  if (table.state === "reading") {
    return html`<section class="panel" role="status"><h2>Reading ${table.name}</h2><div class="gap"><${Bar} share=${table.fraction} /></div></section>`;
  }
  if (table.state === "choose") return html`<${Parts} table=${table} />`;
  if (table.state === "failed") {
    return html`<section class="panel"><h2>${table.name} could not be read</h2><${ErrorNotice} error=${table.error} />
      <div class="gap"><${ReadingForm} table=${table} /></div></section>`;
  }
  return null;
}

export function OpenScreen() {
  const { tables, view, error, session, table, sending } = useStore();
  const current = view.table ? tables[view.table] : null;
  const [came] = useState(current?.state === "ready" ? current.id : null);
  useEffect(() => {
    // A table that was opened here goes on to its columns; one that was open already stays in the list.
    if (current?.state === "ready" && came !== current.id && table?.id === current.id) go("columns", current.id);
  }, [current?.state, table?.id]);
  const others = Object.values(tables);
  return html`
    <${Title}>Anonymise a table<//>
    <p class="lead">Open a table, say what its columns are, choose the protection, and download a release that was checked, with its certificate and the command that makes it again.</p>
    <${ErrorNotice} error=${error} />
    ${current && html`<${Current} table=${current} />`}
    <${Drop} sending=${sending} />
    <ul class="facts"><li><${Icon} name="lock" />Your data stays on ${session.paths ? "this machine" : "this server"}</li><li><${Icon} name="check" />Every release is checked before you get it</li><li><${Icon} name="check" />Wiped when the server stops</li></ul>
    ${session.paths && html`<${PathForm} />`}
    ${others.length > 0 && html`<${Sitting} tables=${others} />`}`;
}

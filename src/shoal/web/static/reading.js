// How a file is read: what is detected can be said instead. The fields are those of the table of options.

import { html, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { Field, Select } from "./parts.js";
import { attempt, go, once, store, takeTable } from "./store.js";

const SWITCH = [["", "detected"], ["true", "yes"], ["false", "no"]];
// What cannot be typed, or is nothing.
const MEANT = { tab: "\t", none: "" };

const shown = (value) => (value === undefined || value === null ? "" : value === "\t" ? "tab" : value === "" ? "none" : String(value));

export function ReadingForm({ table, onDone }) {
  // What the format of the file knows, and what was said before.
  const ways = store.catalogue.ways_of_reading.filter((way) => !table.format || way.formats.includes(table.format) || (table.reading?.[way.name] ?? null) !== null);
  const [given, setGiven] = useState(Object.fromEntries(ways.map((way) => [way.name, shown(table.reading?.[way.name])])));
  const put = (name, value) => setGiven({ ...given, [name]: value });
  const meant = (way) => (way.switch ? (given[way.name] === "" ? null : given[way.name] === "true") : given[way.name].trim() === "" ? null : MEANT[given[way.name].trim()] ?? given[way.name].trim());
  const submit = (event) => {
    event.preventDefault();
    once(`read ${table.id} again`, () => attempt(async () => {
      const { view } = store;
      takeTable(await api.patch(`tables/${table.id}/reading`, Object.fromEntries(ways.map((way) => [way.name, meant(way)]))));
      onDone?.();
      if (store.view === view) go(store.tables[table.id].state === "ready" ? "columns" : "open", table.id);
    }));
  };
  return html`<form onSubmit=${submit}><h3>Read it differently</h3><p class="note">What is left empty is detected; what a message calls an option, such as header, is chosen here. Roles and settings of the columns begin anew.</p>
    <div class="details">${ways.map((way) => html`<${Field} key=${way.name} label=${way.name[0].toUpperCase() + way.name.slice(1)} note=${way.words}>
      ${way.switch ? html`<${Select} value=${given[way.name]} options=${SWITCH} onChange=${(value) => put(way.name, value)} />` : html`<input value=${given[way.name]} autocomplete="off" spellcheck="false" onInput=${(event) => put(way.name, event.target.value)} />`}<//>`)}</div>
    <div class="row gap"><button class="btn" type="submit">Read again</button></div></form>`;
}

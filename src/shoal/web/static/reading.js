// How a file is read: what is detected can be said instead.

import { html, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { Field } from "./parts.js";
import { attempt, go, set, store } from "./store.js";

const FIELDS = [
  ["delimiter", "Delimiter", "between fields, such as ; or tab"],
  ["encoding", "Encoding", "such as utf-8 or latin-1"],
  ["decimal", "Decimal mark", ". or ,"],
  ["quote", "Quotation mark", "around fields"],
  ["sheet", "Sheet", "of a workbook"],
  ["table", "Table", "of a database"],
];

export function ReadingForm({ table, onDone }) {
  const [given, setGiven] = useState({});
  const submit = (event) => {
    event.preventDefault();
    const reading = Object.fromEntries(FIELDS.map(([name]) => [name, given[name]?.trim() === "tab" ? "\t" : given[name]?.trim() || null]));
    attempt(async () => {
      const summary = await api.patch(`tables/${table.id}/reading`, reading);
      set({ tables: { ...store.tables, [table.id]: summary }, table: store.table?.id === table.id ? null : store.table });
      onDone?.();
      go("open", table.id);
    });
  };
  return html`<form onSubmit=${submit}><h3>Read it differently</h3><p class="note">What is left empty is detected.</p>
    <div class="details">${FIELDS.map(([name, label, note]) => html`<${Field} key=${name} label=${label} note=${note}>
      <input value=${given[name] || ""} autocomplete="off" onInput=${(event) => setGiven({ ...given, [name]: event.target.value })} /><//>`)}</div>
    <div class="row gap"><button class="btn" type="submit">Read again</button></div></form>`;
}

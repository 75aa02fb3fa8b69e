// Settings of a column that are written down: what each does, what it costs. They come from the table of options.

import { html } from "./vendor/htm-preact.js";
import { Field, Fold, NumberField, TextField } from "./parts.js";
import { changeColumns } from "./draft.js";
import { store } from "./store.js";
import { joined, listed, scalar } from "./words.js";

// What most people need; the others are folded away.
const FIRST = ["importance", "top", "bottom", "rounding"];

function Setting({ column, setting }) {
  const value = column.settings[setting.name];
  const put = (next) => changeColumns([{ column: column.name, [setting.name]: next }], `${column.name}: ${setting.label.toLowerCase()} ${next ?? "none"}.`);
  const named = { "aria-label": `${setting.label} of ${column.name}`, placeholder: setting.example ? `such as ${setting.example}` : "" };
  const controls = {
    number: html`<${NumberField} ...${named} value=${value} empty min=${0} step="any" onChange=${put} />`,
    integer: html`<${NumberField} ...${named} value=${value} empty min=${0} step="1" onChange=${put} />`,
    scalar: html`<${TextField} ...${named} value=${value} read=${scalar} onChange=${put} />`,
    text: html`<${TextField} ...${named} value=${value} onChange=${put} />`,
    list: html`<${TextField} ...${named} value=${value?.length ? value : null} read=${listed} show=${joined} onChange=${put} />`,
  };
  return html`<div data-field=${setting.field}><${Field} label=${setting.label} note=${`${setting.words} Costs: ${setting.cost}`}>${controls[setting.type]}<//></div>`;
}

export function SettingsPart({ column }) {
  const safe = store.table.plan.release === "strongly-safe";
  const offered = store.catalogue.settings.filter((one) => one.roles.includes(column.role) && (!one.kinds || one.kinds.includes(column.type)) && (one.name !== "cell" || safe));
  const [first, more] = [offered.filter((one) => FIRST.includes(one.name) || one.name === "cell"), offered.filter((one) => !FIRST.includes(one.name) && one.name !== "cell")];
  const isSet = (one) => column.settings[one.name] !== null && column.settings[one.name]?.length !== 0;
  return html`${first.map((one) => html`<${Setting} key=${one.name} column=${column} setting=${one} />`)}
    ${more.length > 0 && html`<div class="whole"><${Fold} title="More about its values" open=${more.some(isSet)}><div class="details">${more.map((one) => html`<${Setting} key=${one.name} column=${column} setting=${one} />`)}</div><//></div>`}`;
}

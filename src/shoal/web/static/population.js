// People who may be in the table: a file of the population, and what is demanded of matches in it.

import { html } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { Field, Fold, NumberField, TextField } from "./parts.js";
import { Told } from "./fields.js";
import { changeBy, changeFields } from "./draft.js";
import { store } from "./store.js";

export function PopulationPart({ table }) {
  const { plan } = table;
  const file = table.fields.population ?? null;
  const [low, high] = plan.presence || [null, null];
  const load = (chosen) => chosen && changeBy(() => api.upload(`tables/${table.id}/population/upload`, chosen, { "X-Shoal-Name": encodeURIComponent(chosen.name) }), `The population is ${chosen.name}.`);
  const shares = (pair) => changeFields({ presence: pair.includes(null) ? null : pair }, pair.includes(null) ? "No range of presence." : `Presence from ${pair[0]} to ${pair[1]}.`);
  const away = () => changeFields({ population: null, k_map: null, presence: null }, "No population.");
  const share = (at, label) => html`<${NumberField} class="short" aria-label=${label} value=${at ? high : low} empty min=${0} max=${1} step="any" disabled=${!file} placeholder=${at ? "1" : "0"}
    onChange=${(value) => shares(at ? [value === null ? null : low ?? 0, value] : [value, value === null ? null : high ?? 1])} />`;
  return html`<section class="panel" aria-labelledby="population"><h2 id="population">People who may be in the table</h2>
    <p class="note">Of use if you know the population that the table was drawn from. Otherwise leave it as it is.</p>
    <${Fold} title="Count matches in a population" note="k-map and presence" open=${Boolean(file)}><div class="details">
      <${Told} name="population" label="File of the population"><input type="file" onChange=${(event) => load(event.target.files[0])} /><//>
      ${store.session.paths && html`<${Field} label="or its path on this machine"><${TextField} value=${file && !table.files.includes(file) ? file : null} placeholder="/data/register.csv" onChange=${(path) => changeFields({ population: path, ...(path ? {} : { k_map: null, presence: null }) }, path ? "The population was named." : "No population.")} /><//>`}
      ${file && html`<div class="whole row"><span class="note">The population is <strong>${file}</strong>.${plan.population ? "" : " It counts once k-map or presence is set."}</span><button type="button" class="btn small" onClick=${away}>Without a population</button></div>`}
      <${Told} name="k_map" label="k-map"><${NumberField} value=${plan.k_map ?? null} empty min=${2} disabled=${!file} placeholder=${file ? "none" : "choose a file first"} onChange=${(value) => changeFields({ k_map: value }, `k-map: ${value ?? "none"}.`)} /><//>
      <div data-field="presence"><fieldset><legend class="label">Presence, from and to</legend><div class="row">${share(0, "Presence from")}${share(1, "Presence to")}</div></fieldset>
        <p class="note">${store.catalogue.fields.find((one) => one.name === "presence").words} Shares from 0 to 1.</p></div>
    </div><//></section>`;
}

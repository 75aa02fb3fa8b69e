// Noise in place of groups: a differentially private release, its budget, and the domain that it needs.

import { html } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { Cost, Field, Fold, Notice, NumberField, Select, TextField } from "./parts.js";
import { GenericField, OptionsPart, Told, fieldOf } from "./fields.js";
import { changeBy, changeFields, inTurn } from "./draft.js";
import { attempt, jobsOf, once, store } from "./store.js";
import { number, plural, scalar } from "./words.js";

const filled = (value) => (value === store.catalogue.private.fill_in ? null : value ?? null);

/** Switch to noise: the domain that was filled in before comes back, or a template is made. */
async function begin(table) {
  const domain = table.fields.domain ?? (await template(table))?.domain;
  if (domain) changeFields({ dp: store.catalogue.private.releases[0].name, epsilon: table.fields.epsilon ?? 1, domain }, "A private release, in place of groups.", table.id);
}

const template = (table) => once(`template of ${table.id}`, () => inTurn(() => attempt(() => api.get(`tables/${table.id}/domain`))));

/** The offer, among the other promises. */
export function PrivateOffer({ table }) {
  const { available } = store.catalogue.private;
  return html`<section class="panel" aria-labelledby="noise"><h2 id="noise">Noise in place of groups</h2>
    <p class="note">Differential privacy promises more than k, and pays for it with noise. It is for large tables with few columns.</p>
    <${Fold} title="Make a differentially private release"><${Cost} words=${fieldOf("dp").words} cost="Noise in everything. As a rule of thumb, records times epsilon should be above 100,000; for smaller tables, groups lose far less." />
      <div class="row gap">${available ? html`<button type="button" class="btn" onClick=${() => once(`noise of ${table.id}`, () => begin(table))}>Use noise</button>` : html`<${Notice} kind="plain">This needs the package opendp: <code>pip install 'shoal[dp]'</code><//>`}</div><//></section>`;
}

const WORDS = {
  lower: ["Lowest", "Lower values count as this one"], upper: ["Highest", "Higher values count as this one"], step: ["Step", "Distance of values that are told apart; may be empty"],
  values: ["Values", "One a line; of levels, the lowest first"], missing: ["Missing counts as", "Empty: missing values are refused"], other: ["Others count as", "Empty: undeclared values are refused"],
  hierarchy: ["Hierarchy as JSON", 'Names above what they contain: {"North": ["Hamburg", "Bremen"]}'],
};

const lines = (text) => (text === "" ? null : text.split("\n").map((one) => one.trim()).filter(Boolean));
const tree = (text) => {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
};
const NEEDED = ["lower", "upper", "values", "hierarchy"];

function Key({ name, at, described, put }) {
  const [label, note] = WORDS[at] || [at, ""];
  const value = filled(described[at]);
  const how = at === "values" ? { lines: true, read: lines, show: (one) => (one || []).join("\n") } : at === "hierarchy" ? { lines: true, read: tree, show: (one) => (one === null ? "" : typeof one === "string" ? one : JSON.stringify(one)) } : { read: scalar };
  return html`<div class=${how.lines ? "whole" : ""}><${Field} label=${label} note=${note}><${TextField} ...${how} aria-label="${label} of ${name}" aria-invalid=${NEEDED.includes(at) && value === null ? "true" : undefined} value=${value} onChange=${(next) => put(at, next)} /><//></div>`;
}

function DomainColumn({ name, described, change }) {
  const { keys, fill_in: fill, releases } = store.catalogue.private;
  const kinds = releases.find((one) => one.name === store.table.plan.dp)?.kinds;
  const put = (key, value) => {
    const { [key]: _old, ...rest } = described;
    change(name, value === null ? (NEEDED.includes(key) ? { ...rest, [key]: fill } : rest) : { ...rest, [key]: value }, `${name}: ${key} ${value === null ? "empty" : "declared"}.`);
  };
  const turn = (kind) => change(name, { kind, ...Object.fromEntries(keys[kind].filter((key) => NEEDED.includes(key)).map((key) => [key, fill])) }, `${name}: ${kind}.`);
  const offered = Object.keys(keys).filter((kind) => !kinds || kinds.includes(kind) || kind === described.kind);
  return html`<li class="model"><div class="row spread"><h3>${name}</h3><button type="button" class="btn small quiet" aria-label="Do not release ${name}" onClick=${() => change(name, null, `${name} is not released.`)}>Do not release</button></div>
    ${kinds && !kinds.includes(described.kind) && html`<p class="note">This release takes no column of this kind: declare another, or do not release it.</p>`}
    <div class="details"><${Field} label="Kind"><${Select} aria-label="Kind of ${name}" value=${described.kind} options=${offered.map((kind) => [kind, kind])} onChange=${turn} /><//>
    ${(keys[described.kind] || []).map((key) => html`<${Key} key=${`${described.kind}-${key}`} name=${name} at=${key} described=${described} put=${put} />`)}</div></li>`;
}

function DomainPart({ table }) {
  const { keys, fill_in: fill } = store.catalogue.private;
  const domain = table.plan.domain;
  const columns = typeof domain === "object" && domain ? domain.columns : {};
  const left = Object.values(columns).filter((one) => Object.values(one).includes(fill)).length;
  const change = (name, described, said) => {
    const { [name]: _old, ...rest } = columns;
    const next = described === null ? rest : name in columns ? Object.fromEntries(Object.entries(columns).map(([key, one]) => [key, key === name ? described : one])) : { ...columns, [name]: described };
    changeFields({ domain: { ...domain, columns: next } }, said);
  };
  const add = (position) => {
    const column = table.columns_list[Number(position)];
    const kind = keys[column.type] ? column.type : "nominal";
    change(column.name, { kind, ...Object.fromEntries(keys[kind].filter((key) => NEEDED.includes(key)).map((key) => [key, fill])) }, `${column.name}: to be released.`);
  };
  const others = table.columns_list.filter((column) => !(column.name in columns) && !["identifier", "dropped", "unit"].includes(column.role));
  const anew = async () => {
    const made = await template(table);
    if (made) changeFields({ domain: made.domain }, "A new template.", table.id);
  };
  const load = (file) => file && changeBy(async () => api.post(`tables/${table.id}/domain`, { text: await file.text() }), `The domain is that of ${file.name}.`);
  return html`<section class="panel" aria-labelledby="domain" data-field="domain"><h2 id="domain">What the columns can hold</h2><${Cost} words="Bounds and values that are taken from the table would tell about it: the highest income is somebody’s income. Declare them from a law, a questionnaire or common sense, without looking at the table." cost=${fieldOf("domain").cost} />
    ${left > 0 ? html`<${Notice} kind="plain" title="To be filled in.">${plural(left, "column")}: declare what is empty, or do not release the column.<//>` : html`<${Notice} kind="good" title="Everything is declared." />`}
    <div class="row gap"><div class="grow"><${Field} label="Load a domain from a file" note="YAML, as the command line has it"><input type="file" accept=".yaml,.yml,.json" onChange=${(event) => load(event.target.files[0])} /><//></div>
      <button type="button" class="btn small" onClick=${anew}>Make the template anew</button></div>
    ${table.plan.unit && html`<div class="gap"><${Field} label="Rows of a unit, at most" note="Rows beyond are left out; the noise grows with the number"><${NumberField} class="short" value=${domain?.rows_per_unit ?? null} empty min=${1} onChange=${(value) => changeFields({ domain: { ...domain, rows_per_unit: value ?? undefined } }, `Rows of a unit: ${value ?? "not declared"}.`)} /><//></div>`}
    <ul aria-label="Declared columns">${Object.entries(columns).map(([name, described]) => html`<${DomainColumn} key=${name} name=${name} described=${described} change=${change} />`)}</ul>
    ${others.length > 0 && html`<div class="row gap"><${Field} label="Release another column"><${Select} value="" options=${[["", "choose"], ...others.map((column) => [String(column.position), column.name])]} onChange=${(position) => position !== "" && add(position)} /><//></div>`}</section>`;
}

/** The whole plan of a private release. */
export function PrivatePart({ table, units }) {
  const { plan } = table;
  const { releases, certainty } = store.catalogue.private;
  const release = releases.find((one) => one.name === plan.dp);
  const spent = jobsOf(table.id, "run").filter((job) => job.state === "done" && job.summary?.epsilon).reduce((sum, job) => sum + job.summary.epsilon, 0);
  const limited = store.catalogue.fields.filter((field) => ["thousands", "n_jobs"].includes(field.name));
  return html`<section class="panel" aria-labelledby="budget"><div class="row spread"><h2 id="budget">A private release</h2><button type="button" class="btn small" onClick=${() => changeFields({ dp: null }, "Groups of at least k.")}>Back to groups</button></div>
    <p class="note">${fieldOf("dp").words}</p>
    <div class="details"><div data-field="dp"><${Field} label="Release" note="${release?.words || ""} Costs: ${release?.cost || ""}."><${Select} value=${plan.dp} options=${releases.map((one) => [one.name, one.name])} onChange=${(name) => changeFields({ dp: name }, `Release ${name}.`)} /><//></div>
      <${Told} name="epsilon"><${NumberField} value=${plan.epsilon} min=${0.001} step="any" onChange=${(value) => changeFields({ epsilon: value }, `epsilon = ${value}.`)} /><//>
      ${release?.delta && html`<${Told} name="delta"><${NumberField} value=${plan.delta ?? null} empty min=${0} max=${0.5} step="any" placeholder="such as 0.000001" onChange=${(value) => changeFields({ delta: value }, `delta = ${value ?? 0}.`)} /><//>`}
      <${OptionsPart} owner=${release} plan=${plan} /></div>
    <p class="gap">Someone who thinks it as likely as not that a person is in the table can be this sure of it after seeing the release, and no surer:</p>
    <div class="row gap" role="group" aria-label="Usual values of epsilon">${certainty.map((one) => html`<button key=${one.epsilon} type="button" class="btn small" aria-pressed=${one.epsilon === plan.epsilon} onClick=${() => changeFields({ epsilon: one.epsilon }, `epsilon = ${one.epsilon}.`)}>epsilon ${number(one.epsilon)}: ${number(100 * one.sure, one.sure > 0.999 ? 5 : 3)} %</button>`)}</div>
    ${spent > 0 && html`<${Notice} title="Epsilons add up.">Private releases of this table in this sitting have spent ${number(spent, 4)}; another would make it ${number(spent + plan.epsilon, 4)}.<//>`}
    <${Fold} title="Units and reading"><div class="details">${units}${limited.map((field) => html`<${GenericField} key=${field.name} field=${field} plan=${plan} />`)}</div><//></section>
    <${DomainPart} table=${table} />`;
}

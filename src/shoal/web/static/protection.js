// What is promised: k, models for sensitive columns, units, strata; each with one sentence and what it costs.

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { NoTable, setRole, summary } from "./columns.js";
import { BlocksPart, GenericField, MissingValuesPart, OptionsPart, PlacesPart, fieldOf } from "./fields.js";
import { MapPanel } from "./map.js";
import { Cost, ErrorNotice, Field, Fold, NumberField, Notice, Select, Title } from "./parts.js";
import { PopulationPart } from "./population.js";
import { PrivateOffer, PrivatePart } from "./private.js";
import { changeColumns, changeFields } from "./draft.js";
import { go, jobsOf, needResult, say, start, store, useStore, working } from "./store.js";
import { list, percent, plural, whole } from "./words.js";

function KPart({ table }) {
  const k = table.plan.k;
  const field = fieldOf("k");
  const put = (value) => value !== k && value >= 2 && changeFields({ k: value }, `k = ${value}.`);
  const dots = Math.min(k, 60);
  return html`<section class="panel" aria-labelledby="k-title" data-field="k"><h2 id="k-title">Everybody hides among at least k records</h2><${Cost} words=${field.words} cost=${field.cost} />
    <div class="k"><div class="stepper"><button type="button" class="btn" aria-label="Smaller k" disabled=${k <= 2} onClick=${() => put(k - 1)}>−</button>
      <${NumberField} aria-label="k" value=${k} min=${2} max=${table.rows} onChange=${(value) => put(Math.round(value))} />
      <button type="button" class="btn" aria-label="Larger k" onClick=${() => put(k + 1)}>+</button></div>
    <div><div class="people" aria-hidden="true">${Array.from({ length: dots }, (_, i) => html`<i key=${i}></i>`)}</div>
      <p class="note gap">Someone who knows all quasi-identifiers of a person picks the right record with a chance of at most 1 in ${whole(k)}, which is ${percent(1 / k)}.</p></div></div>
    <div class="row gap" role="group" aria-label="Usual values of k">${[3, 5, 10, 20].map((value) => html`<button key=${value} type="button" class="btn small" aria-pressed=${value === k} onClick=${() => put(value)}>k = ${value}</button>`)}</div>
  </section>`;
}

const parse = (text) => {
  const [name, ...rest] = text.trim().split(/\s+/);
  return { name, given: Object.fromEntries(rest.map((part) => part.split("="))) };
};

const written = (name, given) => [name, ...Object.entries(given).map(([key, value]) => `${key}=${value}`)].join(" ");

function Model({ column, text, at, models }) {
  const { name, given } = parse(text);
  const model = store.catalogue.models.find((one) => one.name === name);
  const replace = (other) => changeColumns([{ column: column.name, models: models.map((one, i) => (i === at ? other : one)).filter(Boolean) }], `${column.name}: ${other || `without ${name}`}.`);
  return html`<div class="model"><div class="row"><div class="grow"><span class="label">${name}</span></div>
    ${(model?.parameters || []).map((parameter) => html`<div key=${parameter.name}><${Field} label=${parameter.name}>
      ${parameter.choices.length ? html`<${Select} aria-label="${parameter.name} of ${name} for ${column.name}" value=${given[parameter.name] ?? parameter.default} options=${parameter.choices}
        onChange=${(value) => replace(written(name, { ...given, [parameter.name]: value }))} />` : html`<${NumberField} class="short" aria-label="${parameter.name} of ${name} for ${column.name}" value=${given[parameter.name] === undefined ? parameter.default : Number(given[parameter.name])}
        step=${parameter.type === "int" ? 1 : "any"} onChange=${(value) => replace(written(name, { ...given, [parameter.name]: value }))} />`}<//></div>`)}
    <button type="button" class="btn small quiet" aria-label="Take away ${name} from ${column.name}" onClick=${() => replace(null)}>Take away</button></div>
    ${model && html`<${Cost} words=${model.example === text ? model.words : `With ${model.example}: ${model.words}`} cost=${model.cost} />`}</div>`;
}

function SensitiveColumn({ column }) {
  const models = column.settings.models || [];
  const offered = store.catalogue.models.filter((model) => !model.population && !["k-map", "delta-presence"].includes(model.name));
  const add = (name) => {
    const model = offered.find((one) => one.name === name);
    if (!model) return;
    const given = Object.fromEntries(model.parameters.filter((one) => one.default === null || one.default === undefined).map((one) => [one.name, one.example ?? 1]));
    changeColumns([{ column: column.name, models: [...models, written(name, given)] }], `${column.name}: ${name}.`);
  };
  return html`<div class="gap"><h3>${column.name}</h3>
    ${models.map((text, i) => html`<${Model} key=${`${i}-${parse(text).name}`} column=${column} text=${text} at=${i} models=${models} />`)}
    ${!models.length && html`<p class="note">No model. All members of a group may have the same value, which would then be known.</p>`}
    <div class="row gap"><label class="hide" for="model-${column.position}">Add a model for ${column.name}</label>
      <${Select} id="model-${column.position}" style=${{ width: "auto", maxWidth: "100%" }} value="" options=${[["", "Add a model"], ...offered.map((model) => [model.name, `${model.name}: ${model.words}`.slice(0, 90)])]} onChange=${add} /></div></div>`;
}

function SensitivePart({ table }) {
  const columns = table.columns_list.filter((column) => column.role === "sensitive");
  return html`<section class="panel" aria-labelledby="secrets" data-field="models"><h2 id="secrets">Sensitive columns</h2>
    <p class="note">k hides which record is a person’s. A model also limits what a group tells about its members. It costs information, the more so the stricter it is and the fewer values a column has.</p>
    ${columns.slice(0, 40).map((column) => html`<${SensitiveColumn} key=${column.position} column=${column} />`)}
    ${columns.length > 40 && html`<p class="note">The first 40 of ${whole(columns.length)} are shown.</p>`}
    ${!columns.length && html`<p class="gap">No column is sensitive. <button type="button" class="btn small" onClick=${() => go("columns", table.id)}>Choose some</button></p>`}</section>`;
}

function OneColumn({ table, role, label }) {
  const field = fieldOf(role);
  const now = table.columns_list.find((column) => column.role === role);
  const pick = (position) => {
    const column = table.columns_list[Number(position)];
    if (position === "") setRole(now, null);
    else changeColumns([...(now ? [{ column: now.name, role: null }] : []), { column: column.name, role }], `${column.name}: ${role}.`);
  };
  return html`<div><${Field} label=${label}><${Select} value=${now ? String(now.position) : ""} options=${[["", "none"], ...table.columns_list.map((column) => [String(column.position), column.name])]} onChange=${pick} /><//>
    <${Cost} words=${field.words} cost=${field.cost} /></div>`;
}

function StrataPart({ table }) {
  const field = fieldOf("stratum");
  const now = table.columns_list.filter((column) => column.role === "stratum");
  const add = (position) => position !== "" && setRole(table.columns_list[Number(position)], "stratum");
  const others = table.columns_list.filter((column) => column.role !== "stratum");
  return html`<div><${Field} label="Strata"><${Select} value="" options=${[["", now.length ? "add another" : "none"], ...others.map((column) => [String(column.position), column.name])]} onChange=${add} /><//>
    ${now.length > 0 && html`<ul class="row gap" aria-label="Strata">${now.map((column) => html`<li key=${column.position}><button type="button" class="btn small" aria-label="${column.name} is no stratum" onClick=${() => setRole(column, null)}>${column.name} ×</button></li>`)}</ul>`}
    <${Cost} words=${field.words} cost=${field.cost} /></div>`;
}

// Fields that have a control of their own, or none on this screen.
const SHOWN = ["k", "release", "method", "time_limit", "suppress", "rest", "k_map", "epsilon", "delta"];

/** Everything else that a plan can say, under the headings of the command line. */
function Advanced({ table, method }) {
  const simple = store.catalogue.fields.filter((field) => field.place === "plan" && ["integer", "number", "boolean", "choice"].includes(field.type) && !SHOWN.includes(field.name));
  const panels = [...new Set(simple.map((field) => field.panel))];
  const special = {
    Grouping: html`<${BlocksPart} table=${table} /><${OptionsPart} owner=${method} plan=${table.plan} />`,
    "Types and values": html`<${MissingValuesPart} table=${table} />`,
  };
  return html`<${Fold} title="All other settings">
    ${panels.map((panel) => html`<h3 key=${panel} class="gap">${panel}</h3><div class="details">${simple.filter((field) => field.panel === panel).map((field) => html`<${GenericField} key=${field.name} field=${field} plan=${table.plan} />`)}${special[panel]}</div>`)}
    <div class="details"><${PlacesPart} table=${table} /></div><//>`;
}

function HowPart({ table }) {
  const { forms, methods } = store.catalogue;
  const plan = table.plan;
  const method = methods.find((one) => one.name === (plan.method || "auto"));
  const searching = (one) => one.timed || plan.refine || plan.bound;
  // A limit of time goes with what searches: it does not follow to a method that never does.
  const take = (name) => changeFields({ method: name === "auto" ? null : name, ...(plan.time_limit && !searching(methods.find((one) => one.name === name)) ? { time_limit: null } : {}) }, `Method ${name}.`);
  return html`<section class="panel" aria-labelledby="how"><h2 id="how">How it is made</h2>
    <fieldset class="gap" data-field="release"><legend class="label">What groups publish</legend>
      ${forms.map((form) => html`<label key=${form.name} class="check"><input type="radio" name="form" checked=${(plan.release || "microaggregation") === form.name} onChange=${() => changeFields({ release: form.name === "microaggregation" ? null : form.name }, `${form.name}.`)} />
        <span>${form.name}<br /><span class="note">${form.words}</span></span></label>`)}</fieldset>
    <div class="details gap">
      <div data-field="method"><${Field} label="Method" note=${method?.words}><${Select} value=${plan.method || "auto"} options=${methods.map((one) => [one.name, one.name])} onChange=${take} /><//></div>
      <div data-field="time_limit"><${Field} label="Seconds for the search" note=${fieldOf("time_limit").words}><${NumberField} value=${plan.time_limit ?? null} empty min=${0.1} step="any" disabled=${!plan.time_limit && !searching(method)} placeholder=${searching(method) ? "default" : "does not search"} onChange=${(value) => changeFields({ time_limit: value }, `Time limit: ${value ?? "default"}.`)} /><//></div>
      <div data-field="suppress"><${Field} label="Largest share of records left out, %" note=${fieldOf("suppress").words}><${NumberField} value=${Number((100 * (plan.suppress || 0)).toPrecision(6))} min=${0} max=${99} step="any" onChange=${(value) => changeFields({ suppress: value ? value / 100 : null }, `At most ${value} % left out.`)} /><//>
        <${Cost} cost=${fieldOf("suppress").cost} /></div>
    </div>
    <${Advanced} table=${table} method=${method} />
  </section>`;
}

/** What a dry run found: what the plan means for this table, or why it is refused. */
function Checked({ job, plan }) {
  useEffect(() => {
    needResult(job.id);
  }, [job.id, job.state]);
  const result = store.results[job.id];
  if (working(job)) return html`<${Notice} kind="plain" title="Checking.">The plan is tried on the table, without making anything.<//>`;
  if (job.plan && JSON.stringify(job.plan) !== JSON.stringify(plan)) return html`<${Notice} kind="plain" title="The plan has changed since it was checked." />`;
  if (job.error) return html`<${ErrorNotice} error=${job.error} />`;
  if (job.state !== "done" || !result) return null;
  if (result.private) {
    return html`<${Notice} kind="good" title="This plan can be carried out.">${plural(result.columns.length, "column")} would be released: ${list(result.columns.map((one) => one.name))}. Nothing was spent.<//>`;
  }
  const { rows, methods } = result;
  return html`<${Notice} kind="good" title="This plan can be carried out.">${plural(rows.published, "record")} would be published, in at most ${plural(result.most_groups, "group")}. Method: ${list([...new Set(methods.map((one) => one.method))])}.<//>
    ${result.warnings.map((warning, i) => html`<${Notice} key=${i} title="Weakens the protection.">${warning}<//>`)}`;
}

export function ProtectionScreen() {
  const { table, error } = useStore();
  const [format, setFormat] = useState("");
  const [formulas, setFormulas] = useState(false);
  if (!table) return html`<${NoTable} title="Protection" />`;
  const check = jobsOf(table.id, "check").at(-1);
  const run = async () => {
    const { view } = store;
    const job = await start({ kind: "run", table: table.id, assess: !table.plan.dp, ...(format ? { format } : {}), escape_formulas: formulas });
    if (job && store.view !== view) say(`${job.name} has begun.`);
    else if (job) go(job.state === "done" ? "result" : "run", table.id, job.id);
  };
  const unit = html`<${OneColumn} table=${table} role="unit" label="Unit: several rows of one person or household" />`;
  const short = table.plan.dp ? `epsilon = ${table.plan.epsilon}; ${plural(Object.keys(table.plan.domain?.columns || {}).length, "column")} to release` : `k = ${whole(table.plan.k)}; ${summary(table.columns_list)}`;
  const formats = store.catalogue.formats.filter((one) => one.available);
  return html`
    <${Title}>How ${table.name} is protected<//>
    <p class="lead">Choose by the risk, not by the loss that you would like to see. Whatever you change here can be undone.</p>
    <${ErrorNotice} error=${error} />
    ${table.plan.dp ? html`<${PrivatePart} table=${table} units=${unit} />` : html`<${KPart} table=${table} />
    <${SensitivePart} table=${table} />
    <section class="panel" aria-labelledby="structure"><h2 id="structure">Persons and parts</h2><div class="details">
      ${unit}<${StrataPart} table=${table} /><${OneColumn} table=${table} role="weight" label="Sampling weight" /></div></section>
    <${MapPanel} table=${table} />
    <${HowPart} table=${table} />
    <${PopulationPart} table=${table} />
    <${PrivateOffer} table=${table} />`}
    <section class="panel" aria-labelledby="file"><h2 id="file">The file</h2><div class="row gap"><div class="grow"><${Field} label="Format of the release"><${Select} value=${format} options=${[["", "as the table"], ...formats.map((one) => [one.name, one.words])]} onChange=${setFormat} /><//></div>
      <label class="check grow"><input type="checkbox" checked=${formulas} onChange=${(event) => setFormulas(event.target.checked)} /><span>Make texts safe that a spreadsheet would take for formulas</span></label></div></section>
    ${check && html`<${Checked} job=${check} plan=${table.plan} />`}
    <section class="next" aria-label="Next step"><div><p>${short}</p>
      <button type="button" class="btn" disabled=${working(check)} onClick=${() => start({ kind: "check", table: table.id })}>Check the plan</button>
      <button type="button" class="btn main" onClick=${run}>Run</button></div></section>`;
}

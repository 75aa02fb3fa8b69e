// Controls of the fields of a plan, as the table of options describes them, and those that need more than a line.

import { html, useState } from "./vendor/htm-preact.js";
import { Cost, Field, NumberField, Select, TextField } from "./parts.js";
import { changeColumns, changeFields } from "./draft.js";
import { store } from "./store.js";
import { joined, listed, scalar } from "./words.js";

export const fieldOf = (name) => store.catalogue.fields.find((field) => field.name === name) || { words: "", cost: "" };

/** A field with a control, its sentence and its price. */
export function Told({ name, label, children }) {
  const field = fieldOf(name);
  return html`<div data-field=${name}><${Field} label=${label || field.label}>${children}<//><${Cost} words=${field.words} cost=${field.cost} /></div>`;
}

/** A number, a switch or a choice. */
export function GenericField({ field, plan }) {
  const value = plan[field.name];
  const put = (next) => changeFields({ [field.name]: next }, `${field.label}: ${next ?? "default"}.`);
  const usual = field.default_words ?? field.choices?.find((one) => one.name === field.default)?.words ?? field.default;
  const shown = usual === null || usual === undefined ? "default" : `default: ${usual}`;
  let control;
  if (field.type === "boolean") {
    control = html`<${Select} value=${value === undefined || value === null ? "" : String(value)} options=${[["", "default: no"], ["true", "yes"], ["false", "no"]]} onChange=${(text) => put(text === "" ? null : text === "true")} />`;
  } else if (field.type === "choice") {
    control = html`<${Select} value=${value ?? ""} options=${[["", shown], ...field.choices.map((one) => [one.name, one.words])]} onChange=${(text) => put(text || null)} />`;
  } else {
    control = html`<${NumberField} value=${value ?? null} empty step=${field.type === "integer" ? 1 : "any"} placeholder=${shown} onChange=${put} />`;
  }
  return html`<${Told} name=${field.name}>${control}<//>`;
}

/** The options of a method or of a private release. */
export function OptionsPart({ owner, plan }) {
  if (!owner?.options.length) return null;
  const given = plan.options || {};
  const put = (name, value) => {
    const { [name]: _old, ...rest } = given;
    const options = value === null ? rest : { ...rest, [name]: value };
    changeFields({ options: Object.keys(options).length ? options : null }, `${owner.name}: ${name} ${value ?? "default"}.`);
  };
  return owner.options.map((option) => {
    const shown = `default: ${option.default}`;
    const control = option.numeric
      ? html`<${TextField} value=${given[option.name] ?? null} read=${scalar} placeholder=${shown} onChange=${(value) => put(option.name, value)} />`
      : html`<${Select} value=${given[option.name] ?? ""} options=${[["", shown], ...option.choices.map((one) => [one, one])]} onChange=${(text) => put(option.name, text || null)} />`;
    return html`<div key=${`${owner.name}-${option.name}`} data-field="options"><${Field} label="${owner.name}: ${option.name}" note="${option.words} Allowed: ${option.domain}.">${control}<//></div>`;
  });
}

export const known = (table) => table.columns_list.filter((column) => column.role.startsWith("quasi-identifier"));

/** Blocks of quasi-identifiers: all together, each by itself, or numbers that are given to them. */
export function BlocksPart({ table }) {
  const blocks = table.plan.blocks ?? "joint";
  const own = Array.isArray(blocks);
  const names = known(table).map((column) => column.name);
  const of = (name) => (own ? blocks.findIndex((block) => block.includes(name)) : 0);
  const put = (value, said) => changeFields({ blocks: value }, said);
  const pick = (how) => put(how === "own" ? [names] : how === "joint" ? null : how, `Blocks: ${how}.`);
  const move = (name, to) => {
    const left = blocks.map((block) => block.filter((one) => one !== name && names.includes(one)));
    const grown = to < left.length ? left.map((block, i) => (i === to ? [...block, name] : block)) : [...left, [name]];
    put(grown.filter((block) => block.length), `${name}: block ${to + 1}.`);
  };
  const options = [...fieldOf("blocks").choices.map((one) => [one.name, one.words]), ["own", "blocks of my own"]];
  return html`<div class=${own ? "whole" : ""}><${Told} name="blocks"><${Select} value=${own ? "own" : blocks} options=${options} onChange=${pick} /><//>
    ${own && html`<div class="treebox" tabindex="0" role="group" aria-label="Blocks"><div class="blocks">${names.map((name) => html`<label key=${name}><span>${name}</span>
      <${Select} class="short" value=${String(of(name))} options=${[...Array(Math.min(blocks.length + 1, names.length)).keys()].map((i) => [String(i), `block ${i + 1}`])} onChange=${(to) => move(name, Number(to))} /></label>`)}</div></div>`}</div>`;
}

/** Two columns that are one place. */
export function PlacesPart({ table }) {
  const places = table.plan.places || [];
  const [half, setHalf] = useState(["", ""]);
  const numbers = table.columns_list.filter((column) => ["continuous", "integer"].includes(column.type) && !places.flat().includes(column.name));
  const add = () => {
    const pair = half.map((position) => table.columns_list[Number(position)].name);
    setHalf(["", ""]);
    changeColumns(pair.map((column) => ({ column, role: "quasi-identifier" })), `${pair.join(" and ")} are a place.`, { places: [...places, pair] });
  };
  const away = (pair) => changeFields({ places: places.length > 1 ? places.filter((one) => one !== pair) : null }, `${pair.join(" and ")} are no place.`);
  const pick = (at, label) => html`<${Field} label=${label}><${Select} value=${half[at]} options=${[["", "choose a column"], ...numbers.map((column) => [String(column.position), column.name])]} onChange=${(value) => setHalf(half.map((one, i) => (i === at ? value : one)))} /><//>`;
  return html`<div class="whole" data-field="places"><h3>Places</h3><${Cost} words=${fieldOf("places").words} cost=${fieldOf("places").cost} />
    ${places.length > 0 && html`<ul class="row gap" aria-label="Places">${places.map((pair) => html`<li key=${pair.join()}><button type="button" class="btn small" aria-label="${pair.join(" and ")} are no place" onClick=${() => away(pair)}>${pair.join(", ")} ×</button></li>`)}</ul>`}
    ${numbers.length > 1 ? html`<div class="row gap"><div class="grow">${pick(0, "Latitude")}</div><div class="grow">${pick(1, "Longitude")}</div><button type="button" class="btn" disabled=${half.includes("") || half[0] === half[1]} onClick=${add}>Make it a place</button></div>` : html`<p class="note gap">There are not two columns of numbers.</p>`}</div>`;
}

export function MissingValuesPart({ table }) {
  const value = table.fields.missing_values;
  return html`<${Told} name="missing_values" label="Values that mean missing, in all quasi-identifiers"><${TextField} value=${Array.isArray(value) && value.length ? value : null} read=${listed} show=${joined}
    placeholder="such as -9, unknown" onChange=${(values) => changeFields({ missing_values: values || [] }, values ? `Missing: ${joined(values)}.` : "Only empty fields are missing.")} /><//>`;
}

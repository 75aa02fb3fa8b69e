// What the columns are: role and type with the reason, a small picture, one click to change. Pages of 40 keep 500 usable.

import { html, useLayoutEffect, useState } from "./vendor/htm-preact.js";
import { HierarchyPart } from "./hierarchy.js";
import { LevelsPart } from "./levels.js";
import { Dialog, ErrorNotice, Field, Select, Title, announce } from "./parts.js";
import { Frequencies, Spark } from "./pictures.js";
import { ReadingForm } from "./reading.js";
import { SettingsPart } from "./settings.js";
import { changeColumns } from "./draft.js";
import { go, store, useStore } from "./store.js";
import { list, number, plural, tick, whole } from "./words.js";

const PAGE = 40;
const MAIN = ["quasi-identifier", "sensitive", "other", "identifier", "dropped"];
export const SHORT = {
  "quasi-identifier": "Quasi-identifier", sensitive: "Sensitive", other: "Other", identifier: "Identifier", dropped: "Left out",
  weight: "Weight", unit: "Unit", stratum: "Stratum", "quasi-identifier+sensitive": "Quasi-identifier and sensitive",
};

export const setRole = (column, role) => changeColumns([{ column: column.name, role }], `${column.name}: ${role ? SHORT[role].toLowerCase() : "role as inferred"}.`);

function words(column) {
  const { picture } = column;
  const missing = column.missing ? `, ${whole(column.missing)} missing` : "";
  const different = `${column.different_capped ? "more than " : ""}${plural(column.different, "value")}${missing}`;
  if (picture.shape === "bars") {
    const kind = picture.dates ? "date" : column.type;
    const [low, high] = picture.ends;
    return [different, `${tick(low, kind, high - low)} to ${tick(high, kind, high - low)}`];
  }
  return [different, picture.shape === "none" ? picture.why : picture.labels.slice(0, 3).join(", ") + (column.different > 3 ? ", .." : "")];
}

function Roles({ column }) {
  const shown = MAIN.includes(column.role) ? MAIN : [...MAIN, column.role];
  const told = Object.fromEntries(store.catalogue.roles.map((role) => [role.name, role.words]));
  return html`<fieldset class="roles"><legend class="hide">Role of ${column.name}</legend><div class="chips">
    ${shown.map((role) => html`<label key=${role} title=${told[role]}><input type="radio" name="role-${column.position}" value=${role} checked=${role === column.role}
      onChange=${() => setRole(column, role)} /><span class=${role}>${SHORT[role]}</span></label>`)}
  </div><p class="why">${column.role_inferred ? column.role_why : `As you said. ${told[column.role] || ""}`}</p></fieldset>`;
}

const tell = (column, key, value, said) => changeColumns([{ column: column.name, [key]: value }], `${column.name}: ${said}.`);

function TypePart({ column }) {
  const types = store.catalogue.types.filter((type) => type.name !== "place");
  const type = types.find((one) => one.name === column.type);
  const options = [["", column.settings.type ? "as inferred" : `${column.type} (${column.type_inferred ? "inferred" : column.settings.hierarchy ? "by its hierarchy" : "by its levels"})`], ...types.map((one) => [one.name, one.name])];
  const usual = (column.type_inferred && column.publishes) || type?.default;
  const why = column.type_inferred && column.type_why ? `Inferred: ${column.type_why}` : "";
  return html`<div data-field="types"><${Field} label="Type" note=${[why, type?.words].filter(Boolean).join(". ")}>
    <${Select} value=${column.settings.type || ""} options=${options} onChange=${(value) => tell(column, "type", value || null, `type ${value || "as inferred"}`)} /><//></div>
    ${type?.representatives.length > 0 && html`<div data-field="representatives"><${Field} label="A group publishes" note="One value for all members of a group">
      <${Select} value=${column.settings.representative || ""} options=${[["", `${usual} (default)`], ...type.representatives.map((name) => [name, name])]}
        onChange=${(value) => tell(column, "representative", value || null, `groups publish ${value || "the default"}`)} /><//></div>`}`;
}

function Details({ column }) {
  const grouped = column.role.startsWith("quasi-identifier");
  const { picture } = column;
  const roles = ["weight", "unit", "stratum", "quasi-identifier+sensitive"].filter((role) => role !== column.role);
  return html`<div class="details" id="details-${column.position}">
    ${grouped || column.role === "sensitive" ? html`<${TypePart} column=${column} />` : null}
    <${SettingsPart} column=${column} />
    <div><span class="label">Other roles</span><div class="row">${roles.map((role) => html`<button key=${role} type="button" class="btn small" onClick=${() => setRole(column, role)}>${SHORT[role]}</button>`)}</div></div>
    ${picture.shape === "names" && html`<div><span class="label">Values</span><${Frequencies} name=${column.name} labels=${picture.labels} after=${picture.counts} pooled=${[0, picture.others]} missing=${[0, column.missing]} numbers /></div>`}
    ${column.type === "ordinal" && html`<${LevelsPart} column=${column} />`}
    ${(grouped || column.role === "sensitive") && html`<${HierarchyPart} column=${column} />`}
  </div>`;
}

function Column({ column, open, onOpen }) {
  const [different, range] = words(column);
  const { picture } = column;
  const told = `Distribution of ${column.name}: ${different}; ${range}`;
  const type = column.role === "identifier" || column.role === "dropped" ? "" : column.type;
  return html`<li class=${column.looks_like_identifier && column.role_inferred && column.role !== "identifier" ? "problem" : ""}>
    <div class="column">
      <div><h2>${column.name} <small>${type || ""}</small></h2><p class="why">${different}<br />${range}</p></div>
      ${picture.shape === "none" ? html`<span class="note">${picture.why}</span>` : html`<${Spark} counts=${picture.counts} label=${told} />`}
      <${Roles} column=${column} />
      <button type="button" class="btn quiet small" aria-expanded=${open} aria-controls="details-${column.position}" aria-label="Details of ${column.name}" onClick=${onOpen}>Details</button>
    </div>
    ${open && html`<${Details} column=${column} />`}
  </li>`;
}

function Counts({ columns, role, setRoleShown }) {
  const all = {};
  for (const column of columns) all[column.role] = (all[column.role] || 0) + 1;
  return html`<fieldset><legend class="hide">Show columns with the role</legend><div class="chips">
    ${[["", columns.length], ...Object.entries(all)].map(([name, count]) => html`<label key=${name}><input type="radio" name="shown" checked=${role === name} onChange=${() => setRoleShown(name)} />
      <span class=${name}>${name ? SHORT[name] : "All"} ${whole(count)}</span></label>`)}</div></fieldset>`;
}

function Together({ shown }) {
  const roles = MAIN.map((role) => [role, SHORT[role]]);
  const all = (role) => role && changeColumns(shown.map((column) => ({ column: column.name, role })), `${plural(shown.length, "column")}: ${SHORT[role].toLowerCase()}.`);
  return html`<label class="row"><span class="note">Make all ${whole(shown.length)} shown</span><${Select} class="short" style=${{ width: "auto" }} value="" options=${[["", "choose a role"], ...roles]} onChange=${all} /></label>`;
}

export function summary(columns) {
  const of = (role) => columns.filter((column) => column.role.includes(role)).length;
  return list([plural(of("quasi-identifier"), "quasi-identifier"), plural(of("sensitive"), "sensitive column"), `${whole(of("identifier") - of("quasi-identifier") + of("dropped"))} left out`]);
}

/** In place of a screen about a table that is not here: it is on its way, is being read, or was closed. */
export function NoTable({ title }) {
  const { tables, view, error } = store;
  const state = tables[view.table]?.state;
  const [words, label] = { ready: ["One moment."], reading: ["The table is being read."], choose: ["It has several tables.", "Choose one"], failed: ["The table could not be read.", "See why"] }[state] || ["This table is not there any more.", "All tables"];
  return html`<${Title}>${title}<//><${ErrorNotice} error=${error} />${!(error && state === "ready") && html`<p class="lead">${words}</p>`}
    ${label && html`<button type="button" class="btn" onClick=${() => go("open", state ? view.table : null)}>${label}</button>`}`;
}

export function ColumnsScreen() {
  const { table, error } = useStore();
  const [find, setFind] = useState("");
  const [role, setRoleShown] = useState("");
  const [page, setPage] = useState(0);
  const [open, setOpen] = useState({});
  const [reading, setReading] = useState(false);
  useLayoutEffect(() => setPage(0), [find, role]);
  if (!table) return html`<${NoTable} title="Columns" />`;
  const columns = table.columns_list;
  const wanted = find.trim().toLowerCase();
  const shown = columns.filter((column) => (!wanted || column.name.toLowerCase().includes(wanted)) && (!role || column.role === role));
  const pages = Math.max(1, Math.ceil(shown.length / PAGE));
  const at = Math.min(page, pages - 1);
  const turn = (to) => (setPage(to), announce(`Page ${to + 1} of ${pages}.`), document.getElementById("list-of-columns").scrollIntoView());
  return html`
    <${Title}>What the columns of ${table.name} are<//>
    <p class="lead">${plural(table.rows, "row")}, ${plural(columns.length, "column")}. A column that others may know about a person is a quasi-identifier. What nobody should learn is sensitive. Names and numbers of persons are identifiers, and left out.</p>
    <div class="row gap"><button type="button" class="btn small" onClick=${() => setReading(true)}>How it was read</button></div>
    ${reading && html`<${Dialog} title="How ${table.name} was read" onClose=${() => setReading(false)}><ul class="gap">${table.notes.map((note, i) => html`<li key=${i} class="note">${note}</li>`)}</ul>
      <div class="gap"><${ReadingForm} table=${table} onDone=${() => setReading(false)} /></div><//>`}
    <${ErrorNotice} error=${error} />
    <div class="tools-of-columns"><div><label class="hide" for="find">Find a column</label><input id="find" type="search" placeholder="Find a column" value=${find} onInput=${(event) => setFind(event.target.value)} /></div>
      ${shown.length > 1 && html`<${Together} shown=${shown} />`}</div>
    <div class="gap"><${Counts} columns=${columns} role=${role} setRoleShown=${setRoleShown} /></div>
    <ul class="columns gap" id="list-of-columns" aria-label="Columns">
      ${shown.slice(at * PAGE, (at + 1) * PAGE).map((column) => html`<${Column} key=${column.position} column=${column} open=${Boolean(open[column.position])} onOpen=${() => setOpen({ ...open, [column.position]: !open[column.position] })} />`)}
    </ul>
    ${!shown.length && html`<p class="lead">No column fits.</p>`}
    ${pages > 1 && html`<nav class="row gap" aria-label="Pages of columns"><button type="button" class="btn small" disabled=${at === 0} onClick=${() => turn(at - 1)}>Back</button>
      <span class="note">${number(at * PAGE + 1)} to ${number(Math.min(shown.length, (at + 1) * PAGE))} of ${whole(shown.length)}</span>
      <button type="button" class="btn small" disabled=${at === pages - 1} onClick=${() => turn(at + 1)}>Next</button></nav>`}
    <section class="next" aria-label="Next step"><div><p>${summary(columns)}</p><button type="button" class="btn main" onClick=${() => go("protection", table.id)}>Protection</button></div></section>`;
}

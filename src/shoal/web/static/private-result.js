// A private release: what was promised and paid. Nothing of the original is shown that was not paid for.

import { html } from "./vendor/htm-preact.js";
import { ErrorNotice, Title } from "./parts.js";
import { go, store } from "./store.js";
import { number, percent, whole } from "./words.js";

export function PrivateResult({ job, result, error, children }) {
  const cards = [
    ["Rows published", whole(result.rows.published), "drawn from noisy answers, none copied"],
    ["Epsilon", result.epsilon, result.neighbours],
    ...(result.delta ? [["Delta", result.delta, "probability that is exempt"]] : []),
    ["Surest guess", percent(result.certainty), "that a person is in the table, from 50 %"],
  ];
  return html`<${Title}>Release of ${store.tables[job.table]?.name || "the table"}<//><p class="lead">${job.name}. ${result.words}</p>
    <${ErrorNotice} error=${error} />
    <div class="verdict good"><svg class="mark" viewBox="0 0 40 40" role="img" aria-label="Made as promised"><path d="M20 3.5l13 4.6v10.4c0 8.3-5.4 14.6-13 18-7.6-3.4-13-9.7-13-18V8.1z" /><path d="M13.5 20l4.7 4.7 8.6-9.2" /></svg>
      <div><p class="head">Nobody becomes surer than ${percent(result.certainty)} that a person is in the table${result.delta ? `, but for a chance of ${result.delta}` : ""}.</p><p class="detail">${result.meaning.at(-1)}</p></div></div>
    <dl class="cards">${cards.map(([name, value, words]) => html`<div key=${name} class="card"><dt>${name}</dt><dd>${value}</dd><dd>${words}</dd></div>`)}</dl>
    ${children[0]}
    <section class="panel" aria-labelledby="means"><h2 id="means">What it means</h2>${result.meaning.map((words, i) => html`<p key=${i} class="gap">${words}</p>`)}${result.notes.map((words, i) => html`<p key=${i} class="gap">${words}</p>`)}</section>
    <section class="panel" aria-labelledby="paid"><h2 id="paid">What the budget was spent on</h2><div class="scroll" tabindex="0" role="group" aria-label="Ledger"><table class="data"><thead><tr><th scope="col">Answer</th><th scope="col" class="number">Epsilon</th><th scope="col" class="number">Delta</th></tr></thead>
      <tbody>${result.ledger.slice(0, 100).map((entry, i) => html`<tr key=${i}><th scope="row">${entry.what}</th><td class="number">${entry.epsilon}</td><td class="number">${entry.delta}</td></tr>`)}
      <tr><th scope="row">Spent</th><td class="number">${result.spent.epsilon}</td><td class="number">${result.spent.delta}</td></tr></tbody></table></div></section>
    <section class="panel" aria-labelledby="declared"><h2 id="declared">What was declared</h2><div class="scroll" tabindex="0" role="group" aria-label="Domain"><table class="data"><thead><tr><th scope="col">Column</th><th scope="col">Kind</th><th scope="col" class="number">Values that it can have</th></tr></thead>
      <tbody>${result.columns.map((one) => html`<tr key=${one.name}><th scope="row">${one.name}</th><td>${one.type}</td><td class="number">${number(one.values, 4)}</td></tr>`)}</tbody></table></div></section>
    ${children[1]}
    <section class="next" aria-label="Next step"><div><p class="wide">Another release of the same people spends epsilon once more.</p>
      <button type="button" class="btn" onClick=${() => go("runs", job.table)}>Compare runs</button><button type="button" class="btn main" onClick=${() => go("protection", job.table)}>Change the plan</button></div></section>`;
}

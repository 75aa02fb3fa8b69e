// Risk beside utility: what an intruder can still find, and what an analyst can still do.

import { html } from "./vendor/htm-preact.js";
import { Bar, ErrorNotice } from "./parts.js";
import { start, store, working } from "./store.js";
import { number, percent } from "./words.js";

const SHARES = new Set(["share", "percent", "%", "probability", "chance"]);

function value(figure) {
  if (figure.value === null || figure.value === undefined) return "–";
  if (typeof figure.value !== "number") return String(figure.value);
  return SHARES.has(figure.unit) ? percent(figure.value) : number(figure.value, 3);
}

function Question({ question }) {
  return html`<div class="gap"><h3>${question.asks}</h3><table class="data"><tbody>
    ${question.figures.map((figure, i) => html`<tr key=${i}><td>${figure.words || figure.name}</td><td class="number">${value(figure)}</td></tr>`)}</tbody></table></div>`;
}

export function Assessment({ job, run }) {
  const result = job && store.results[job.id];
  const side = (kind) => result.questions.filter((question) => question.kind === kind);
  return html`<section aria-labelledby="assessed">
    ${!result && html`<div class="panel"><h2 id="assessed">Risk beside utility</h2>
      ${working(job) ? html`<p class="note" role="status">Being assessed: what an intruder can still find, what an analyst can still do.</p><div class="gap"><${Bar} share=${job.overall} /></div>` : html`<${ErrorNotice} error=${job?.error} />
      <div class="row gap"><button type="button" class="btn" onClick=${() => start({ kind: "assess", of: run.id })}>Assess this release</button></div>`}</div>`}
    ${result && html`<h2 id="assessed" class="hide">Risk beside utility</h2><div class="two gap">
      <div class="panel"><h2>What remains at risk</h2>${side("risk").map((question) => html`<${Question} key=${question.name} question=${question} />`)}</div>
      <div class="panel"><h2>What can still be done</h2>${side("utility").map((question) => html`<${Question} key=${question.name} question=${question} />`)}</div></div>
      ${(result.notes || []).map((note, i) => html`<p key=${i} class="note gap">${note}</p>`)}`}</section>`;
}

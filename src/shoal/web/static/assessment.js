// Risk beside utility: what an intruder can still find, and what an analyst can still do.

import { html } from "./vendor/htm-preact.js";
import { Bar, ErrorNotice } from "./parts.js";
import { start, store, working } from "./store.js";
import { number, percent } from "./words.js";

const known = (figure) => typeof figure.value === "number";

/** Bars in grey are there to be compared with. Shares are drawn as such, other numbers as shares of the largest. */
function Question({ question }) {
  const most = Math.max(0, ...question.figures.filter((figure) => !figure.share && known(figure)).map((figure) => figure.value));
  const length = (figure) => (known(figure) ? figure.value / (figure.share ? 1 : most || 1) : 0);
  return html`<div class="gap"><h3>${question.asks}</h3><table class="loss figures" aria-label=${question.asks}><tbody>
    ${question.figures.map((figure, i) => html`<tr key=${i} class=${figure.compare ? "compare" : ""}><th scope="row">${figure.words || figure.name}</th>
      <td><${Bar} share=${length(figure)} /></td><td class="number">${!known(figure) ? "–" : figure.share ? percent(figure.value) : number(figure.value, 3)}</td></tr>`)}</tbody></table>
    ${question.reads && html`<p class="note">${question.reads}</p>`}</div>`;
}

export function Assessment({ job, run }) {
  const result = job && store.results[job.id];
  const side = (kind) => result.questions.filter((question) => question.kind === kind);
  return html`<section aria-labelledby="assessed">
    ${!result && html`<div class="panel"><h2 id="assessed">Risk beside utility</h2>
      ${working(job) ? html`<p class="note" role="status">Being assessed: what an intruder can still find, what an analyst can still do.</p><div class="gap"><${Bar} share=${job.overall} /></div>` : html`<${ErrorNotice} error=${job?.error} />
      <div class="row gap"><button type="button" class="btn" onClick=${() => start({ kind: "assess", of: run.id })}>Assess this release</button></div>`}</div>`}
    ${result && html`<h2 id="assessed" class="hide">Risk beside utility</h2><div class="two gap">
      <div class="panel"><h2>What remains at risk</h2><p class="note">Bars in grey are there to be compared with.</p>${side("risk").map((question) => html`<${Question} key=${question.name} question=${question} />`)}</div>
      <div class="panel"><h2>What can still be done</h2><p class="note">These figures compare with the original: keep them in the house.</p>${side("utility").map((question) => html`<${Question} key=${question.name} question=${question} />`)}</div></div>
      ${(result.notes || []).map((note, i) => html`<p key=${i} class="note gap">${note}</p>`)}`}</section>`;
}

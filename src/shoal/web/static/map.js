// The map of risk and utility: what other values of k would cost on this table. A point becomes the plan.

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Bar, ErrorNotice } from "./parts.js";
import { RiskMap } from "./pictures.js";
import * as api from "./api.js";
import { takePlan } from "./draft.js";
import { assessmentOf, attempt, jobsOf, needResult, start, store, take, working } from "./store.js";
import { percent, seconds, whole } from "./words.js";

const AXES = { risk: "highest chance of picking a record", linked: "records linked to the right person" };
const KS = [2, 3, 5, 10, 20];

/** The share of records that an intruder links to the right person, if a run was assessed. */
function linkedOf(run) {
  const assessed = store.results[assessmentOf(run.id)?.id];
  const figures = assessed?.questions.find((question) => question.name === "linkage")?.figures;
  return figures?.find((figure) => figure.name === "correct")?.value ?? null;
}

/** Points of trials and of finished runs. */
function pointsOf(trials, runs) {
  const tried = trials.filter((trial) => !trial.error && trial.loss !== null).map((trial, i) => ({
    id: `t${i}`, name: `k = ${trial.k}, ${trial.form}, ${trial.chosen || trial.method}`, short: `k = ${trial.k}`, loss: trial.loss, risk: trial.risk, linked: trial.figures?.linkage ?? null, plan: trial.plan, trial,
  }));
  const ran = runs.filter((run) => run.state === "done" && run.summary).map((run) => ({
    id: run.id, name: `Run ${run.name}`, short: run.name, loss: run.summary.loss, risk: run.summary.risk, linked: linkedOf(run), plan: run.plan, ran: true,
  }));
  return [...tried, ...ran].filter((point) => point.loss !== null && point.risk !== null);
}

async function pick(point, table) {
  const plan = point.plan || (await attempt(() => api.get(`jobs/${point.id}`)))?.plan;
  if (plan) takePlan(plan, `The plan is now ${point.name}.`, table.id);
}

export function MapPanel({ table }) {
  const job = jobsOf(table.id, "compare").at(-1);
  const runs = jobsOf(table.id, "run");
  const wanted = [job, ...runs.map((run) => assessmentOf(run.id))].filter((one) => one?.state === "done").map((one) => one.id);
  useEffect(() => wanted.forEach(needResult), [wanted.join()]);
  const trials = (job && store.results[job.id]?.trials) || [];
  const points = pointsOf(trials, runs);
  const [by, setBy] = useState("risk");
  const measured = points.some((point) => point.linked !== null);
  const drawn = by === "linked" && measured ? points.filter((point) => point.linked !== null).map((point) => ({ ...point, risk: point.linked })) : points;
  const ks = [...new Set([...KS, table.plan.k])].filter((k) => k <= table.rows / 2).sort((a, b) => a - b);
  return html`<section class="panel" aria-labelledby="map"><h2 id="map">Risk and utility on this table</h2>
    <p class="note">Tries several k on your table and shows what each costs. Nothing is released. Click a point to make it the plan; undo brings yours back.</p>
    ${working(job)
      ? html`<div class="gap" role="status"><p class="note">Trying k = ${ks.join(", ")} ..</p><${Bar} share=${job.overall} /><div class="row gap"><button type="button" class="btn small" onClick=${(event) => event.detail < 2 && attempt(async () => take(await api.post(`jobs/${job.id}/cancel`)))}>Cancel</button></div></div>`
      : html`<div class="row gap"><button type="button" class="btn small" onClick=${() => start({ kind: "compare", table: table.id, ks })}>${trials.length ? "Try again" : "Try several k"}</button></div>`}
    ${job?.error && html`<${ErrorNotice} error=${job.error} />`}
    ${points.length > 0 && html`${measured && html`<fieldset class="gap"><legend class="hide">Risk that is drawn</legend><div class="chips">${Object.entries(AXES).map(([key, words]) => html`<label key=${key}><input type="radio" name="axis" checked=${by === key} onChange=${() => setBy(key)} /><span>${words}</span></label>`)}</div></fieldset>`}
      <${RiskMap} points=${drawn} axis=${AXES[measured ? by : "risk"]} chosen=${points.find((point) => point.trial?.k === table.plan.k)?.id} onPick=${(point) => pick(point, table)} />
      <div class="key" aria-hidden="true"><span><i class="dot of-after"></i>tried</span><span><i class="dot of-dot2"></i>run</span></div>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of plans"><table class="data"><thead><tr><th scope="col">Plan</th><th scope="col" class="number">Risk</th><th scope="col" class="number wide">Linked</th><th scope="col" class="number">Loss</th><th scope="col" class="number wide">Groups</th><th scope="col" class="number wide">Time</th></tr></thead>
      <tbody>${points.map((point) => html`<tr key=${point.id}><th scope="row"><button type="button" class="btn quiet small" onClick=${() => pick(point, table)}>${point.name}</button></th><td class="number">${percent(point.risk)}</td><td class="number wide">${percent(point.linked)}</td><td class="number">${percent(point.loss)}</td>
        <td class="number wide">${point.trial ? whole(point.trial.groups) : ""}</td><td class="number wide">${point.trial ? seconds(point.trial.seconds) : ""}</td></tr>`)}</tbody></table></div>`}
    ${trials.filter((trial) => trial.error).map((trial, i) => html`<p key=${i} class="note">k = ${trial.k}: ${trial.error}</p>`)}
  </section>`;
}

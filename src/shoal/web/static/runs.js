// The runs of this sitting, and two or more of them side by side.

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { ErrorNotice, Title } from "./parts.js";
import { MapPanel } from "./map.js";
import { takePlan } from "./draft.js";
import { attempt, forgetJob, go, jobsOf, store, useStore, working } from "./store.js";
import { number, percent, whole } from "./words.js";

const STATES = { queued: "waiting", running: "running", done: "done", failed: "refused", cancelled: "cancelled", killed: "ended by a limit" };

const known = (value) => typeof value === "number";

function Run({ job, chosen, onChoose }) {
  const name = job.name || job.id;
  const away = () => attempt(async () => {
    await api.remove(`jobs/${job.id}`);
    forgetJob(job.id);
  });
  const { summary } = job;
  const state = `${STATES[job.state]}${job.stopped_early ? ", stopped early" : ""}`;
  return html`<tr><td>${job.state === "done" && html`<input type="checkbox" aria-label="Compare ${name}" checked=${chosen} onChange=${onChoose} />`}</td>
    <th scope="row">${name}<br /><span class="note">${store.tables[job.table]?.name || ""} ${new Date(job.created).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}<span class="narrow">, ${state}</span></span>
      <div class="row no-print">${job.state === "done" ? html`<button type="button" class="btn small" aria-label="Result of ${name}" onClick=${() => go("result", job.table, job.id)}>Result</button>` : html`<button type="button" class="btn small" aria-label="Look at ${name}" onClick=${() => go("run", job.table, job.id)}>Look</button>`}
        ${!working(job) && html`<button type="button" class="btn small quiet" aria-label="Remove ${name}" onClick=${away}>Remove</button>`}</div></th>
    <td class="wide">${state}</td>
    <td class="number wide">${known(summary?.k) ? whole(summary.k) : ""}</td><td class="number">${known(summary?.risk) ? percent(summary.risk) : ""}</td><td class="number">${known(summary?.loss) ? percent(summary.loss) : ""}</td></tr>`;
}

/** One row of figures; the lowest of a row of losses and risks is marked. */
function Row({ name, note, values, words, low = true }) {
  const known = values.filter((value) => typeof value === "number");
  const best = low && known.length > 1 ? Math.min(...known) : null;
  return html`<tr><th scope="row">${name}${note && html`<br /><span class="note">${note}</span>`}</th>${values.map((value, i) => html`<td key=${i} class="number ${best !== null && value === best && known.some((other) => other !== best) ? "best" : ""}">${value === null || value === undefined ? "–" : words(value)}</td>`)}</tr>`;
}

/** The first figure of every question of the assessments, in the words of the question. */
function Figures({ runs }) {
  const asked = new Map(runs.flatMap((run) => Object.entries(run.figures || {})));
  return [...asked].map(([name, { asks, words, share }]) => html`<${Row} key=${name} name=${asks} note=${words} values=${runs.map((run) => run.figures?.[name]?.value)} words=${(value) => (typeof value !== "number" ? "–" : share ? percent(value) : number(value, 3))} low=${false} />`);
}

const short = (value) => (value === null || value === undefined ? "default" : typeof value === "object" ? JSON.stringify(value) : String(value));

function SideBySide({ comparison }) {
  const { runs, differences } = comparison;
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.by_attribute || {})))].slice(0, 60);
  const all = (key) => runs.map((run) => run[key]);
  return html`<section class="panel" aria-labelledby="side"><h2 id="side">Side by side</h2><div class="scroll" tabindex="0" role="group" aria-label="Comparison"><table class="data sides" style=${{ "--runs": runs.length }}>
    <thead><tr><td></td>${runs.map((run) => html`<th key=${run.id} scope="col" class="number wrap">${run.name}</th>`)}</tr></thead>
    <tbody><${Row} name="k" values=${all("k")} words=${whole} low=${false} /><${Row} name="Highest risk" values=${all("risk")} words=${percent} /><${Row} name="Loss" values=${all("loss")} words=${percent} />
      <${Row} name="Gap" values=${all("gap")} words=${percent} /><${Row} name="Groups" values=${all("groups")} words=${whole} low=${false} /><${Row} name="Records" values=${all("rows")} words=${whole} low=${false} />
      ${runs.some((run) => run.epsilon) && html`<${Row} name="Epsilon" values=${all("epsilon")} words=${number} /><${Row} name="Surest guess that a person is in it" values=${all("certainty")} words=${percent} />`}
      ${names.map((name) => html`<${Row} key=${name} name="Loss of ${name}" values=${runs.map((run) => run.by_attribute?.[name])} words=${percent} />`)}
      <${Figures} runs=${runs} />
      ${differences.map((one) => html`<tr key=${one.field}><th scope="row">Plan: ${one.field}</th>${one.values.map((value, i) => html`<td key=${i} class="number wrap">${short(value)}</td>`)}</tr>`)}
      <tr><td></td>${runs.map((run) => html`<td key=${run.id} class="number"><button type="button" class="btn small" aria-label="Make it the plan: ${run.name}" onClick=${() => takePlan(run.plan, `The plan is now ${run.name}.`, store.jobs[run.id]?.table)}>Make it the plan</button></td>`)}</tr></tbody></table></div></section>`;
}

export function RunsScreen() {
  const { jobs, error, table } = useStore();
  const runs = jobsOf(null, "run").reverse();
  const [chosen, setChosen] = useState({});
  const [comparison, setComparison] = useState(null);
  const wanted = runs.filter((job) => chosen[job.id] && job.state === "done").map((job) => job.id).reverse();
  useEffect(() => {
    let gone = false; // An answer about what was chosen before is not shown any more.
    if (wanted.length < 2) setComparison(null);
    else attempt(() => api.post("comparison", { jobs: wanted })).then((found) => found && !gone && setComparison(found));
    return () => (gone = true);
  }, [wanted.join(), Object.values(jobs).filter((job) => job.kind === "assess" && job.state === "done").length]);
  return html`<${Title}>Runs of this sitting<//><p class="lead">${runs.length ? "Choose two or more to see them side by side. They are wiped when the server stops: download what you keep." : "No run yet. Each run stays here until the server stops."}</p>
    <${ErrorNotice} error=${error} />
    ${runs.length > 0 && html`<section class="panel" aria-label="Runs"><div class="scroll" tabindex="0" role="group" aria-label="List of runs"><table class="data"><thead><tr><th scope="col" class="pick"><span class="hide">Compare</span></th><th scope="col">Run</th><th scope="col" class="wide">State</th><th scope="col" class="number wide">k</th><th scope="col" class="number">Risk</th><th scope="col" class="number">Loss</th></tr></thead>
      <tbody>${runs.map((job) => html`<${Run} key=${job.id} job=${job} chosen=${Boolean(chosen[job.id])} onChoose=${() => setChosen({ ...chosen, [job.id]: !chosen[job.id] })} />`)}</tbody></table></div></section>`}
    ${comparison && html`<${SideBySide} comparison=${comparison} />`}
    ${table && !table.plan.dp && html`<${MapPanel} table=${table} />`}`;
}

// A run: its phases as they are, what the search has reached so far, and two ways to end it.

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { Bar, ErrorNotice, Notice, Title } from "./parts.js";
import { TracePlot } from "./plots.js";
import { attempt, go, store, take, useStore, working } from "./store.js";
import { percent, plural, seconds } from "./words.js";

const PHASES = [["starting", "Start"], ["reading", "Read"], ["preparing", "Prepare"], ["grouping", "Group"], ["writing", "Write and check"], ["measuring", "Measure"]];

function Phases({ job }) {
  const at = PHASES.findIndex(([name]) => name === job.phase);
  const share = (i) => (job.state === "done" || i < at ? 1 : i === at ? job.fraction : 0);
  return html`<ol class="phases" aria-label="Phases">${PHASES.map(([name, words], i) => {
    const state = job.state === "done" || i < at ? "done" : i === at && working(job) ? "now" : "";
    return html`<li key=${name} class=${state} aria-current=${state === "now" ? "step" : undefined}><span>${words}</span><${Bar} share=${share(i)} /><span class="number">${state ? `${Math.round(100 * share(i))} %` : ""}</span></li>`;
  })}</ol>`;
}

/** Whether a plan has models: they are enforced once the search has ended. */
const demanding = (plan) => Boolean(plan && (plan.l || plan.t || plan.k_map || plan.presence || Object.keys(plan.models || {}).length));

function Standing({ job, since }) {
  const trace = store.traces[job.id] || [];
  if (job.loss === null || job.loss === undefined) return null;
  return html`<dl class="cards"><div class="card"><dt>Loss so far</dt><dd>${percent(job.loss)}</dd><dd>of the variation between records${demanding(job.plan) ? ", before models are enforced: that adds to it" : ""}</dd></div>
    <div class="card"><dt>Gap so far</dt><dd>${job.gap === null || job.gap === undefined ? "not known yet" : `at most ${percent(job.gap)}`}</dd><dd>above the best possible</dd></div>
    <div class="card"><dt>Time</dt><dd>${seconds(since)}</dd><dd>since the run began</dd></div></dl>
    ${trace.length > 2 && html`<section class="panel" aria-labelledby="trace"><h2 id="trace">The search</h2><p class="note">The loss of the best groups so far. When the line is flat, more time brings little.</p><${TracePlot} trace=${trace} /></section>`}`;
}

const ENDED = {
  cancelled: ["Cancelled", "Nothing was kept of this run."],
  failed: ["No release was made", "The plan or the table does not allow it. Change what the message names, then run again."],
  killed: ["The run was ended", "It took more memory or time than this server allows."],
};

/** The seconds of a job, which go on between two reports of the server. */
function useSeconds(job) {
  const [now, setNow] = useState(Date.now());
  const running = job?.state === "running";
  useEffect(() => {
    const clock = running ? setInterval(() => setNow(Date.now()), 500) : 0;
    return () => clearInterval(clock);
  }, [running]);
  return (job?.seconds || 0) + (running && job.at ? Math.max(0, (now - job.at) / 1000) : 0);
}

export function RunScreen() {
  const { jobs, view, table, error } = useStore();
  const job = jobs[view.job];
  const since = useSeconds(job);
  if (!job) return html`<${Title}>Run<//><p class="lead">This run is not there any more.</p><button type="button" class="btn" onClick=${() => go("runs")}>All runs</button>`;
  // The second click of a double click on Run is not meant for what has taken its place.
  const act = (what) => (event) => event.detail < 2 && attempt(async () => take(await api.post(`jobs/${job.id}/${what}`)));
  const ended = ENDED[job.state];
  return html`
    <${Title}>${ended ? ended[0] : job.state === "done" ? "Done" : job.state === "queued" ? "Waiting for its turn" : "Running"}<//>
    <p class="lead">${job.name}${table ? ` on ${table.name}` : ""}. ${ended ? ended[1] : ""}</p>
    <${ErrorNotice} error=${error} /><${ErrorNotice} error=${job.error} />
    ${job.state === "queued" && html`<${Notice} kind="plain">${job.position ? `${plural(job.position, "job")} before this one.` : "It begins in a moment."}<//>`}
    ${!ended && html`<section class="panel" aria-labelledby="phases"><div class="row spread"><h2 id="phases">${Math.round(100 * (job.state === "done" ? 1 : job.overall || 0))} % done</h2><span class="note">${seconds(since)}</span></div>
      <div class="gap" role="progressbar" aria-label="Progress of the run" aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(100 * (job.state === "done" ? 1 : job.overall || 0))}><${Bar} share=${job.state === "done" ? 1 : job.overall} /></div>
      <${Phases} job=${job} /></section>
      ${job.phase === "grouping" && !job.fraction && since > 8 && html`<${Notice} kind="plain">The first run of a new version compiles its loops, which takes a minute or two. Later runs begin at once.<//>`}
      <${Standing} job=${job} since=${since} />`}
    <section class="next" aria-label="Next step"><div><p class="wide">${working(job) ? "You may leave this screen, or reload it: the run goes on." : ""}</p>
      ${working(job) && html`<button type="button" class="btn danger" onClick=${act("cancel")}>Cancel</button>`}
      ${job.state === "running" && html`<button type="button" class="btn main" disabled=${!job.searching || job.stopped_early} onClick=${act("stop")}>${job.stopped_early ? "Stopping" : "Good enough, stop here"}</button>`}
      ${ended && html`<button type="button" class="btn" onClick=${() => go("columns", job.table)}>Columns</button><button type="button" class="btn main" onClick=${() => go("protection", job.table)}>Change the plan</button>`}
      ${job.state === "done" && html`<button type="button" class="btn main" onClick=${() => go("result", job.table, job.id)}>Result</button>`}</div></section>`;
}

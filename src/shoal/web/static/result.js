// A finished run: the verdict, what was kept and lost, what remains at risk, and the files.

import { html, useEffect } from "./vendor/htm-preact.js";
import { Assessment } from "./assessment.js";
import { fileOf } from "./api.js";
import { Bar, Copy, ErrorNotice, Icon, Notice, Title } from "./parts.js";
import { Frequencies, Histogram } from "./pictures.js";
import { GroupsPlot } from "./plots.js";
import { PrivateResult } from "./private-result.js";
import { assessmentOf, go, needResult, store, useStore } from "./store.js";
import { bytes, number, percent, plural, tick, whole } from "./words.js";

const MARKS = { good: "M13.5 20l4.7 4.7 8.6-9.2", limited: "M20 13v8.5M20 26.5v.1", bad: "M15 15l10 10M25 15L15 25" };
const SAID = { good: "Passed", limited: "Passed with limits", bad: "Failed" };

/** The head of the report, in its own words. */
function Verdict({ verdict }) {
  return html`<div class="verdict ${verdict.state}"><svg class="mark" viewBox="0 0 40 40" role="img" aria-label=${SAID[verdict.state]}><path d="M20 3.5l13 4.6v10.4c0 8.3-5.4 14.6-13 18-7.6-3.4-13-9.7-13-18V8.1z" /><path d=${MARKS[verdict.state]} /></svg>
    <div><p class="head">${verdict.head}</p><p class="detail">${verdict.detail}</p></div></div>`;
}

function Cards({ result }) {
  const left = result.rows.in - result.rows.published;
  const cards = [
    ["Records published", whole(result.rows.published), left ? `${whole(left)} left out` : "each of them in a group"],
    ["k held", whole(result.k.units ?? result.k.held), `${whole(result.k.wanted)} wanted${result.k.units === null || result.k.units === undefined ? "" : ", counting units"}`],
    ["Highest risk", percent(result.risk), "of picking the right record"],
    ["Groups", whole(result.groups), result.sizes ? `of ${whole(result.sizes.smallest)} to ${whole(result.sizes.largest)} records` : ""],
    ["Information lost", percent(result.loss), result.gap === null || result.gap === undefined ? "of the variation of the quasi-identifiers" : `at most ${percent(result.gap)} above the best possible`],
  ];
  return html`<dl class="cards">${cards.map(([name, value, words]) => html`<div key=${name} class="card"><dt>${name}</dt><dd>${value}</dd><dd>${words}</dd></div>`)}</dl>`;
}

const FILES = {
  release: ["The release", "The table that may be published."],
  certificate: ["Certificate", "What was promised and counted, with the hash of the file."],
  report: ["Report", "The same for readers, with figures."],
  job_file: ["Job file", "The whole plan, to run it again."],
  record: ["Record", "Everything about how it was made."],
  command: ["Command line", "The command that makes it again."],
  python: ["Python", "The code that makes it again."],
};

function Downloads({ job, files }) {
  const rows = (wanted) => files.filter((file) => file.public === wanted).map((file) => {
    const [name, words] = FILES[file.name] || [file.name, ""];
    return html`<li key=${file.name}><div class="grow"><strong>${name}</strong> <span class="note">${words} ${file.file}, ${bytes(file.bytes)}.</span>${file.name === "release" && file.sha256 && html`<br /><span class="mono note">SHA-256 ${file.sha256}</span>`}</div>
      <div class="row">${file.name === "report" && html`<a class="btn small" target="_blank" rel="noopener" href=${fileOf(job.id, "report", true)}>Read it</a>`}
      <a class=${`btn small ${file.name === "release" ? "main" : ""}`} href=${fileOf(job.id, file.name)} download aria-label="Download ${name}"><${Icon} name="down" />Download</a></div></li>`;
  });
  return html`<div class="two gap"><section class="panel" aria-labelledby="public"><h2 id="public">To publish</h2><ul class="list gap">${rows(true)}</ul></section>
    <section class="panel" aria-labelledby="private"><h2 id="private">To keep with the data</h2><p class="note">These may name columns and values that are not published.</p><ul class="list gap">${rows(false)}</ul></section></div>`;
}

function spreadOf(column) {
  const edges = column.distribution?.edges;
  return edges?.length ? edges.at(-1) - edges[0] : 0;
}

function Figures({ column }) {
  const f = column.figures || {};
  const spread = spreadOf(column);
  const dated = column.distribution?.dates;
  const kind = dated ? "date" : "continuous";
  const told = (value) => tick(value, kind, spread);
  const arrow = (name, before, after, words) => (after === null || after === undefined ? null : html`<span>${name} ${before === null || before === undefined ? "" : `${words(before)} → `}${words(after)}</span>`);
  const lasting = (value) => (dated ? `${number(value / 365.2425, 3)} years` : number(value, 3));
  return html`<figcaption>${arrow("mean", f.mean_before, f.mean_after, told)}${arrow("sd", f.sd_before, f.sd_after, lasting)}
    ${f.changed && html`<span>${f.changed} of the frequencies changed</span>`}
    ${column.distribution?.missing?.[1] > 0 && html`<span>missing ${whole(column.distribution.missing[1])}</span>`}</figcaption>`;
}

function Distribution({ column }) {
  const d = column.distribution;
  if (!d) return null;
  const kind = d.dates ? "date" : column.type;
  return html`<figure><h3>${column.name}<span>${column.type}</span></h3>
    ${d.shape === "bars" ? html`<${Histogram} name=${column.name} kind=${kind} edges=${d.edges} before=${d.before} after=${d.after} />` : html`<${Frequencies} name=${column.name} labels=${d.labels} before=${d.before} after=${d.after} pooled=${d.others} missing=${d.missing} />`}
    ${d.before === null && html`<figcaption>Published in another form, or too few records: the original is not drawn.</figcaption>`}
    <${Figures} column=${column} /></figure>`;
}

const SHOWN = 60;

function Loss({ columns }) {
  const known = columns.filter((column) => column.loss !== null && column.loss !== undefined);
  if (!known.length) return null;
  return html`<section class="panel" aria-labelledby="loss"><h2 id="loss">Loss by attribute</h2><p class="note">The share of each attribute’s variation that was within groups and is lost. At 100 %, every record would publish the same value.</p>
    <table class="loss" aria-label="Loss by attribute"><tbody>${known.slice(0, SHOWN).map((column) => html`<tr key=${column.name}><th scope="row">${column.name}</th><td><${Bar} share=${column.loss} /></td><td class="number">${percent(column.loss)}</td></tr>`)}</tbody></table></section>`;
}

function Checks({ result }) {
  return html`<section class="panel" aria-labelledby="checks"><h2 id="checks">What was checked</h2><p class="note">On the published table alone, without using how it was made.</p>
    <div class="scroll" tabindex="0" role="group" aria-label="Checks"><table class="data checks"><thead><tr><th scope="col">Check</th><th scope="col">Result</th><th scope="col">What was found</th></tr></thead><tbody>
    ${result.checks.map((check, i) => html`<tr key=${i}><th scope="row">${check.what}</th><td><span class=${check.holds ? "passed" : "failed"}>${check.holds ? "✓ passed" : "✗ failed"}</span></td><td>${check.words}</td></tr>`)}</tbody></table></div></section>`;
}

function Again({ again }) {
  return html`<section class="panel" aria-labelledby="again"><h2 id="again">Make it again</h2><p class="note">${again.exact ? "The same plan on the same data gives the same release, byte for byte." : again.why}${again.command.includes(" --job ") ? " The command needs the job file beside the table: download it above." : ""}</p>
    <div class="row spread gap"><h3>Command line</h3><${Copy} text=${again.command} label="Copy the command" /></div><pre tabindex="0"><code>${again.command}</code></pre>
    <div class="row spread gap"><h3>Python</h3><${Copy} text=${again.python} label="Copy the Python" /></div><pre tabindex="0"><code>${again.python}</code></pre></section>`;
}

function Groups({ result }) {
  const { axes, k } = result;
  if (!axes || axes.points.length < 2) return null;
  return html`<section class="panel" aria-labelledby="groups"><h2 id="groups">Where the groups are</h2><figure><${GroupsPlot} axes=${axes} k=${k.wanted} />
    <div class="key" aria-hidden="true"><span><i class="dot of-dot0"></i>${whole(k.wanted)} records</span><span><i class="dot of-dot1"></i>up to ${whole(2 * k.wanted - 1)}</span><span><i class="dot of-dot2"></i>${whole(2 * k.wanted)} or more</span></div>
    <figcaption>Each dot is the mean of a group on the two directions in which the records differ most, which account for ${percent(axes.shares[0] + axes.shares[1])} of their variation. ${axes.points.length < axes.groups ? `${whole(axes.points.length)} of ${whole(axes.groups)} groups are shown. ` : ""}No group is smaller than k, and no record is shown.</figcaption></figure></section>`;
}

export function ResultScreen() {
  const { jobs, view, results, table, error } = useStore();
  const job = jobs[view.job];
  const assessment = job && assessmentOf(job.id);
  useEffect(() => {
    needResult(view.job);
    if (assessment) needResult(assessment.id);
  }, [view.job, job?.state, assessment?.state]);
  if (!job) return html`<${Title}>Result<//><p class="lead">This run is not there any more.</p><button type="button" class="btn" onClick=${() => go("runs")}>All runs</button>`;
  const result = results[job.id];
  if (result?.private) return html`<${PrivateResult} job=${job} result=${result} error=${error}><${Downloads} job=${job} files=${result.files} /><${Again} again=${result.again} /><//>`;
  if (!result) return html`<${Title}>Result<//><${ErrorNotice} error=${error || job.error} /><p class="lead">${job.state === "done" ? "One moment." : "This run has no result."}</p>`;
  return html`
    <${Title}>Release of ${store.tables[job.table]?.name || table?.name || "the table"}<//><p class="lead">${job.name}</p>
    <${ErrorNotice} error=${error} />
    <${Verdict} verdict=${result.verdict} />
    ${result.warnings.map((warning, i) => html`<${Notice} key=${i} title="Weakens the protection.">${warning}<//>`)}
    <${Cards} result=${result} />
    <${Downloads} job=${job} files=${result.files} />
    <section class="panel" aria-labelledby="before-after"><h2 id="before-after">Before and after</h2>
      <div class="key"><span><i class="of-before"></i>original</span><span><i class="line of-after"></i>published</span></div>
      <div class="multiples">${result.columns.slice(0, SHOWN).map((column) => html`<${Distribution} key=${column.name} column=${column} />`)}</div>
      ${result.columns.length > SHOWN && html`<p class="note gap">The first ${SHOWN} of ${whole(result.columns.length)} are drawn; the report has all.</p>`}</section>
    <${Groups} result=${result} />
    <${Loss} columns=${result.columns} />
    <${Assessment} job=${assessment} run=${job} />
    <${Checks} result=${result} />
    ${result.notes.length > 0 && html`<section class="panel" aria-labelledby="notes"><h2 id="notes">Notes</h2><ul class="gap">${result.notes.map((note, i) => html`<li key=${i}>${note}</li>`)}</ul></section>`}
    <${Again} again=${result.again} />
    <section class="next" aria-label="Next step"><div><p class="wide">Not what you need? Change the plan and run again; this run stays in the list.</p>
      <button type="button" class="btn" onClick=${() => go("runs", job.table)}>Compare runs</button><button type="button" class="btn main" onClick=${() => go("protection", job.table)}>Change the plan</button></div></section>`;
}

// Drawings in SVG: small distributions, before and after, the map of risk and utility. Colours are classes of style.css.

import { html } from "./vendor/htm-preact.js";
import { number, percent, tick, whole } from "./words.js";

/** A small distribution: bars of equal width. `counts` may be those of bins or of categories. */
export function Spark({ counts, label }) {
  if (!counts || !counts.length) return html`<span class="note">no values</span>`;
  const [width, height] = [150, 40];
  const most = Math.max(...counts, 1);
  const step = width / counts.length;
  const gap = Math.min(2, step * 0.2);
  return html`<svg class="spark" viewBox="0 0 ${width} ${height}" role="img" aria-label=${label} preserveAspectRatio="none">
    ${counts.map((count, i) => {
      const tall = count ? Math.max(1.2, (height - 3) * (count / most)) : 0;
      return html`<rect key=${i} class="after-fill" x=${(i * step).toFixed(2)} y=${(height - 1 - tall).toFixed(2)} width=${Math.max(0.4, step - gap).toFixed(2)} height=${tall.toFixed(2)} />`;
    })}
    <path class="rule" d="M0 ${height - 0.5}H${width}" /></svg>`;
}

/** The original as an area, if it is told, and the release as a line over it. */
export function Histogram({ name, kind, edges, before, after }) {
  if (!after.length || !edges.length) return html`<p class="note">Nothing was published.</p>`;
  const [width, height, base, top] = [300, 128, 106, 6];
  const inside = before ? (after.length > 2 ? before.slice(1, -1) : before) : [];
  const most = Math.max(...inside, ...after, 1);
  const step = width / after.length;
  const steps = (counts) =>
    counts.reduce((path, count, i) => `${path}V${(base - (base - top) * Math.min(1, count / most)).toFixed(1)}H${((i + 1) * step).toFixed(1)}`, `M0 ${base}`) + `V${base}`;
  let [low, high] = [edges[0], edges.at(-1)];
  if ((kind === "integer" || kind === "date") && high > low) [low, high] = [low + 0.5, high - 0.5];
  const spread = high - low;
  return html`<svg class="picture" viewBox="0 0 ${width} ${height}" role="img" aria-label="Distribution of ${name} before and after">
    ${before && html`<path class="before-area" d="${steps(before)}z" />`}
    <path class="after-line" d=${steps(after)} /><path class="rule" d="M0 ${base}H${width}" />
    <text x="0" y=${base + 16}>${tick(low, kind, spread)}</text>
    ${spread > 0 && html`<text x=${width / 2} y=${base + 16} class="mid">${tick((low + high) / 2, kind, spread)}</text>
    <text x=${width} y=${base + 16} class="last">${tick(high, kind, spread)}</text>`}</svg>`;
}

/** Categories before and after, or alone, as a table of bars. */
export function Frequencies({ name, labels, before, after, pooled, missing, numbers = false }) {
  const rows = labels.map((label, i) => [label, before?.[i], after[i], ""]);
  if (pooled && (pooled[0] || pooled[1])) rows.push(["all others", before ? pooled[0] : undefined, pooled[1], "quiet"]);
  if (missing && missing[1]) rows.push(["missing", before ? missing[0] : undefined, missing[1], "quiet"]);
  const most = Math.max(1, ...rows.flatMap(([, a, b]) => [a ?? 0, b ?? 0]));
  const wide = (count) => ({ width: `${((100 * (count ?? 0)) / most).toFixed(1)}%` });
  return html`<table class="bars" aria-label="Frequencies of ${name}${before ? " before and after" : ""}"><tbody>
    ${rows.map(([label, a, b, css], i) => html`<tr key=${i} class=${css}><th scope="row" title=${label}>${label}</th>
      <td>${a !== undefined && html`<i class="before" style=${wide(a)}></i>`}<i style=${wide(b)}></i><span class="hide">${a === undefined ? whole(b) : `${whole(a)} before, ${whole(b)} after`}</span></td>
      ${numbers && html`<td class="number">${whole(b)}</td>`}</tr>`)}
  </tbody></table>`;
}

/** Risk against loss. Each point is a button: it becomes the plan. Lower left is better. */
export function RiskMap({ points, chosen, onPick }) {
  const [width, height, left, base, top] = [720, 330, 58, 284, 18];
  const highest = (values, least) => Math.max(least, ...values) * 1.12;
  const [most, worst] = [highest(points.map((p) => p.loss), 0.01), highest(points.map((p) => p.risk), 0.05)];
  const x = (loss) => left + ((width - left - 24) * loss) / most;
  const y = (risk) => base - ((base - top) * risk) / worst;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return html`<svg class="map picture" viewBox="0 0 ${width} ${height}" role="group" aria-label="Risk and loss of ${points.length} plans; lower left is better">
    ${ticks.map((t) => html`<g key=${t} aria-hidden="true"><path class="rule" d="M${left} ${y(t * worst)}H${width - 24}" />
      <text class="last" x=${left - 8} y=${y(t * worst) + 4}>${percent(Number((t * worst).toPrecision(2)))}</text>
      <text class="mid" x=${x(t * most)} y=${base + 18}>${percent(Number((t * most).toPrecision(2)))}</text></g>`)}
    <text class="mid" x=${(left + width) / 2} y=${height - 6} aria-hidden="true">information lost</text>
    <text x=${left - 50} y=${top - 6} aria-hidden="true">risk</text>
    ${points.map((p, i) => html`<g key=${p.id} role="button" tabindex="0" class=${chosen === p.id ? "chosen" : ""}
        aria-label="${p.name}: risk ${percent(p.risk)}, loss ${percent(p.loss)}. Make it the plan"
        onClick=${() => onPick(p)} onKeyDown=${(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), onPick(p))}>
      <title>${p.name}: risk ${percent(p.risk)}, loss ${percent(p.loss)}</title>
      <circle class="ring" cx=${x(p.loss)} cy=${y(p.risk)} r="14" /><circle class="dot ${p.ran ? "ran" : ""}" cx=${x(p.loss)} cy=${y(p.risk)} r="7" />
      <text x=${x(p.loss) + 11} y=${y(p.risk) - 8 + 0 * i} class="strong" aria-hidden="true">${p.short}</text></g>`)}</svg>`;
}

export const figure = (value) => number(value, 3);

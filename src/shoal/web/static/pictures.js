// Drawings in SVG: small distributions, before and after, the map of risk and utility. Colours are classes of style.css.

import { html } from "./vendor/htm-preact.js";
import { percent, tick, whole } from "./words.js";

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

/** Round steps from 0 to at least `most`: 0, 5 %, 10 %, .. */
export function ticksTo(most) {
  const rough = most / 4;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * [1, 2, 2.5, 5, 10].find((factor) => factor * ten >= rough);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => i * step);
}

// Of a label: the width of a letter and the height of a line, about; and how far above or below its point it may stand.
const [LETTER, LINE] = [6.9, 14];
const STEPS = [-7, 17, -21, 31, -35, 45, -49, 59];

/** Places for the labels of points, so that none covers another one or a point, if there is room. */
function placed(points, width, base) {
  const taken = points.map(({ x, y }) => [x - 7, x + 7, y - 7, y + 7]);
  const free = (box, own) => taken.every((other, i) => i === own || box[0] > other[1] || box[1] < other[0] || box[2] > other[3] || box[3] < other[2]);
  return points.map(({ x, y, words }, own) => {
    const wide = LETTER * words.length;
    const sides = x > 0.55 * width ? [-1, 1] : [1, -1];
    const tried = STEPS.flatMap((step) => sides.map((side) => ({ side, at: [x + 9 * side, y + step] })));
    const boxOf = ({ side, at: [left, foot] }) => [side > 0 ? left : left - wide, side > 0 ? left + wide : left, foot - LINE + 3, foot + 2];
    const fits = (box) => box[0] >= 0 && box[1] <= width && box[2] >= LINE && box[3] <= base + 4;
    const found = tried.find((one) => fits(boxOf(one)) && free(boxOf(one), own)) || tried[0];
    taken.push(boxOf(found));
    return found;
  });
}

/** Risk against loss. Each point is a button: it becomes the plan. Lower left is better. */
export function RiskMap({ points, axis, chosen, onPick }) {
  const narrow = matchMedia("(max-width: 640px)").matches;
  const [width, height] = narrow ? [330, 330] : [860, 360];
  const [left, right, base, top] = [46, 40, height - 46, 40];
  const [across, upward] = [ticksTo(Math.max(0.01, ...points.map((p) => p.loss))), ticksTo(Math.max(0.02, ...points.map((p) => p.risk)))];
  const x = (loss) => left + ((width - left - right) * loss) / across.at(-1);
  const y = (risk) => base - ((base - top) * risk) / upward.at(-1);
  const letters = narrow ? 20 : 44;
  const short = (words) => (words.length > letters ? `${words.slice(0, letters - 1)}…` : words);
  const labels = placed(points.map((p) => ({ x: x(p.loss), y: y(p.risk), words: short(p.short) })), width, base);
  return html`<svg class="map picture" viewBox="0 0 ${width} ${height}" role="group" aria-label="Risk and loss of ${points.length} plans; lower left is better">
    <g aria-hidden="true">${upward.map((t) => html`<path key=${t} class="rule" d="M${left} ${y(t)}H${width - right}" /><text class="last" x=${left - 8} y=${y(t) + 4}>${percent(t)}</text>`)}
      ${across.map((t) => html`<path key=${t} class="rule" d="M${x(t)} ${base}v5" /><text class="mid" x=${x(t)} y=${base + 18}>${percent(t)}</text>`)}
      <text class="mid" x=${(left + width - right) / 2} y=${height - 8}>information lost</text><text x="0" y="11">${axis}</text></g>
    ${points.map((p, i) => html`<g key=${p.id} role="button" tabindex="0" class=${chosen === p.id ? "chosen" : ""}
        onClick=${() => onPick(p)} onKeyDown=${(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), onPick(p))}>
      <title>${p.name}: risk ${percent(p.risk)}, loss ${percent(p.loss)}. Make it the plan</title>
      <circle class="ring" cx=${x(p.loss)} cy=${y(p.risk)} r="13" /><circle class="dot ${p.ran ? "ran" : ""}" cx=${x(p.loss)} cy=${y(p.risk)} r="6" />
      <text x=${labels[i].at[0]} y=${labels[i].at[1]} class="strong ${labels[i].side < 0 ? "last" : ""}" aria-hidden="true">${short(p.short)}</text></g>`)}</svg>`;
}

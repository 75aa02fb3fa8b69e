// Plots with many points, drawn by uPlot on a canvas. It is loaded when the first plot is needed.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { number, percent, plural, seconds, whole } from "./words.js";

let loading = null;
// Milliseconds until it is asked for again, if it did not come.
const AGAIN = 2000;

function needed() {
  loading ||= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    Object.assign(style, { rel: "stylesheet", href: new URL("vendor/uplot.css", import.meta.url).href });
    const script = document.createElement("script");
    Object.assign(script, { src: new URL("vendor/uplot.js", import.meta.url).href, onload: () => resolve(window.uPlot), onerror: () => (script.remove(), (loading = null), reject(new Error("uplot.js"))) });
    document.head.append(style, script);
  });
  return loading;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FONT = "11px system-ui, sans-serif";

const axis = (values, extra = {}) => ({
  stroke: colour("--soft"), font: FONT, grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 }, values, ...extra,
});

/** Keep a plot alive: as wide as its place, in the colours of the day or the night. */
function usePlot(options, data, deps) {
  const at = useRef(null);
  const plot = useRef(null);
  // What is drawn once the library has come, or in other colours, is the newest data, and not that of the first moment.
  const newest = useRef(data);
  newest.current = data;
  useEffect(() => {
    let gone = false;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const wide = () => Math.max(240, at.current?.clientWidth || 240);
    const draw = async () => {
      const uPlot = await needed().catch(() => null);
      if (gone || !at.current) return undefined;
      if (!uPlot) return setTimeout(draw, AGAIN);
      plot.current?.destroy();
      plot.current = new uPlot({ width: wide(), ...options(wide()) }, newest.current, at.current);
      return undefined;
    };
    const size = new ResizeObserver(() => plot.current && plot.current.width !== wide() && plot.current.setSize({ width: wide(), height: plot.current.height }));
    draw();
    size.observe(at.current);
    dark.addEventListener("change", draw);
    return () => {
      gone = true;
      size.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, deps);
  return [at, plot];
}

/** The loss of a search over time. */
export function TracePlot({ trace }) {
  const data = [trace.map((one) => one.seconds), trace.map((one) => 100 * one.loss)];
  const [at, plot] = usePlot(
    () => ({
      height: 200,
      cursor: { show: false }, legend: { show: false }, scales: { x: { time: false } },
      series: [{}, { stroke: colour("--after"), width: 2, points: { show: false } }],
      axes: [axis((_, ticks) => ticks.map((t) => seconds(t))), axis((_, ticks) => ticks.map((t) => `${number(t)} %`), { size: 62 })],
    }),
    data,
    [],
  );
  useEffect(() => plot.current?.setData(data), [trace.length]);
  const last = trace.at(-1);
  return html`<div class="plot" role="img" aria-label="Loss over time: from ${percent(trace[0].loss)} to ${percent(last.loss)} after ${seconds(last.seconds)}" ref=${at}></div>`;
}

const sizeClass = (records, k) => (records === k ? 0 : records < 2 * k ? 1 : 2);

/** Zoom by a factor around the middle of what is shown, or move by a share of it. */
function look(u, factor, dx = 0, dy = 0) {
  for (const [name, shift] of [["x", dx], ["y", dy]]) {
    const { min, max } = u.scales[name];
    const [middle, half] = [(min + max) / 2 + shift * (max - min), ((max - min) / 2) * factor];
    u.setScale(name, { min: middle - half, max: middle + half });
  }
}

/** The means of groups on the two principal axes: drag to zoom, double click to go back, or the buttons and arrow keys. */
export function GroupsPlot({ axes, k }) {
  const [tip, setTip] = useState("");
  const points = [...axes.points].sort((a, b) => a[0] - b[0]);
  const series = [0, 1, 2].map((css) => points.map(([, y, records]) => (sizeClass(records, k) === css ? y : null)));
  const nearest = (u) => {
    const { left, top } = u.cursor;
    if (left < 0) return setTip("");
    let [best, found] = [400, null];
    for (const point of points) {
      const [dx, dy] = [u.valToPos(point[0], "x") - left, u.valToPos(point[1], "y") - top];
      if (dx * dx + dy * dy < best) [best, found] = [dx * dx + dy * dy, point];
    }
    return setTip(found ? `A group of ${plural(found[2], "record")}` : "");
  };
  // All groups are shown with room around them; what was zoomed to is shown as it was chosen.
  const ends = (at) => [Math.min(...points.map((point) => point[at])), Math.max(...points.map((point) => point[at]))];
  const [across, upward] = [ends(0), ends(1)];
  const wider = ([low, high]) => [low - 0.06 * (high - low || 1), high + 0.06 * (high - low || 1)];
  const room = (all) => (u, low, high) => (low === all[0] && high === all[1] ? wider(all) : [low, high]);
  const dots = (css) => ({ paths: () => null, stroke: colour(`--dot${css}`), points: { show: true, size: points.length > 800 ? 5 : 7, width: 1, stroke: colour(`--dot${css}`), fill: colour(`--dot${css}`) } });
  const [at, plot] = usePlot(
    (wide) => ({
      height: Math.round(Math.min(470, Math.max(260, wide * 0.5))), legend: { show: false },
      cursor: { drag: { x: true, y: true, uni: 12 }, points: { show: false } },
      scales: { x: { time: false, range: room(across) }, y: { range: room(upward) } },
      series: [{}, dots(0), dots(1), dots(2)],
      axes: [axis((_, ticks) => ticks.map((t) => number(t))), axis((_, ticks) => ticks.map((t) => number(t)), { size: 48 })],
      hooks: { setCursor: [nearest] },
    }),
    [points.map((point) => point[0]), ...series],
    [axes, k],
  );
  const showAll = () => {
    for (const [name, all] of [["x", across], ["y", upward]]) {
      const [min, max] = wider(all);
      plot.current?.setScale(name, { min, max });
    }
  };
  const onKey = (event) => {
    const moves = { "+": [0.7], "=": [0.7], "-": [1.4], ArrowLeft: [1, -0.15], ArrowRight: [1, 0.15], ArrowUp: [1, 0, 0.15], ArrowDown: [1, 0, -0.15] };
    if (event.key === "0") showAll();
    else if (moves[event.key] && plot.current) look(plot.current, ...moves[event.key]);
    else return;
    event.preventDefault();
  };
  const name = `Means of ${whole(points.length)} groups on the first two principal axes. Arrow keys move, plus and minus zoom, 0 shows all`;
  return html`<div class="plot" tabindex="0" role="img" aria-label=${name} ref=${at} onKeyDown=${onKey}></div>
    <div class="row spread no-print"><p class="tip">${tip || "Drag over a part to zoom in."}</p><div class="row">
      <button type="button" class="btn small" aria-label="Zoom in" onClick=${() => plot.current && look(plot.current, 0.7)}>+</button>
      <button type="button" class="btn small" aria-label="Zoom out" onClick=${() => plot.current && look(plot.current, 1.4)}>−</button>
      <button type="button" class="btn small" onClick=${showAll}>Show all</button></div></div>`;
}

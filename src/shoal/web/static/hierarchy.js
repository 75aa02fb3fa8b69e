// Hierarchies: built from prefixes or widths, written down, or loaded; shown as a tree before they are kept.

import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { ErrorNotice, Field, Select } from "./parts.js";
import { changeBy, changeColumns, inTurn } from "./draft.js";
import { store } from "./store.js";
import { plural, whole } from "./words.js";

/** Nodes of a tree come parents first; return the children of each. */
function grown(nodes) {
  const below = nodes.map(() => []);
  nodes.forEach((node, i) => node.parent >= 0 && below[node.parent].push(i));
  return below;
}

function Branch({ nodes, below, at, depth }) {
  const node = nodes[at];
  const label = html`${node.label} <small>${plural(node.records, "record")}</small>`;
  if (!node.children) return html`<li><span>${label}</span></li>`;
  const hidden = node.children - below[at].length;
  return html`<li><details open=${depth < 1}><summary>${label}</summary><ul>
    ${below[at].map((i) => html`<${Branch} key=${i} nodes=${nodes} below=${below} at=${i} depth=${depth + 1} />`)}
    ${hidden > 0 && html`<li><span class="note">${whole(hidden)} more</span></li>`}</ul></details></li>`;
}

function Tree({ tree }) {
  const below = grown(tree.nodes);
  return html`<div class="treebox" tabindex="0" role="group" aria-label="Hierarchy of ${tree.column}">
    <ul class="tree">${tree.nodes.map((node, i) => node.parent < 0 && html`<${Branch} key=${i} nodes=${tree.nodes} below=${below} at=${i} depth=${0} />`)}</ul></div>
    <p class="note">${plural(tree.all, "node")}, ${plural(tree.height, "level")} above the values.${tree.shown < tree.all ? ` The first ${whole(tree.shown)} are shown.` : ""}
      ${tree.uncovered > 0 ? ` ${plural(tree.uncovered, "value")} of the column ${tree.uncovered === 1 ? "is" : "are"} not in it.` : ""}</p>`;
}

const HOW = [["", "none"], ["prefixes", "prefixes of codes"], ["widths", "intervals of numbers"], ["written", "written down as JSON"], ["file", "from a file"]];

function wantedOf(how, text) {
  const numbers = text.split(/[\s,;]+/).filter(Boolean).map(Number);
  if (how === "prefixes") return numbers.length ? { prefixes: numbers } : "prefixes";
  return how === "widths" ? { widths: numbers } : JSON.parse(text);
}

const howOf = (hierarchy) =>
  !hierarchy ? "" : typeof hierarchy === "string" ? (hierarchy.startsWith("prefixes") ? "prefixes" : hierarchy.startsWith("widths") ? "widths" : "file") : hierarchy.prefixes ? "prefixes" : hierarchy.widths ? "widths" : hierarchy.nodes ? "file" : "written";

const textOf = (hierarchy) => (howOf(hierarchy) === "written" ? JSON.stringify(hierarchy) : (hierarchy?.prefixes || hierarchy?.widths || []).join(", "));

export function HierarchyPart({ column }) {
  const inForce = column.settings.hierarchy;
  const [how, setHow] = useState(howOf(inForce));
  const [text, setText] = useState(textOf(inForce));
  const [tree, setTree] = useState(null);
  const [wanted, setWanted] = useState(null);
  const [error, setError] = useState(null);
  const table = store.table.id;
  const asked = useRef(0); // A tree that was asked for earlier may come later: it is not shown any more.
  const grow = async (ask, then = () => {}) => {
    const mine = ++asked.current;
    setWanted(null);
    const tree = await ask;
    if (mine === asked.current) (setTree(tree), then());
  };
  // Before anybody can choose: what is chosen in the first frame would be taken back.
  useLayoutEffect(() => {
    setHow(howOf(inForce));
    setText(textOf(inForce));
    // The server has it once the change is answered; before, there may be another one.
    grow(inForce ? inTurn(() => api.get(`tables/${table}/hierarchy?position=${column.position}`)).catch(() => null) : null);
  }, [JSON.stringify(inForce)]);
  const write = (event) => (setText(event.target.value), grow(tree));
  const show = async () => {
    setError(null);
    try {
      const hierarchy = wantedOf(how, text);
      await grow(api.post(`tables/${table}/hierarchy`, { column: column.name, hierarchy }), () => setWanted(hierarchy));
    } catch (problem) {
      setError(problem instanceof api.Refused ? problem : { message: "The hierarchy must be valid JSON. Got something else.", hint: 'Such as {"North": ["Hamburg", "Bremen"], "South": ["Munich"]}' });
    }
  };
  const pick = (value) => {
    setHow(value);
    setText("");
    grow(value ? tree : null);
    if (!value && inForce) changeColumns([{ column: column.name, hierarchy: null }], `${column.name}: no hierarchy.`);
  };
  const headers = (file) => ({ "X-Shoal-Column": encodeURIComponent(column.name), "X-Shoal-Name": encodeURIComponent(file.name) });
  const load = (file) => file && changeBy(async () => {
    await grow(api.upload(`tables/${table}/hierarchy/upload`, file, headers(file)));
    return api.get(`tables/${table}`);
  }, `${column.name} has a hierarchy.`);
  return html`<div class="whole" data-field="hierarchies"><div class="row">
      <div class="grow"><${Field} label="Hierarchy" note="How values generalise, such as 47677 to 476**"><${Select} value=${how} options=${HOW} onChange=${pick} /><//></div>
      ${how === "prefixes" && html`<div class="grow"><${Field} label="Characters kept, level by level" note="Such as 3, 1. Empty: every length"><input value=${text} onInput=${write} /><//></div>`}
      ${how === "widths" && html`<div class="grow"><${Field} label="Widths, each a multiple of the one before" note="Such as 5, 10, 20"><input value=${text} onInput=${write} /><//></div>`}
      ${how === "file" && html`<div class="grow"><${Field} label="File of the hierarchy" note="CSV with a value and what it generalises to, or JSON"><input type="file" onChange=${(event) => load(event.target.files[0])} /><//></div>`}
    </div>
    ${how === "written" && html`<${Field} label="Hierarchy as JSON" note='A name stands above what it contains: {"North": ["Hamburg", "Bremen"]}'><textarea class="mono" value=${text} spellcheck="false" onInput=${write}></textarea><//>`}
    <${ErrorNotice} error=${error} />
    ${tree && html`<${Tree} tree=${tree} />`}
    ${["prefixes", "widths", "written"].includes(how) && html`<div class="row gap"><button type="button" class="btn small" onClick=${show}>Show the tree</button>
      ${wanted !== null && html`<button type="button" class="btn small main" onClick=${() => changeColumns([{ column: column.name, hierarchy: wanted }], `${column.name} has a hierarchy.`)}>Use it</button>`}</div>`}
  </div>`;
}

// The space of host keys with the part of each agent, as a circle or a trie, and the matrix of who
// heard whom.

import { html, useEffect, useRef, useState } from '/lib/htm.js';
import { agentColour, byName, count, duration, percent } from './format.js';
import { Swatch } from './tables.js';
import { leavesOf, Trie } from './trie.js';

const SIZE = 320;
const OUTER = 150;
const WIDTH = 34;
/** Distance between the circles of agents that disagree. */
const GAP = 4;

/** Runs of equal slices: `[owner, first, length]`. */
function runsOf(slices) {
  const runs = [];
  for (const [i, owner] of slices.entries()) {
    const last = runs.at(-1);
    if (last && last[0] === owner) last[2]++;
    else runs.push([owner, i, 1]);
  }
  return runs;
}

function arcPath(from, length, total, outer, inner) {
  const angle = (slice) => (slice / total) * 2 * Math.PI - Math.PI / 2;
  const at = (radius, slice) => {
    const x = SIZE / 2 + radius * Math.cos(angle(slice));
    const y = SIZE / 2 + radius * Math.sin(angle(slice));
    return `${x.toFixed(2)} ${y.toFixed(2)}`;
  };
  // A full circle has no start and end that SVG could tell apart.
  const to = from + Math.min(length, total - 0.01);
  const large = to - from > total / 2 ? 1 : 0;
  return (
    `M${at(outer, from)}A${outer} ${outer} 0 ${large} 1 ${at(outer, to)}` +
    `L${at(inner, to)}A${inner} ${inner} 0 ${large} 0 ${at(inner, from)}Z`
  );
}

/** All arcs of an agent are one path. */
function pathsOf({ agents, slices }, outer, inner) {
  const paths = agents.map(() => '');
  for (const [owner, from, length] of runsOf(slices)) {
    paths[owner] += arcPath(from, length, slices.length, outer, inner);
  }
  return paths;
}

/** How long it is shown that the part of an agent has passed to others. */
const PASSED_MS = 60_000;

/** The parts of agents that have gone since the last view, and where they went. */
function passing(before, view) {
  const owns = (shares, id) => (shares[id] ?? 0) > 0;
  const gone = before.agents.filter(({ id }) => owns(before.shares, id) && !owns(view.shares, id));
  const gains = Object.entries(view.shares).map(([id, share]) => [id, share - (before.shares[id] ?? 0)]);
  // If nothing else has changed, the gains are its part. Otherwise the slices tell whose it was.
  const isAll = gone.length === 1 && gains.every(([, gain]) => gain > -1e-9);
  return gone.map(({ id }) => {
    const own = before.agents.findIndex((agent) => agent.id === id);
    const slices = before.slices.map((owner) => owner === own);
    const heirs = slices.flatMap((isGone, i) => (isGone && view.agents[view.slices[i]]?.id) || []);
    const share = before.shares[id];
    const counted = Object.entries(Object.groupBy(heirs, (heir) => heir)).map(([heir, of]) => [heir, (share * of.length) / heirs.length]);
    const to = isAll ? gains.filter(([, gain]) => gain > 1e-9) : counted;
    const leaves = leavesOf(before).filter((leaf) => leaf.id === id);
    return { id, share, slices, to: to.sort((a, b) => b[1] - a[1]), leaves };
  });
}

/** What has passed in the last minute; agents that are back are left out. */
function usePassed(views, at) {
  const last = useRef(null);
  const [passed, set] = useState([]);
  const view = views.length === 1 ? views[0] : null;
  useEffect(() => {
    if (!view) return;
    const before = last.current;
    last.current = { view, at };
    // Backwards in time, agents that have not joined yet are none that have gone.
    const found = before && before.at <= at ? passing(before.view, view) : [];
    if (found.length > 0 || before?.at > at) set(found);
  }, [view]);
  useEffect(() => {
    if (passed.length === 0) return;
    const timer = setTimeout(() => set([]), PASSED_MS);
    return () => clearTimeout(timer);
  }, [passed]);
  return passed.filter(({ id }) => !(view?.shares[id] > 0));
}

function passedText({ id, share, to }) {
  const heirs = to.slice(0, 4).map(([heir, part]) => `${heir} (${percent(part)})`);
  const rest = to.slice(4).reduce((sum, [, part]) => sum + part, 0);
  const others = rest > 0 ? ` and ${to.length - 4} more (${percent(rest)})` : '';
  return `The ${percent(share)} of ${id} passed to ${heirs.join(', ')}${others}.`;
}

/** The space of host keys at a time: a circle, or a trie where the overlay is kademlia. */
export function Circle({ circle, at = 0, colours, middle }) {
  const [chosen, choose] = useState(null);
  const views = circle?.views ?? [];
  const passed = usePassed(views, at);
  if (views.length === 0) return html`<p class="quiet">No agent has joined yet.</p>`;
  const isTrie = views[0].trie?.length > 0;
  const common = { passed, colours, chosen, choose };
  return html`
    <div class=${isTrie ? 'circle below' : 'circle'}>
      ${isTrie ? html`<${Trie} view=${views[0]} ...${common} />` : html`<${Ring} views=${views} middle=${middle} ...${common} />`}
      <${Legend} shares=${views[0].shares} ...${common} />
    </div>
    <div role="status">${passed.map((one) => html`<p key=${one.id} class="note warn"><${Swatch} colour=${colours(one.id)} /> ${passedText(one)}</p>`)}</div>
    ${
      views.length > 1 &&
      html`<div class="note warn">
        Agents disagree about the members, from outside inwards:
        <ul>
          ${views.map((view) => html`<li>${view.seenBy.join(', ')}: ${view.agents.map(({ id }) => id).join(', ')}</li>`)}
        </ul>
      </div>`
    }
    ${isTrie && html`<p class="quiet">Each leaf is an identifier: its depth is the bits that tell it from the others, and its width the part of the keys that are nearest to it.</p>`}
  `;
}

function Ring({ views, middle, passed, colours, chosen, choose }) {
  const width = views.length === 1 ? WIDTH : Math.max(6, (WIDTH * 1.8) / views.length - GAP);
  const { shares } = views[0];
  const what = Object.keys(shares).sort(byName).map((id) => `${id} ${percent(shares[id])}`).join(', ');
  const inner = OUTER - WIDTH - 3;
  return html`<svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label="Shares of the hosts: ${what}">
    ${views.map((view, i) => {
      const outer = OUTER - i * (width + GAP);
      return pathsOf(view, outer, outer - width).map((path, agent) => {
        const { id } = view.agents[agent];
        const isFaint = chosen !== null && chosen !== id;
        return html`<path
          key=${`${i} ${id}`}
          d=${path}
          fill=${colours(id)}
          class=${isFaint ? 'faint' : ''}
          onMouseEnter=${() => choose(id)}
          onMouseLeave=${() => choose(null)}
        ><title>${id}: ${percent(view.shares[id])}</title></path>`;
      });
    })}
    ${views.length === 1 && passed.map(({ id, slices }) => {
      const own = pathsOf({ agents: [0, 1], slices: slices.map(Number) }, inner, inner - 6)[1];
      return html`<path key=${`passed ${id}`} d=${own} fill=${colours(id)}><title>until now of ${id}</title></path>`;
    })}
    <text class="middle" x="50%" y="51%">${middle.value}</text>
    <text class="under" x="50%" y="59%">${middle.label}</text>
  </svg>`;
}

/** By keyboard and mouse, an agent is shown and the others become faint. */
function Legend({ shares, colours, chosen, choose }) {
  const names = Object.keys(shares).sort(byName);
  return html`<ul class=${names.length > 16 ? 'legend many' : 'legend'} aria-label="Shares of the agents">
    ${names.map(
      (id) => html`<li key=${id} class=${chosen !== null && chosen !== id ? 'faint' : ''}>
        <button type="button" class="plain" onFocus=${() => choose(id)} onBlur=${() => choose(null)} onMouseEnter=${() => choose(id)} onMouseLeave=${() => choose(null)}>
          <${Swatch} colour=${colours(id)} /><span>${id}</span><span class="number">${percent(shares[id])}</span>
        </button>
      </li>`,
    )}
  </ul>`;
}

/** Of more agents, no table is drawn: its columns would be narrower than their names. */
const TABLE_MAX = 16;
const GRADES = ['good', 'fair', 'late', 'lost', 'none'];

/** How recent some news is. */
function gradeOf(silentMs, suspectAfterMs) {
  if (silentMs === undefined) return 'none';
  const part = silentMs / suspectAfterMs;
  return part < 0.25 ? 'good' : part < 0.5 ? 'fair' : part < 1 ? 'late' : 'lost';
}

const heardText = (silentMs) => (silentMs === undefined ? 'not a member' : `${duration(silentMs)} ago`);

export function Matrix({ agents, suspectAfterMs, overlay }) {
  const heard = new Map(agents.map(({ id, members }) => [id, new Map(members.map((one) => [one.id, one.silentMs]))]));
  // Agents that do not answer are members until they are removed.
  const ids = [...new Set([...heard].flatMap(([id, members]) => [id, ...members.keys()]))].sort(byName);
  for (const id of ids) if (!heard.has(id)) heard.set(id, new Map());
  const Form = ids.length > TABLE_MAX ? MatrixMap : MatrixTable;
  return html`
    <${Form} ids=${ids} heard=${heard} suspectAfterMs=${suspectAfterMs} />
    <p class="quiet">When the row's agent last heard the column's agent: green is recent, and red is ${duration(suspectAfterMs)}, after which it is removed.${overlay === 'kademlia' ? ' Agents know only some others; grey ones are not known.' : ''}</p>
  `;
}

function MatrixTable({ ids, heard, suspectAfterMs }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Who heard whom">
    <table class="matrix">
      <caption class="hidden">When the row's agent last heard the column's agent</caption>
      <thead>
        <tr><td></td>${ids.map((id) => html`<th key=${id} scope="col">${id}</th>`)}</tr>
      </thead>
      <tbody>
        ${ids.map(
          (row) => html`<tr key=${row}>
            <th scope="row">${row}</th>
            ${ids.map((column) => {
              if (row === column) return html`<td key=${column} class="self"></td>`;
              const silentMs = heard.get(row).get(column);
              return html`<td key=${column} class=${`cell ${gradeOf(silentMs, suspectAfterMs)}`} title=${`${row} heard ${column} ${heardText(silentMs)}`}>
                <span class="hidden">${heardText(silentMs)}</span>
              </td>`;
            })}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Each grade is one path of many cells. The pairs with the oldest news are written out. */
function MatrixMap({ ids, heard, suspectAfterMs }) {
  const [pointed, point] = useState(null);
  const paths = Object.fromEntries(GRADES.map((grade) => [grade, '']));
  const counts = Object.fromEntries(GRADES.map((grade) => [grade, 0]));
  const pairs = [];
  for (const [y, row] of ids.entries()) {
    for (const [x, column] of ids.entries()) {
      if (row === column) continue;
      const silentMs = heard.get(row).get(column);
      const grade = gradeOf(silentMs, suspectAfterMs);
      paths[grade] += `M${x} ${y}h.88v.88h-.88z`;
      counts[grade]++;
      if (silentMs !== undefined) pairs.push({ row, column, silentMs });
    }
  }
  const n = ids.length;
  const margin = 0.075 * n;
  const oldest = pairs.sort((a, b) => b.silentMs - a.silentMs).slice(0, 5);
  const text = ({ row, column }) => `${row} heard ${column} ${heardText(heard.get(row)?.get(column))}`;
  const move = (event) => {
    const { left, top, width } = event.currentTarget.getBoundingClientRect();
    const at = (pixels) => ids[Math.floor((pixels / width) * (n + margin) - margin)];
    const [column, row] = [at(event.clientX - left), at(event.clientY - top)];
    point(row && column && row !== column ? { row, column } : null);
  };
  const known = counts.good + counts.fair + counts.late + counts.lost;
  const label = `Who heard whom, of ${n} agents: ${count(counts.good)} of ${count(known)} pairs recently, ${count(counts.late + counts.lost)} late`;
  const named = ids.map((id, i) => [id, i]).filter(([, i]) => i % Math.ceil(n / 9) === 0);
  return html`<div class="map">
    <svg viewBox=${`${-margin} ${-margin} ${n + margin} ${n + margin}`} role="img" aria-label=${label} onMouseMove=${move} onMouseLeave=${() => point(null)}>
      ${GRADES.map((grade) => html`<path key=${grade} class=${grade} d=${paths[grade]} />`)}
      ${named.map(([id, i]) => html`<g key=${id}><text x=${i + 0.5} y=${-0.02 * n} font-size=${0.032 * n}>${id}</text><text x=${-0.01 * n} y=${i + 0.5 + 0.012 * n} font-size=${0.032 * n} class="row">${id}</text></g>`)}
    </svg>
    <div>
      <p>${pointed ? text(pointed) : html`<span class="quiet">Point at a cell to read it.</span>`}</p>
      <h3>Oldest news</h3>
      <ol>${oldest.map((pair) => html`<li key=${text(pair)}><span class=${`dot ${gradeOf(pair.silentMs, suspectAfterMs)}`}></span>${text(pair)}</li>`)}</ol>
    </div>
  </div>`;
}

/** Keeps the colour of each agent, whatever the others do. */
export function colouring() {
  const known = new Map();
  return (id) => {
    if (!known.has(id)) known.set(id, agentColour(known.size));
    return known.get(id);
  };
}

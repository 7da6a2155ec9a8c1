// The circle of hosts with the arcs of each agent, and the matrix of who heard whom.

import { html, useState } from '/lib/htm.js';
import { agentColour, byName, duration, percent } from './format.js';

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

export function Circle({ circle, colours, middle }) {
  const [chosen, choose] = useState(null);
  const views = circle?.views ?? [];
  if (views.length === 0) return html`<p class="quiet">No agent has joined yet.</p>`;
  const width = views.length === 1 ? WIDTH : Math.max(6, (WIDTH * 1.8) / views.length - GAP);
  const shares = views[0].shares;
  const names = Object.keys(shares).sort(byName);
  const what = names.map((id) => `${id} ${percent(shares[id])}`).join(', ');
  return html`
    <div class="circle">
      <svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label="Shares of the hosts: ${what}">
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
        <text class="middle" x="50%" y="47%">${middle.value}</text>
        <text class="under" x="50%" y="57%">${middle.label}</text>
      </svg>
      <ul class="legend">
        ${names.slice(0, 24).map(
          (id) => html`<li key=${id} class=${chosen !== null && chosen !== id ? 'faint' : ''}>
            <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="3" fill=${colours(id)} /></svg>
            <span>${id}</span><span class="number">${percent(shares[id])}</span>
          </li>`,
        )}
        ${names.length > 24 && html`<li class="quiet">and ${names.length - 24} more</li>`}
      </ul>
    </div>
    ${
      views.length > 1 &&
      html`<div class="note warn">
        Agents disagree about the members, from outside inwards:
        <ul>
          ${views.map((view) => html`<li>${view.seenBy.join(', ')}: ${view.agents.map(({ id }) => id).join(', ')}</li>`)}
        </ul>
      </div>`
    }
    ${
      circle.overlay === 'kademlia' &&
      html`<p class="quiet">The identifiers in the order of the trie; each has the part of the keys that are nearest to it.</p>`
    }
  `;
}

export function Matrix({ agents, suspectAfterMs }) {
  const ids = agents.map(({ id }) => id).sort(byName);
  const named = new Map(agents.map((agent) => [agent.id, agent]));
  const level = (silentMs) => {
    if (silentMs === undefined) return ['none', 'not a member'];
    const part = silentMs / suspectAfterMs;
    const grade = part < 0.25 ? 'good' : part < 0.5 ? 'fair' : part < 1 ? 'late' : 'lost';
    return [grade, `${duration(silentMs)} ago`];
  };
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Who heard whom">
      <table class="matrix">
        <caption class="hidden">When the row's agent last heard the column's agent</caption>
        <thead>
          <tr><td></td>${ids.map((id) => html`<th key=${id} scope="col">${id}</th>`)}</tr>
        </thead>
        <tbody>
          ${ids.map((row) => {
            const members = new Map(named.get(row).members.map((one) => [one.id, one]));
            return html`<tr key=${row}>
              <th scope="row">${row}</th>
              ${ids.map((column) => {
                if (row === column) return html`<td key=${column} class="self"></td>`;
                const [grade, text] = level(members.get(column)?.silentMs);
                return html`<td key=${column} class=${`cell ${grade}`} title=${`${row} heard ${column} ${text}`}>
                  <span class="hidden">${text}</span>
                </td>`;
              })}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <p class="quiet">When the row's agent last heard the column's agent: green is recent, and red is ${duration(suspectAfterMs)}, after which it is removed.</p>
  `;
}

/** Keeps the colour of each agent, whatever the others do. */
export function colouring() {
  const known = new Map();
  return (id) => {
    if (!known.has(id)) known.set(id, agentColour(known.size));
    return known.get(id);
  };
}

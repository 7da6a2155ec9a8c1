// The trie of the identifiers of Kademlia: each fork halves the keys, and each leaf is an identifier
// in the colour of its agent. The depth is in bits, and the width is the share of the keys.

import { html, useEffect, useRef, useState } from '/lib/htm.js';
import { percent } from './format.js';

/** A narrower part shows only the colours of its owners. */
const FORK_PX = 10;
const TREE_PX = 190;
const ROW_PX_MAX = 24;
/** Below the deepest leaf. */
const STRIP_PX = 46;
const TOP = 10;
const LEFT = 24;
const CHARACTER_PX = 7;

/** The nodes with their places: from 0 to 1, and bits. */
function rootOf(trie) {
  let next = 0;
  const within = (from, to, depth) => {
    const value = trie[next++];
    if (value === null) return { from, to, depth, isDeeper: true };
    if (value < 0) return { from, to, depth, owner: -1 - value };
    const middle = (from + to) / 2;
    const sides = [within(from, middle, value + 1), within(middle, to, value + 1)];
    return { from, to, depth, fork: value, sides };
  };
  return within(0, 1, 0);
}

/** Calls `visit` for each node that is wide enough, and for the parts below it as a whole. */
function walk(node, width, visit, above = 0) {
  const isWide = (node.to - node.from) * width >= FORK_PX;
  visit(node, node.owner !== undefined ? 'leaf' : node.isDeeper || !isWide ? 'part' : 'fork', above);
  if (isWide) for (const side of node.sides ?? []) walk(side, width, visit, node.fork);
}

export function leavesOf({ trie = [], agents }) {
  const leaves = [];
  if (trie.length > 0) {
    walk(rootOf(trie), Infinity, (node, kind) => {
      if (kind === 'leaf') leaves.push({ ...node, id: agents[node.owner].id });
    });
  }
  return leaves;
}

function useWidth(box) {
  const [width, set] = useState(560);
  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => set(Math.floor(contentRect.width)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Lines, and the area of each agent, in pixels. */
function drawing({ trie, slices, agents }, width) {
  const root = rootOf(trie);
  let deepest = 0;
  walk(root, width, ({ depth }, kind) => {
    if (kind !== 'fork') deepest = Math.max(deepest, depth);
  });
  const row = Math.min(ROW_PX_MAX, TREE_PX / Math.max(deepest, 1));
  const y = (bits) => TOP + bits * row;
  const x = (place) => LEFT + place * width;
  const height = y(deepest) + STRIP_PX;
  let lines = '';
  const areas = agents.map(() => '');
  const labels = [];
  const column = (from, to, top) => {
    const gap = to - from > 5 / width ? 1 : 0;
    return `M${(x(from) + gap / 2).toFixed(1)} ${top.toFixed(1)}H${(x(to) - gap / 2).toFixed(1)}V${height}H${(x(from) + gap / 2).toFixed(1)}Z`;
  };
  walk(root, width, (node, kind, above) => {
    const middle = x((node.from + node.to) / 2).toFixed(1);
    const top = y(kind === 'fork' ? node.fork : node.depth);
    lines += `M${middle} ${y(above).toFixed(1)}V${top.toFixed(1)}`;
    if (kind === 'fork') {
      const [left, right] = node.sides.map(({ from, to }) => x((from + to) / 2).toFixed(1));
      lines += `M${left} ${top.toFixed(1)}H${right}`;
    } else if (kind === 'leaf') {
      const { id } = agents[node.owner];
      areas[node.owner] += column(node.from, node.to, top);
      const isRoom = (node.to - node.from) * width > id.length * CHARACTER_PX + 4;
      if (isRoom) labels.push({ id, x: middle, y: height - 8 });
    } else {
      const n = slices.length;
      const [first, last] = [Math.floor(node.from * n), Math.max(Math.ceil(node.to * n), 1)];
      for (let i = first; i < last; ) {
        let end = i + 1;
        while (end < last && slices[end] === slices[i]) end++;
        areas[slices[i]] += column(Math.max(i / n, node.from), Math.min(end / n, node.to), top);
        i = end;
      }
    }
  });
  const ghost = ({ from, to, depth }) => column(from, to, Math.min(y(depth), height - STRIP_PX));
  return { lines, areas, labels, height, y, deepest, ghost };
}

/** @param {{ passed: { leaves: object[], id: string }[] }} props - leaves that others own now */
export function Trie({ view, passed, colours, chosen, choose }) {
  const box = useRef(null);
  const outer = useWidth(box);
  const width = Math.max(outer - LEFT, 100);
  const { lines, areas, labels, height, y, deepest, ghost } = drawing(view, width);
  const leaves = view.trie.includes(null) ? null : leavesOf(view);
  const names = Object.entries(view.shares).map(([id, share]) => {
    const own = leaves?.filter((leaf) => leaf.id === id).length;
    return `${id} ${own === undefined ? '' : `${own} identifiers, `}${percent(share)}`;
  });
  const marks = Array.from({ length: Math.floor(deepest / 4) + 1 }, (_, i) => 4 * i);
  return html`<div class="trie" ref=${box}>
    <svg width=${outer} height=${height} viewBox="0 0 ${outer} ${height}" role="img" aria-label="Trie of the identifiers, with the shares of the hosts: ${names.join('; ')}">
      <defs>
        <pattern id="passed" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="3" height="7" class="passed" /></pattern>
      </defs>
      ${marks.map((bits) => html`<g key=${bits} class="mark"><path d="M${LEFT - 4} ${y(bits)}H${outer}" /><text x=${LEFT - 8} y=${y(bits) + 4}>${bits}</text></g>`)}
      ${areas.map((path, i) => {
        const { id } = view.agents[i];
        const isFaint = chosen !== null && chosen !== id;
        return html`<path key=${id} d=${path} fill=${colours(id)} class=${`leaf ${isFaint ? 'faint' : ''}`} onMouseEnter=${() => choose(id)} onMouseLeave=${() => choose(null)}><title>${id}: ${percent(view.shares[id])}</title></path>`;
      })}
      <path d=${lines} class="forks" />
      ${passed.map(({ id, leaves: gone }) => html`<g key=${id}><path d=${gone.map(ghost).join('')} fill="url(#passed)" stroke=${colours(id)} class="ghost"><title>until now of ${id}</title></path></g>`)}
      ${labels.map((label) => html`<text key=${label.x} x=${label.x} y=${label.y} class="name">${label.id}</text>`)}
    </svg>
  </div>`;
}

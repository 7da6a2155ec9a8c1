// Divides the processor time of an agent's main thread among its parts. V8's profiler samples the
// thread. A sample counts for the nearest calling function of the agent, so the time within SQLite,
// zlib or got belongs to the part that uses it. Samples are counted rather than timed: a thread that
// waits for a processor gets no samples, however long it waits.

import { Session } from 'node:inspector';
import path from 'node:path';

export type Part =
  | 'statements'
  | 'commits'
  | 'syncs'
  | 'frames'
  | 'messages'
  | 'protocol'
  | 'fetching'
  | 'other'
  | 'collection'
  | 'node';

/** Number of samples by part; parts without samples are absent. */
export type Samples = Readonly<Partial<Record<Part, number>>>;

/** What is used of a function in the profile and of its calls. */
export interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly hitCount?: number | undefined;
  readonly children?: readonly number[] | undefined;
}

const agentFolder = path.resolve(import.meta.dirname, '../agent');
const store = 'storage/sqlite-store.ts';

/** Samples from now on, until the returned function is called. */
export function startProfile(): () => Samples {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  return () => {
    let samples: Samples = {};
    // Within a thread the answer comes before `post` returns.
    session.post('Profiler.stop', (error, answer) => {
      if (error) throw error;
      samples = samplesByPart(answer.profile.nodes);
    });
    return samples;
  };
}

/** @param nodes - the first is the root */
export function samplesByPart(nodes: readonly ProfileNode[]): Samples {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const samples: Partial<Record<Part, number>> = {};
  const walk: { node: ProfileNode; caller: ProfileNode | null; outer: Part }[] = [];
  if (nodes[0]) walk.push({ node: nodes[0], caller: null, outer: 'node' });
  for (let next = walk.pop(); next; next = walk.pop()) {
    const { node, caller, outer } = next;
    const part = partOf(node, caller, outer);
    if (node.hitCount && part !== 'idle') samples[part] = (samples[part] ?? 0) + node.hitCount;
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child) walk.push({ node: child, caller: node, outer: part === 'idle' ? outer : part });
    }
  }
  return samples;
}

function partOf(node: ProfileNode, caller: ProfileNode | null, outer: Part): Part | 'idle' {
  const { functionName, url } = node.callFrame;
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(garbage collector)') return 'collection';
  const own = agentFile(url);
  if (own !== null) return partOfFile(own, functionName);
  if (functionName === 'exec' && caller && isCommit(caller)) return 'commits';
  if (outer === 'node' && url.includes('/node_modules/')) {
    return url.includes('/zeromq/') ? 'messages' : 'fetching';
  }
  return outer;
}

/** The file's path within `agent/`, or null. */
function agentFile(url: string): string | null {
  const prefix = `file://${agentFolder}/`;
  return url.startsWith(prefix) ? url.slice(prefix.length) : null;
}

function isCommit({ callFrame }: ProfileNode): boolean {
  return callFrame.functionName === 'commit' && agentFile(callFrame.url) === store;
}

function partOfFile(file: string, functionName: string): Part {
  if (file === store && functionName === '#sync') return 'syncs';
  if (/^messaging\/(codec|validate|shape)\./.test(file)) return 'frames';
  const folder = file.split('/')[0];
  if (folder === 'storage') return 'statements';
  if (folder === 'messaging') return 'messages';
  if (folder === 'core') return 'protocol';
  return folder === 'fetch' ? 'fetching' : 'other';
}

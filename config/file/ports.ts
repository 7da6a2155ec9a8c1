// Where the agents of a config with `agents: N` listen: ports of 127.0.0.1, kept in
// `DATA/cluster.json`, which every command reads. `launch` and `agent` allocate them; all others only
// look. An agent also records the endpoint that it listens at in its own directory. That record wins
// over the file, so that a lost or rewritten `cluster.json` cannot split a running cluster in two.
//
// Two processes may allocate at once, so the file is made by a hard link, which one of them wins. A
// port once given to an agent is kept, unless another program has taken it while no agent of the crawl
// runs: then a launch gives it another. If N grows, the file is replaced by a longer one; the
// successor of a file of n agents is settled the same way, by a link named after n, so that all
// agree on it without a lock that a crash would leave behind.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import { type AgentEntry, type Config, membersOf } from '../config.ts';
import { agentsMax } from '../keys/schema.ts';
import { parseEndpoint } from '../values/agent-endpoint.ts';
import { readText } from './read-text.ts';

/** Stable codes; in every case nothing was changed. */
export type PortsProblemCode =
  /** No agent has a port yet: launch first. */
  | 'cluster-not-launched'
  /** Ports are missing and must not be allocated, because agents run whose ports are not known. */
  | 'cluster-running'
  /** `DATA/cluster.json` is not what this product writes. */
  | 'cluster-file-corrupt'
  /** The data directory cannot be read or written. */
  | 'data-dir-unusable'
  /** There is no space to write in it. */
  | 'data-dir-full';

export type ResolvedAgents =
  | {
      readonly ok: true;
      readonly agents: readonly AgentEntry[];
      /** Agents of the config that have no port, because they were never started; none if allocated. */
      readonly unplaced: readonly string[];
    }
  | { readonly ok: false; readonly code: PortsProblemCode; readonly message: string };

/** In `DATA/ID`: the endpoint at which the agent listens, or listened last. */
export const ENDPOINT_FILE = 'agent.endpoint';

/**
 * Below the ports that systems give to outgoing connections (32768 on Linux, 49152 elsewhere): a
 * crawler opens thousands of those, and one must not sit on the port of an agent that restarts.
 */
const portFirst = 20_000;
const portCount = 12_000;
/** Ports tried for an agent before the system is asked for any. */
const triesMax = 50;
/** Each round loses to another process that made progress, so few are ever needed. */
const roundsMax = 20;
/** A thousand entries of sixty bytes, and some. */
const fileBytesMax = 256 * 1024;
const endpointBytesMax = 1024;

const clusterFile = z.strictObject({
  agents: z
    .array(z.strictObject({ id: z.string(), port: z.int().min(1).max(65_535) }))
    .min(1)
    .max(agentsMax),
});
type Placement = z.output<typeof clusterFile>['agents'];

/**
 * The agents of a config with their endpoints: those of the file as they are, or for a number N those
 * of `DATA/ID/agent.endpoint` and `DATA/cluster.json`.
 *
 * @param options.allocate - whether missing ports may be looked for and written
 * @param options.isRunning - whether an agent runs in a directory `DATA/ID`
 * @param options.moving - agents that get another port than the one they had; none where an agent of
 *   the crawl runs, since it would look for them at the old one
 */
export async function resolveAgents(
  config: Config,
  options: {
    readonly allocate: boolean;
    readonly isRunning?: (directory: string) => boolean;
    readonly moving?: readonly string[] | undefined;
  },
): Promise<ResolvedAgents> {
  const { agents } = config.cluster;
  const { dataDir } = config.agent;
  if (typeof agents !== 'number') {
    const entries = options.allocate
      ? agents
      : agents.map((entry) => asRunning(dataDir, entry, options));
    return { ok: true, agents: entries, unplaced: [] };
  }
  const file = path.join(dataDir, 'cluster.json');
  const ids = membersOf(config).map(({ id }) => id);
  const { allocate, moving = [] } = options;
  if (allocate && moving.length > 0) {
    try {
      await move(config, file, moving);
    } catch (error) {
      return unusable(dataDir, error);
    }
  }
  for (let round = 0; round < roundsMax; round++) {
    const read = readPlacement(file);
    // Without a sound file, commands reach the agents at the endpoints that these have recorded.
    if (!read.ok && (options.allocate || read.code !== 'cluster-file-corrupt')) return read;
    const placement = read.ok ? read.placement : [];
    const known = withRecorded(dataDir, ids, placement);
    if (!read.ok && known.length === 0) return read;
    const unplaced = ids.filter((id) => !known.some((agent) => agent.id === id));
    const isWhole = placement.length >= agents;
    if (unplaced.length === 0 && (isWhole || !options.allocate)) {
      return { ok: true, agents: entriesOf(known.slice(0, agents)), unplaced };
    }
    if (!options.allocate) {
      if (known.length === 0) return notLaunched(file);
      return { ok: true, agents: entriesOf(known), unplaced };
    }
    const running = unplaced.filter((id) => options.isRunning?.(path.join(dataDir, id)) ?? false);
    if (running.length > 0) return unknownPorts(file, running);
    try {
      fs.mkdirSync(dataDir, { recursive: true });
      extend(file, placement, await place(config, placement, known));
    } catch (error) {
      return unusable(dataDir, error);
    }
  }
  return unusable(dataDir, `${file} keeps changing`);
}

/** The entry with the address at which its agent really listens, if it runs here. */
function asRunning(
  dataDir: string,
  entry: AgentEntry,
  { isRunning }: { readonly isRunning?: (directory: string) => boolean },
): AgentEntry {
  const directory = path.join(dataDir, entry.id);
  const address = recordedEndpoint(directory);
  const isElsewhere = address !== null && address !== entry.address;
  return isElsewhere && isRunning?.(directory) ? { ...entry, address } : entry;
}

/** The agents `ids` that have a port: by their own record, else by `cluster.json`. */
function withRecorded(dataDir: string, ids: readonly string[], placement: Placement): Placement {
  return ids.flatMap((id) => {
    const port = recordedPort(path.join(dataDir, id));
    const placed = placement.find((agent) => agent.id === id);
    if (port !== null) return [{ id, port }];
    return placed ? [placed] : [];
  });
}

/** Null where the agent has never run, or the record is not of this product. */
export function recordedEndpoint(directory: string): string | null {
  const read = readText(path.join(directory, ENDPOINT_FILE), endpointBytesMax);
  const text = read.ok ? read.text.trim() : '';
  return parseEndpoint(text) === null ? null : text;
}

function recordedPort(directory: string): number | null {
  const endpoint = parseEndpoint(recordedEndpoint(directory) ?? '');
  return endpoint?.host === '127.0.0.1' ? endpoint.port : null;
}

function unknownPorts(file: string, running: readonly string[]): ResolvedAgents {
  const message =
    `${file} is missing or names no port for ${running.join(', ')}, which runs or is just ` +
    'starting; no ports are allocated meanwhile, because the cluster would be split in two: ' +
    'stop that agent (SIGTERM to the process in its agent.pid) and launch again';
  return { ok: false, code: 'cluster-running', message };
}

function entriesOf(placement: Placement): readonly AgentEntry[] {
  return placement.map(({ id, port }) => {
    const listen = `tcp://127.0.0.1:${port}`;
    return { id, listen, address: listen, capacity: 1 };
  });
}

function notLaunched(file: string): ResolvedAgents {
  const message = `${file} does not exist: the agents have no ports yet`;
  return { ok: false, code: 'cluster-not-launched', message };
}

function unusable(dataDir: string, error: unknown): ResolvedAgents {
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const message = `disk full: cannot write in ${dataDir}: ${why}; free some space there`;
    return { ok: false, code: 'data-dir-full', message };
  }
  const message = `the data directory ${dataDir} cannot be used: ${why}`;
  return { ok: false, code: 'data-dir-unusable', message };
}

type Read =
  | { readonly ok: true; readonly placement: Placement }
  | (ResolvedAgents & { readonly ok: false });

/** @returns the agents placed so far; none where there is no file yet. */
function readPlacement(file: string): Read {
  // `throwIfNoEntry` hides a missing file only; a directory that may not be entered still throws.
  try {
    if (fs.statSync(file, { throwIfNoEntry: false }) === undefined) {
      return { ok: true, placement: [] };
    }
  } catch (error) {
    return unusable(path.dirname(file), error) as Read;
  }
  const read = readText(file, fileBytesMax);
  const placement = read.ok ? parsePlacement(read.text) : null;
  if (placement !== null) return { ok: true, placement };
  const why = read.ok ? 'is not a list of agents a1, a2, … with a port each' : read.message;
  const message = `${file} ${why}; stop the agents, remove it, and launch again`;
  return { ok: false, code: 'cluster-file-corrupt', message };
}

function parsePlacement(text: string): Placement | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = clusterFile.safeParse(json);
  if (!parsed.success) return null;
  const { agents } = parsed.data;
  const ports = new Set(agents.map((agent) => agent.port));
  const inOrder = agents.every((agent, k) => agent.id === `a${k + 1}`);
  return inOrder && ports.size === agents.length ? agents : null;
}

/** Gives the agents other ports, in the file, and forgets those that they have recorded. */
async function move(config: Config, file: string, moving: readonly string[]): Promise<void> {
  const { dataDir } = config.agent;
  const read = readPlacement(file);
  const placement = read.ok ? read.placement : [];
  const ids = membersOf(config).map(({ id }) => id);
  const known = withRecorded(dataDir, ids, placement);
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeDurably(temporary, await place(config, placement, known, moving));
    fs.renameSync(temporary, file);
  } finally {
    fs.rmSync(temporary, { force: true });
  }
  for (const id of moving) fs.rmSync(path.join(dataDir, id, ENDPOINT_FILE), { force: true });
}

/**
 * Finds ports for the agents that have none, in the file or by their own record (`known`), and for
 * those that are to have another (`moving`). All are held open until the last is found.
 */
async function place(
  config: Config,
  placed: Placement,
  known: Placement,
  moving: readonly string[] = [],
): Promise<Placement> {
  const held: net.Server[] = [];
  try {
    const taken = new Set([...placed, ...known].map(({ port }) => port));
    const kept = placed.filter(({ id }) => !moving.includes(id));
    const found: Placement = [];
    const ids = [...placed, ...membersOf(config).slice(placed.length)].map(({ id }) => id);
    for (const id of ids) {
      const recorded = known.find((agent) => agent.id === id && !moving.includes(id));
      const used = [...kept, ...found].filter((agent) => agent.id !== id);
      const before = kept.find((agent) => agent.id === id) ?? recorded;
      if (before && !used.some(({ port }) => port === before.port)) {
        found.push(before);
        continue;
      }
      const port = await holdPort(`${config.agent.dataDir} ${id}`, taken, held);
      taken.add(port);
      found.push({ id, port });
    }
    return found;
  } finally {
    await Promise.all(held.map((server) => new Promise((done) => server.close(done))));
  }
}

/**
 * The sequence of candidates follows from the data directory, so that two clusters that start at the
 * same time do not look at the same ports.
 */
async function holdPort(name: string, taken: ReadonlySet<number>, held: net.Server[]) {
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const digest = createHash('sha256').update(`${name} ${attempt}`).digest();
    const port = portFirst + (digest.readUInt32BE(0) % portCount);
    if (taken.has(port)) continue;
    const got = await listen(port, held).catch(() => null);
    if (got !== null) return got;
  }
  return listen(0, held);
}

/** @returns the port bound, which stays bound until its server in `held` is closed. */
function listen(port: number, held: net.Server[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      held.push(server);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * Makes `after` the successor of `before`, unless another process was first; in either case the file
 * then holds the successor that won.
 */
function extend(file: string, before: Placement, after: Placement): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeDurably(temporary, after);
    if (before.length === 0) {
      linkUnlessThere(temporary, file);
      return;
    }
    const successor = `${file}.after-${before.length}`;
    linkUnlessThere(temporary, successor);
    const winner = readPlacement(successor);
    if (!winner.ok || !continues(before, winner.placement)) {
      // Left over from a `cluster.json` that somebody removed.
      fs.rmSync(successor, { force: true });
      return;
    }
    writeDurably(temporary, winner.placement);
    fs.renameSync(temporary, file);
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** Into a new file: the old one of that name may be a link to one that is in use. */
function writeDurably(file: string, placement: Placement): void {
  fs.rmSync(file, { force: true });
  const text = `${JSON.stringify({ agents: placement }, null, 2)}\n`;
  fs.writeFileSync(file, text, { flag: 'wx', flush: true });
}

function linkUnlessThere(from: string, to: string): void {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

function continues(before: Placement, after: Placement): boolean {
  return after.length > before.length && before.every((agent, k) => agent.port === after[k]?.port);
}

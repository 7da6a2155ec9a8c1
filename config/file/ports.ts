// Assigns ports on 127.0.0.1 to the agents of a config with `agents: N` and stores them in
// `DATA/cluster.json`. Each agent also records its endpoint in its own directory. That record takes
// precedence, so that a lost or rewritten `cluster.json` cannot split a running cluster.
//
// Several processes may assign ports at the same time. The file is created with a hard link, so only
// one of them succeeds, and no lock remains after a crash. If N grows, a longer file replaces it:
// the successor of a file with n agents is chosen by a hard link whose name contains n. An agent
// keeps its port unless another program uses it while no agent runs.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import { type AgentEntry, type Config, membersOf } from '../config.ts';
import { agentsMax } from '../keys/cluster-keys.ts';
import { ENDPOINT_FILE, parseEndpoint } from '../values/agent-endpoint.ts';
import { readText } from './read-text.ts';

/** Stable codes. */
export type PortsProblemCode =
  /** No agent has a port yet. */
  | 'cluster-not-launched'
  /** Ports must not be assigned, because agents are running whose ports are not known. */
  | 'cluster-running'
  /** `DATA/cluster.json` has an invalid format. */
  | 'cluster-file-corrupt'
  /** The data directory cannot be read or written. */
  | 'data-dir-unusable'
  /** The disk of the data directory is full. */
  | 'data-dir-full';

interface Failure {
  readonly ok: false;
  readonly code: PortsProblemCode;
  readonly message: string;
}

export type ResolvedAgents =
  | {
      readonly ok: true;
      readonly agents: readonly AgentEntry[];
      /** Agents without a port because they were never started; empty with `allocate`. */
      readonly unplaced: readonly string[];
    }
  | Failure;

/**
 * Below the range for outgoing connections (from 32768 on Linux, 49152 elsewhere). A crawler opens
 * thousands of these, and none may occupy the port of an agent that restarts.
 */
const portFirst = 20_000;
const portCount = 12_000;
/** Ports that are tried before the system chooses one. */
const triesMax = 50;
/** A round fails only if another process made progress, so a few rounds suffice. */
const roundsMax = 20;
/** 1,000 agents take about 60 KiB. */
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
 * The agents of a config with their endpoints. A list of agents is used as it is; for a number N the
 * ports come from `DATA/ID/agent.endpoint` and `DATA/cluster.json`.
 *
 * @param options.allocate - whether missing ports are assigned and written
 * @param options.isRunning - whether an agent runs in a directory `DATA/ID`
 * @param options.moving - agents that get a new port. Must be empty while an agent of the crawl runs,
 *   because it would connect to the old ports
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
    // If the file is corrupt, commands use the endpoints that the agents have recorded.
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

/** The entry with the recorded address, if the agent runs on this machine. */
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

/** The agents that have a port, in their own record or else in `cluster.json`. */
function withRecorded(dataDir: string, ids: readonly string[], placement: Placement): Placement {
  return ids.flatMap((id) => {
    const port = recordedPort(path.join(dataDir, id));
    const placed = placement.find((agent) => agent.id === id);
    if (port !== null) return [{ id, port }];
    return placed ? [placed] : [];
  });
}

/** Null if the agent has never run or the record is invalid. */
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
    `${file} is missing or has no port for ${running.join(', ')}, which runs or is just ` +
    'starting; new ports would split the cluster: ' +
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

function unusable(dataDir: string, error: unknown): Failure {
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const message = `disk full: cannot write in ${dataDir}: ${why}; free some space there`;
    return { ok: false, code: 'data-dir-full', message };
  }
  const isDenied = code === 'EACCES' || code === 'EPERM';
  const remedy = isDenied ? 'run the command as its owner or as root' : 'name another with --data';
  const message = `the data directory ${dataDir} cannot be used: ${why}; ${remedy}`;
  return { ok: false, code: 'data-dir-unusable', message };
}

/** @returns the agents in the file; none if it does not exist */
function readPlacement(file: string): { ok: true; placement: Placement } | Failure {
  // `throwIfNoEntry` concerns only missing files; a directory without permission still throws.
  try {
    if (fs.statSync(file, { throwIfNoEntry: false }) === undefined) {
      return { ok: true, placement: [] };
    }
  } catch (error) {
    return unusable(path.dirname(file), error);
  }
  const read = readText(file, fileBytesMax);
  const placement = read.ok ? parsePlacement(read.text) : null;
  if (placement !== null) return { ok: true, placement };
  const why = read.ok ? 'is not a list of agents a1, a2, … with their ports' : read.message;
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

/** Assigns new ports to the agents in the file, and deletes the endpoints that they recorded. */
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
 * Finds ports for the agents that have none in the file (`placed`) or in their records (`known`),
 * and for those in `moving`. The new ports stay bound until the last one is found.
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

/** The candidates depend on `name`, so clusters that start together try different ports. */
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

/** @returns the bound port; it is released when its server in `held` is closed */
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

/** Makes `after` the successor of `before`, or installs that of another process that was faster. */
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
      // It belonged to a `cluster.json` that was deleted.
      fs.rmSync(successor, { force: true });
      return;
    }
    writeDurably(temporary, winner.placement);
    fs.renameSync(temporary, file);
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** Creates a new file, because an old one may be a hard link to a file that is in use. */
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

// Extracts of the states of agents on other machines, for queries: each agent makes one, with the
// views that the query reads, and it is then read like a state file of this machine.

import { join } from 'node:path';
import type { Config } from '../../../config/config.ts';
import { isRecord } from '../../messaging/checks/shape.ts';
import { isListening } from '../../messaging/listener.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import { openExtract } from '../../storage/file/extract.ts';
import { removeScratch, scratchDirectory } from '../../storage/file/scratch-directory.ts';
import { scratchRefusal } from '../common/exit-code.ts';
import { asked, type ResolvedConfig, withEndpoints } from '../common/load-config.ts';
import { type Held, hasGivenHosts, readerOf, type StateFile } from '../common/query-files.ts';
import { agentsElsewhere, type Elsewhere, type RemoteAgent } from './remote-agents.ts';
import { RemoteClient, RemoteError } from './remote-client.ts';
import { remoteKeys } from './remote-keys.ts';
import { askStatusAndStale } from './stale-states.ts';

/** Milliseconds for all requests of a query, which has little time itself; absent: it has much. */
export const REMOTE_MS_VARIABLE = 'UBIRING_REMOTE_MS_MAX';
/** Bytes of each extract, for a query that may not write larger files; absent: see the constant. */
export const REMOTE_BYTES_VARIABLE = 'UBIRING_REMOTE_BYTES_MAX';
/** Longer than for lists, which people watch. */
const MS_MAX = { holding: 30_000, extract: 300_000 } as const;
const EXTRACT_BYTES_MAX = 1024 ** 3;
/** Of the little time; the rest is for agents that answer, which may be asked a second time. */
const SHARES = { holding: 0.3, extract: 0.5 } as const;
/** Requests at the same time. Agents that do not answer must not keep others waiting. */
const TOGETHER_MAX = { holding: 64, extract: 4 } as const;

/** Of a query. */
interface Asking {
  /** Milliseconds of each request. */
  readonly msMax: { readonly holding: number; readonly extract: number };
  /** The monotonic time when the last request ends. */
  readonly until: number;
  /** Of each extract. */
  readonly bytesMax: number;
  /** A sentence for each agent that has failed, which is not asked again. */
  readonly failed: Map<string, string>;
}

export interface RemoteFiles {
  readonly files: readonly StateFile[];
  /** A sentence for each agent on another machine whose state is missing. */
  readonly problems: readonly string[];
  /** Whether hosts have moved since `begin`, so that every file may lack them. */
  readonly hasMoved: boolean;
}

export class RemoteStates {
  readonly found: Pick<Found, 'running' | 'silent' | 'stale'>;
  readonly #client: RemoteClient;
  readonly #agents: readonly RemoteAgent[];
  readonly #problems: string[];
  readonly #crawl: string;
  readonly #asking: Asking;
  #number = 0;
  /** By agent, from before the states of this machine are opened. */
  readonly #held = new Map<string, Held>();

  private constructor(
    client: RemoteClient,
    found: Found,
    problems: readonly string[],
    crawl: string,
    asking: Asking,
  ) {
    this.#crawl = crawl;
    this.#client = client;
    this.#asking = asking;
    this.found = found;
    this.#agents = found.agents.filter(({ id }) => !asking.failed.has(id));
    this.#problems = [...problems, ...asking.failed.values()];
  }

  /**
   * Finds the agents on other machines. To be called before the state files of this machine are
   * opened: a host that moves from there to here is then in a file.
   *
   * @param earlier - of the same query: the time of both is limited together, and agents that
   *   failed are not asked again
   */
  static async begin(
    config: Config,
    env: NodeJS.ProcessEnv,
    earlier: RemoteStates | null = null,
  ): Promise<RemoteStates> {
    const asking = earlier === null ? newAsking(env) : earlier.#asking;
    const cluster = await found(config);
    const keys = cluster.agents.length > 0 ? remoteKeys(config.monitor.tokens, env) : [];
    const wrong = typeof keys === 'string' ? [keys] : [];
    const states = new RemoteStates(
      new RemoteClient(typeof keys === 'string' ? [] : keys),
      cluster,
      [...cluster.problems, ...wrong],
      config.name,
      asking,
    );
    await states.#each('holding', async (agent, msMax) => {
      const held = await states.#client.json(agent, { path: pathOf(agent, 'holding') }, msMax);
      if (isHeld(held)) states.#held.set(agent.id, held);
      else states.#problems.push(`${agent.id}: its state cannot be read on its machine`);
    });
    return states;
  }

  /** @param views - those that the query reads; the files have no others */
  async open(views: readonly string[]): Promise<RemoteFiles> {
    const files: StateFile[] = [];
    const directory = madeDirectory();
    const { bytesMax } = this.#asking;
    try {
      await this.#each('extract', async (agent, msMax) => {
        if (!this.#held.has(agent.id)) return;
        const path = join(directory, String(++this.#number));
        const request = { path: pathOf(agent, 'state'), query: { views: views.join(',') } };
        await this.#client.download(agent, request, path, { msMax, bytesMax });
        const opened = openExtract(path, views);
        const file = opened.ok ? readerOf(agent.id, path, opened) : null;
        // An open file stays readable, and none is left behind if this process is killed.
        removeScratch(path);
        const why = opened.ok ? this.#otherCrawl(file!) : opened.why;
        if (why === null) files.push(file!);
        else {
          file?.close();
          this.#problems.push(`${agent.id}: what its API at ${agent.origin} has sent ${why}`);
        }
      });
    } finally {
      removeScratch(directory);
    }
    const hasMoved = files.some((file) => hasGivenHosts(file, this.#held.get(file.agent)));
    return { files, problems: this.#problems, hasMoved };
  }

  #otherCrawl(file: StateFile): string | null {
    const other = file.otherCrawl(this.#crawl);
    return other === undefined
      ? null
      : `belongs to crawl '${other}'; correct its dashboard's address`;
  }

  /** @param act - with the milliseconds that it may take */
  async #each(
    what: 'holding' | 'extract',
    act: (agent: RemoteAgent, msMax: number) => Promise<void>,
  ): Promise<void> {
    const left = [...this.#agents];
    const next = async (): Promise<void> => {
      for (let agent = left.shift(); agent !== undefined; agent = left.shift()) {
        const { msMax, until, failed } = this.#asking;
        try {
          await act(agent, Math.max(Math.floor(Math.min(msMax[what], until - monotonicMs())), 1));
        } catch (error) {
          if (!(error instanceof RemoteError)) throw error;
          failed.set(agent.id, error.message);
          this.#problems.push(error.message);
        }
      }
    };
    await Promise.all(Array.from({ length: TOGETHER_MAX[what] }, next));
  }
}

function newAsking(env: NodeJS.ProcessEnv): Asking {
  const msMax = Number(env[REMOTE_MS_VARIABLE]);
  const bytesMax = Number(env[REMOTE_BYTES_VARIABLE]) || EXTRACT_BYTES_MAX;
  const failed = new Map<string, string>();
  if (!(msMax > 0)) return { msMax: MS_MAX, until: Infinity, bytesMax, failed };
  const each = { holding: SHARES.holding * msMax, extract: SHARES.extract * msMax };
  return { msMax: each, until: monotonicMs() + msMax, bytesMax, failed };
}

/** @throws Refusal if there is no room */
function madeDirectory(): string {
  try {
    return scratchDirectory();
  } catch (error) {
    throw scratchRefusal(error);
  }
}

function pathOf({ id }: RemoteAgent, what: string): string {
  return `/agents/${encodeURIComponent(id)}/${what}`;
}

function isHeld(value: unknown): value is Held {
  return isRecord(value) && Object.values(value).every((one) => typeof one === 'number');
}

interface Found extends Elsewhere {
  /** The agents that did not answer those that did. */
  readonly silent: readonly string[];
  /** See `askStatusAndStale`. */
  readonly stale: readonly string[];
}

const NOWHERE: Found = { agents: [], running: [], problems: [], silent: [], stale: [] };

interface Answered {
  readonly agents: readonly AgentStatus[];
  readonly unreachable: readonly string[];
}

/** Asks the cluster. */
async function found(config: Config): Promise<Found> {
  const { agents } = config.cluster;
  // With a number instead of a list, all agents are on this machine.
  if (typeof agents === 'number') return NOWHERE;
  const resolved = await withEndpoints(config, { allocate: false });
  if (!resolved.ok) return NOWHERE;
  const listening = await listeningOf(resolved.config);
  if (listening === null) return NOWHERE;
  const { answer, stale } = await askStatusAndStale(listening);
  if (!answer.ok) return NOWHERE;
  const { agents: statuses, unreachable: silent } = answer.result as Answered;
  // The query itself names those that are members, as their rows are missing.
  const elsewhere = agentsElsewhere({ agents: statuses, silent: [], stale }, resolved.config);
  return { ...elsewhere, silent, stale };
}

/** A question to an agent that does not run takes seconds. Null: nobody can be asked. */
async function listeningOf(config: ResolvedConfig): Promise<ResolvedConfig | null> {
  const known = asked(config).agents;
  const listening = await Promise.all(known.map(({ address }) => isListening(address)));
  const agents = known.filter((_, i) => listening[i]);
  if (agents.length === 0) return null;
  const { cluster } = config;
  const contacts = cluster.contacts.filter((one) => agents.some(({ address }) => address === one));
  return { ...config, strangers: [], cluster: { ...cluster, agents, contacts } };
}

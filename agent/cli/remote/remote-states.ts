// Extracts of the states of agents on other machines, for queries: each agent makes one, with the
// views that the query reads, and it is then read like a state file of this machine.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../config/config.ts';
import { isRecord } from '../../messaging/checks/shape.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { openExtract } from '../../storage/file/extract.ts';
import { scratchDirectory } from '../../storage/file/scratch-directory.ts';
import { isListening } from '../common/listener.ts';
import { asked, type ResolvedConfig, withEndpoints } from '../common/load-config.ts';
import { type Held, hasGivenHosts, readerOf, type StateFile } from '../common/query-files.ts';
import { tokensOf } from '../http/token-source.ts';
import { Tokens } from '../http/tokens.ts';
import { askStatus } from './ask-status.ts';
import { agentsElsewhere, type RemoteAgent } from './remote-agents.ts';
import { RemoteClient, RemoteError, scratchRefusal } from './remote-client.ts';

/** Longer than for lists, which people watch. */
const HOLDING_MS_MAX = 30_000;
const EXTRACT_LIMITS = { msMax: 300_000, bytesMax: 1024 ** 3 };
/** Extracts that are requested at the same time. */
const TOGETHER_MAX = 4;

export interface RemoteFiles {
  readonly files: readonly StateFile[];
  /** A sentence for each agent on another machine whose state is missing. */
  readonly problems: readonly string[];
  /** Whether hosts have moved since `begin`, so that every file may lack them. */
  readonly hasMoved: boolean;
}

export class RemoteStates {
  readonly #client: RemoteClient;
  readonly #agents: readonly RemoteAgent[];
  readonly #problems: string[];
  readonly #crawl: string;
  #number = 0;
  /** By agent, from before the states of this machine are opened. */
  readonly #held = new Map<string, Held>();

  private constructor(
    client: RemoteClient,
    agents: readonly RemoteAgent[],
    problems: readonly string[],
    crawl: string,
  ) {
    this.#crawl = crawl;
    this.#client = client;
    this.#agents = agents;
    this.#problems = [...problems];
  }

  /**
   * Finds the agents on other machines. To be called before the state files of this machine are
   * opened: a host that moves from there to here is then in a file.
   */
  static async begin(config: Config, env: NodeJS.ProcessEnv): Promise<RemoteStates> {
    const { agents, problems } = await found(config);
    const tokens = agents.length > 0 ? tokensOf(config.monitor.tokens, env) : { text: '' };
    const token = 'text' in tokens ? Tokens.ofReader(tokens.text) : null;
    const wrong = 'wrong' in tokens ? [tokens.wrong] : [];
    const states = new RemoteStates(
      new RemoteClient(token),
      agents,
      [...problems, ...wrong],
      config.name,
    );
    await states.#each(async (agent) => {
      const held = await states.#client.json(
        agent,
        { path: pathOf(agent, 'holding') },
        HOLDING_MS_MAX,
      );
      if (isHeld(held)) states.#held.set(agent.id, held);
      else states.#problems.push(`${agent.id}: its state cannot be read on its machine`);
    });
    return states;
  }

  /** @param views - those that the query reads; the files have no others */
  async open(views: readonly string[]): Promise<RemoteFiles> {
    const files: StateFile[] = [];
    const directory = madeDirectory();
    try {
      await this.#each(async (agent) => {
        if (!this.#held.has(agent.id)) return;
        const path = join(directory, String(++this.#number));
        const request = { path: pathOf(agent, 'state'), query: { views: views.join(',') } };
        await this.#client.download(agent, request, path, EXTRACT_LIMITS);
        const opened = openExtract(path, views);
        const file = opened.ok ? readerOf(agent.id, path, opened) : null;
        // An open file stays readable, and none is left behind if this process is killed.
        rmSync(path, { force: true });
        const why = opened.ok ? this.#otherCrawl(file!) : opened.why;
        if (why === null) files.push(file!);
        else {
          file?.close();
          this.#problems.push(`${agent.id}: what its API at ${agent.origin} has sent ${why}`);
        }
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
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

  async #each(act: (agent: RemoteAgent) => Promise<void>): Promise<void> {
    const left = [...this.#agents];
    const next = async (): Promise<void> => {
      for (let agent = left.shift(); agent !== undefined; agent = left.shift()) {
        try {
          await act(agent);
        } catch (error) {
          if (!(error instanceof RemoteError)) throw error;
          this.#problems.push(error.message);
        }
      }
    };
    await Promise.all(Array.from({ length: TOGETHER_MAX }, next));
  }
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

const NOWHERE = { agents: [], problems: [] };

/** Asks the cluster. */
async function found(config: Config): Promise<ReturnType<typeof agentsElsewhere>> {
  const { agents } = config.cluster;
  // With a number instead of a list, all agents are on this machine.
  if (typeof agents === 'number') return NOWHERE;
  const resolved = await withEndpoints(config, { allocate: false });
  if (!resolved.ok) return NOWHERE;
  const listening = await listeningOf(resolved.config);
  if (listening === null) return NOWHERE;
  const answer = await askStatus(listening);
  if (!answer.ok) return NOWHERE;
  const { agents: statuses } = answer.result as { readonly agents: readonly AgentStatus[] };
  // The query itself names the members without a state.
  return agentsElsewhere({ agents: statuses, silent: [] }, resolved.config);
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

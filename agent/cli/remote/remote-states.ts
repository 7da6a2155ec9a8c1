// Extracts of the states of agents on other machines, for queries: each agent makes one, with the
// views that the query reads, and it is then read like a state file of this machine.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { isRecord } from '../../messaging/checks/shape.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { openExtract } from '../../storage/file/extract.ts';
import { isListening } from '../common/listener.ts';
import { asked, type ResolvedConfig, withEndpoints } from '../common/load-config.ts';
import {
  foundAgents,
  type Held,
  hasGivenHosts,
  readerOf,
  type StateFile,
} from '../common/query-files.ts';
import { tokensOf } from '../http/token-source.ts';
import { Tokens } from '../http/tokens.ts';
import { askStatus } from './ask-status.ts';
import { agentsElsewhere, type RemoteAgent } from './remote-agents.ts';
import { RemoteClient, RemoteError } from './remote-client.ts';

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
  /** By agent, from before the states of this machine are opened. */
  readonly #held = new Map<string, Held>();

  private constructor(
    client: RemoteClient,
    agents: readonly RemoteAgent[],
    problems: readonly string[],
  ) {
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
    const states = new RemoteStates(new RemoteClient(token), agents, [...problems, ...wrong]);
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
    const directory = mkdtempSync(join(tmpdir(), 'ubiring-remote-'));
    try {
      await this.#each(async (agent) => {
        if (!this.#held.has(agent.id)) return;
        const path = join(directory, agent.id);
        const request = { path: pathOf(agent, 'state'), query: { views: views.join(',') } };
        await this.#client.download(agent, request, path, EXTRACT_LIMITS);
        const opened = openExtract(path, views);
        if (opened.ok) files.push(readerOf(agent.id, path, opened));
        else
          this.#problems.push(
            `${agent.id}: what its API at ${agent.origin} has sent ${opened.why}`,
          );
      });
    } finally {
      // Open files stay readable.
      rmSync(directory, { recursive: true, force: true });
    }
    const hasMoved = files.some((file) => hasGivenHosts(file, this.#held.get(file.agent)));
    return { files, problems: this.#problems, hasMoved };
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

function pathOf({ id }: RemoteAgent, what: string): string {
  return `/api/v1/agents/${encodeURIComponent(id)}/${what}`;
}

function isHeld(value: unknown): value is Held {
  return isRecord(value) && Object.values(value).every((one) => typeof one === 'number');
}

const NOWHERE = { agents: [], problems: [] };

/** Asks the cluster only if an agent may be elsewhere. */
async function found(config: Config): Promise<ReturnType<typeof agentsElsewhere>> {
  const { agents, contacts } = config.cluster;
  const { dataDir } = config.agent;
  const here = foundAgents(dataDir);
  const isWhole = contacts.length === 0 && membersOf(config).every(({ id }) => here.includes(id));
  // With a number instead of a list, all agents are on this machine.
  if (isWhole || typeof agents === 'number') return NOWHERE;
  const resolved = await withEndpoints(config, { allocate: false });
  if (!resolved.ok) return NOWHERE;
  const listening = await listeningOf(resolved.config);
  if (listening === null) return NOWHERE;
  const answer = await askStatus(listening);
  if (!answer.ok) return NOWHERE;
  const { agents: statuses } = answer.result as { readonly agents: readonly AgentStatus[] };
  return agentsElsewhere(statuses, dataDir);
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

// Checks, before anything is written, whether the agents to be started can listen. An agent whose
// port is taken cannot start if the config names its endpoint. In a numbered cluster it gets another
// port, unless agents of the crawl run, even on a copy of the data directory: they look for it at
// the old port.

import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { AgentEntry, Config } from '../../../config/config.ts';
import { resolveAgents } from '../../../config/file/ports.ts';
import { isWildcard, parseEndpoint } from '../../../config/values/agent-endpoint.ts';
import { askAgent } from '../../messaging/control-client.ts';
import { messageOf, systemCode } from '../common/exit-code.ts';
import { shownCrawl, shownPath } from '../common/load-config.ts';
import { programName } from '../common/output.ts';
import { isLocked } from '../common/running.ts';
import { statusesIn } from '../remote/status-check.ts';
import { bareHost } from './local-agents.ts';

/** How long an agent on the port may take to answer, in milliseconds. */
const answerMsMax = 2000;

export type PortsFound =
  | {
      readonly ok: true;
      /** Agents that need another port. */
      readonly moving: readonly string[];
      /** The reason for each of them: a sentence that begins with its identifier. */
      readonly taken: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

interface Problem {
  readonly id: string;
  readonly listen: string;
  readonly isTaken: boolean;
  /** A sentence that does not name the agent. */
  readonly why: string;
}

/** @param ids - agents that will be started */
export async function judgePorts(config: Config, ids: readonly string[]): Promise<PortsFound> {
  const resolved = await resolveAgents(config, { allocate: false });
  // Agents without a port get a free one later. `withEndpoints` reports other problems of the ports.
  const agents = resolved.ok ? resolved.agents.filter(({ id }) => ids.includes(id)) : [];
  const found = await Promise.all(agents.map((agent) => portProblem(agent)));
  const problems = found.filter((problem) => problem !== null);
  const isNumbered = typeof config.cluster.agents === 'number';
  const running = isNumbered ? runningIn(config.agent.dataDir) : [];
  const messages: string[] = [];
  for (const { id, listen, isTaken, why } of problems) {
    const said = `${id}: ${why}`;
    if (!isTaken) messages.push(said);
    else if (!isNumbered) {
      messages.push(`${said}; end that, or give ${id} another port in ${shownPath(config)}`);
    } else if (running.length > 0) {
      messages.push(
        `${said}; end that, or stop the agents that run, and launch again: ${id} then gets another port\n` +
          `  ${programName()} stop ${shownCrawl(config)}`,
      );
    } else if (await isOfCrawl(listen, id, config.name)) {
      messages.push(
        `${id}: ${listen} is in use by an agent ${id} of this crawl, in another data directory; ` +
          `stop the crawl there (\`${programName()} stop ${shownPath(config)}\`, with the --data of that ` +
          'directory), and launch again',
      );
    }
  }
  if (messages.length > 0) return { ok: false, message: messages.join('\n') };
  const taken = problems.map(({ id, why }) => `${id}: ${why}`);
  return { ok: true, moving: problems.map(({ id }) => id), taken };
}

/** Running agents, including those that the config no longer has. */
function runningIn(dataDir: string): readonly string[] {
  if (!fs.existsSync(dataDir)) return [];
  return fs.readdirSync(dataDir).filter((name) => isLocked(path.join(dataDir, name)));
}

/** Whether this agent of this crawl listens there. Every numbered crawl has an agent a1. */
async function isOfCrawl(address: string, id: string, name: string): Promise<boolean> {
  const answer = await askAgent(address, 'status', [], answerMsMax);
  // A program that completes the handshake but does not answer may be the agent, busy.
  if (!answer.ok) return answer.code !== 'unreachable';
  const agents = statusesIn(answer.result)?.agents ?? [];
  const found = agents.find((agent) => agent.id === id);
  return found !== undefined && (found.crawl ?? name) === name;
}

/** Why the agent cannot listen, or null; tested by listening on its endpoint. */
function portProblem({ id, listen }: AgentEntry): Promise<Problem | null> {
  const endpoint = parseEndpoint(listen);
  if (endpoint === null) {
    return Promise.resolve({ id, listen, isTaken: false, why: `${listen} is not an endpoint` });
  }
  const host = isWildcard(endpoint) ? undefined : bareHost(endpoint.host);
  return new Promise((resolve) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      const isTaken = systemCode(error) === 'EADDRINUSE';
      const why = isTaken ? `${listen} is in use by another program` : messageOf(error);
      resolve({ id, listen, isTaken, why });
    });
    server.listen({ host, port: endpoint.port, exclusive: true }, () => {
      server.close(() => resolve(null));
    });
  });
}

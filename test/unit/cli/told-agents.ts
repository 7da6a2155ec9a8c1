// Agents without a crawl, which give the answers that a test has told them.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Router } from 'zeromq';
import type { ResolvedConfig } from '../../../agent/cli/common/load-config.ts';
import { decodeFrame, encodeEnvelope } from '../../../agent/messaging/codec.ts';
import type { AgentStatus } from '../../../agent/monitor/agent-status.ts';
import { good, newDirectory, plain } from '../config/written-config.ts';

/** An agent whose answers the test chooses. */
export async function startAnswers(t: TestContext) {
  const router = new Router({ linger: 0 });
  await router.bind('tcp://127.0.0.1:*');
  t.after(() => router.close());
  const told = {
    agents: [] as AgentStatus[],
    orders: [] as unknown[],
    asked: 0,
    after: null as null | Promise<void>,
  };
  const answer = async () => {
    for await (const [route, frame] of router) {
      const decoded = decodeFrame(frame!);
      assert.ok(decoded.ok && decoded.envelope.message.type === 'CONTROL');
      told.asked++;
      await told.after;
      const result = { agents: told.agents, unreachable: [], orders: told.orders };
      const { request } = decoded.envelope.message;
      const encoded = encodeEnvelope({
        ...{ from: { id: 'a1', inc: 1 }, to: { id: '', inc: 0 } },
        message: { type: 'CONTROL_ACK', request, ok: true, result },
      });
      assert.ok(encoded.ok);
      await router.send([route!, encoded.frame]);
    }
  };
  void answer();
  return { told, address: router.lastEndpoint! };
}

/** A crawl with the agents a1, a2 and so on at these addresses. */
export function crawlOf(addresses: readonly string[]): ResolvedConfig {
  const written = good(`${plain}cluster: { agents: 1 }\n`, { dataDir: newDirectory() });
  const agents = addresses.map((address, k) => {
    return { id: `a${k + 1}`, listen: address, address, capacity: 1 };
  });
  const cluster = { ...written.cluster, agents };
  return { ...written, file: 'c.json', unplaced: [], strangers: [], cluster };
}

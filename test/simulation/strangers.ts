// In some crawls of the swarm a stranger sends false messages to starting and crawling agents. It
// announces completion and directives, reports removals, invents members and later incarnations,
// and asks to join under its own name or a member's, at an address without an agent. It knows
// incarnations and settings but receives no messages of others. It must have no effect.

import type { AgentId, Message, News } from '../../agent/core/protocol/messages.ts';
import { EPOCH } from './cluster.ts';
import { type Plan, SPAN_MS } from './plan.ts';
import { Random } from './random.ts';

export const STRANGER: AgentId = 'zz';

/**
 * Uses its own random source, so that no plan changes. Returns a list that receives an entry
 * whenever an agent repeats news of a member that does not exist.
 */
export function planStranger({ cluster, ids }: Plan, seed: number): readonly string[] {
  const random = new Random(seed * 15_485_863 + 11);
  const believed: string[] = [];
  if (!random.chance(0.4)) return believed;
  cluster.watchers.push(({ id }, effects) => {
    for (const effect of effects) {
      if (effect.type !== 'send' || effect.envelope.message.type !== 'HEARTBEAT') continue;
      const ghost = effect.envelope.message.news.find((one) => one.address.includes('/nobody/'));
      if (ghost) believed.push(`${id} believes in ${ghost.id} at ${ghost.address}`);
    }
  });
  for (let k = random.whole(20, 60); k > 0; k--) {
    cluster.at(EPOCH + random.between(0, SPAN_MS * 1.2), () => {
      const to = random.pick(ids);
      if (!cluster.agents.get(to)?.alive) return;
      const inc = (id: AgentId) => cluster.agents.get(id)?.store.incarnation() ?? 1;
      const message = random.pick(CLAIMS)(news(random.pick(ids), inc(to) + random.whole(1, 1e6)));
      const others = ids.filter((id) => id !== to);
      const isSaidAsMember = message.type === 'HELLO' && random.chance(0.5);
      const from = isSaidAsMember ? random.pick(others) : STRANGER;
      const later = { id: from, inc: inc(from) + random.whole(1, 1000) };
      cluster.deliver(to, { from: later, to: { id: to, inc: inc(to) }, message });
    });
  }
  return believed;
}

function news(id: AgentId, inc: number): News {
  const address = `tcp://sim/nobody/${inc}`;
  return { id, inc, capacity: 3, address, counter: 1, joined: true, direct: true };
}

const AGREEING = { fingerprint: 'same', fingerprintHash: 'same' };
const order = { kind: 'pause', host: '', value: 1, n: 5, by: STRANGER } as const;
const welcome = { type: 'WELCOME', greeting: 'none', members: [], gone: [], orders: [] } as const;
const QUIET = { idle: true, idleSince: 0, viewHash: '', gen: 0, suspects: [], orders: '' };

/** False messages about one agent. */
const CLAIMS: readonly ((of: News) => Message)[] = [
  () => ({ type: 'COMPLETE' }),
  () => ({ type: 'COMPLETE', greeting: 'none' }),
  () => ({ type: 'REFUSED', path: 'x', yours: 'a', theirs: 'b', joined: true }),
  () => ({ type: 'LEAVE' }),
  () => ({ type: 'ORDERS', orders: [order] }),
  (of) => ({ ...welcome, members: [of], gone: [{ id: of.id, inc: of.inc, ageMs: 0 }] }),
  (of) => ({ ...welcome, orders: [order], members: [{ ...of, id: 'yy' }] }),
  ({ address }) => ({ type: 'HELLO', capacity: 2, address, n: 0, greeting: 'g', ...AGREEING }),
  ({ address }) => ({ type: 'PROBE', nonce: 'n', address, ...AGREEING }),
  (of) => ({ type: 'HEARTBEAT', ...of, ...AGREEING, ...QUIET, gone: [], news: [of] }),
  (of) => ({ type: 'HEARTBEAT', ...of, ...AGREEING, ...QUIET, gone: [of], news: [] }),
  (of) => ({ type: 'HEARTBEAT', ...of, ...AGREEING, ...QUIET, gone: [], suspects: [of], news: [] }),
  (of) => {
    const ghosts = Array.from({ length: 40 }, (_, k) => ({ ...of, id: `y${k}` }));
    return { type: 'HEARTBEAT', ...of, ...AGREEING, ...QUIET, gone: [], news: ghosts };
  },
];

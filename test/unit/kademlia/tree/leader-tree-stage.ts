// A tree of idle reports whose agents, heartbeats and parents the test sets.

import type { AgentState } from '../../../../agent/core/membership/overlay.ts';
import type { MemberCard, Message } from '../../../../agent/core/protocol/messages.ts';
import type { LedPath } from '../../../../agent/kademlia/tree/duties.ts';
import { LeaderTree } from '../../../../agent/kademlia/tree/leader-tree.ts';
import { KEY_BITS } from '../../../../assignment/identifiers.ts';
import { keyOfBits } from '../contacts.ts';

export type TreeTold = Extract<Message, { type: 'TREE_TOLD' }>;
type TreeAsk = Extract<Message, { type: 'TREE_ASK' }>;
type TreeDone = Extract<Message, { type: 'TREE_DONE' }>;

export const suspectAfterMs = 1000;
const BEAT_MS = 100;

export const cardOf = (id: string, inc = 1): MemberCard => {
  return { id, inc, capacity: 1, address: `${id}:1` };
};
export const hexOf = (bits: string) =>
  keyOfBits(bits)
    .toString(16)
    .padStart(KEY_BITS / 4, '0');

/** A path of a region with these bits, with an identifier of each agent; its own is the smallest. */
export function pathOf(
  bits: string,
  agents: readonly string[],
  more: Partial<LedPath> = {},
): LedPath {
  return {
    key: keyOfBits(bits),
    length: bits.length,
    first: keyOfBits(bits),
    agents,
    beside: Array.from({ length: bits.length }, () => 'occupied' as const),
    few: () => null,
    ...more,
  };
}

/** Numbers texts, so that digests are small and can be predicted by none. */
function digests() {
  const known = new Map<string, bigint>();
  return (text: string) => {
    known.set(text, known.get(text) ?? BigInt(known.size + 1) * 1_000_003n);
    return known.get(text)!;
  };
}

export class Stage {
  readonly parents = new Map<string, MemberCard>();
  /** By the first key of a subtree: the agent that a look-up finds; by default, any that reports. */
  readonly leaders = new Map<bigint, MemberCard | null>();
  readonly lost: bigint[] = [];
  readonly states = new Map<string, AgentState>();
  readonly tree: LeaderTree;
  paths: LedPath[];
  #reporter: MemberCard | null = null;
  now = 0;

  constructor(paths: LedPath[], ids: readonly string[], { countsPages = false } = {}) {
    this.paths = paths;
    for (const id of ids) this.set(id, {});
    this.tree = new LeaderTree({
      paths: () => this.paths,
      // An agent is named after its place, as far as its name is binary.
      identifiersOf: ({ id }) => (/^[01]+$/.test(id) ? [keyOfBits(id), keyOfBits(`${id}1`)] : []),
      digest: digests(),
      nearest: (key) => {
        const leader = this.leaders.get(key);
        if (leader !== undefined) return leader;
        return this.parents.get(key.toString(2).padStart(KEY_BITS, '0')[0]!) ?? this.#reporter;
      },
      notThere: (key) => this.lost.push(key),
      countsPages,
      suspectAfterMs,
    });
  }

  set(id: string, more: Partial<AgentState>): void {
    const old = this.states.get(id) ?? { id, inc: 1, counter: 1, idle: true, idleSince: 1 };
    this.states.set(id, { ...old, ...more });
  }

  /** The next heartbeat of every agent. */
  beat(me = '0'): { to: string; message: TreeAsk | TreeTold | TreeDone }[] {
    this.now += BEAT_MS;
    for (const [id, { counter }] of this.states) this.set(id, { counter: counter + 1 });
    return this.#survey(me).map(({ to, message }) => ({ to: to.id, message }));
  }

  #survey(me: string) {
    const stateOf = (id: string) => this.states.get(id) ?? null;
    return this.tree.survey(this.states.get(me)!, stateOf, this.now);
  }

  told(bits: string, more: Partial<TreeTold> = {}, from = cardOf('1')) {
    this.#reporter = from;
    return this.tree.onTold(
      from,
      {
        ...{ type: 'TREE_TOLD', key: hexOf(bits), length: bits.length, idle: true },
        ...{ wave: '', sum: '0000000000000005', ...more },
      },
      this.now,
    );
  }

  asked(bits: string, wave: string, length = bits.length, from = cardOf('0')) {
    this.tree.onAsk(from, { type: 'TREE_ASK', key: hexOf(bits), length, wave }, this.now);
  }

  done(bits: string, wave: string, from = cardOf('0')) {
    const message = { type: 'TREE_DONE' as const, key: hexOf(bits), length: bits.length, wave };
    return this.tree.onDone(from, message);
  }

  /** The leader's beats, with the other half answering each wave with this sum. */
  waves(count: number, sumOf: (wave: string) => string = () => '0000000000000005'): void {
    for (let i = 0; i < count; i++) {
      for (const { message } of this.beat()) {
        this.told('1', { wave: message.wave, sum: sumOf(message.wave) });
      }
    }
  }
}

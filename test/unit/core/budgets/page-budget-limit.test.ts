// Both sides of the page limit together, over a network that loses, repeats and delays messages,
// while agents die and restart without their tokens. Pages never exceed the limit, and reach it
// exactly once the network has recovered. Small random steps cover more paths than a simulated
// cluster.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PageBudget, type PagesAsk } from '../../../../agent/core/budgets/page-budget.ts';
import { type Counted, PageCensus } from '../../../../agent/core/budgets/page-census.ts';
import { PageGrants } from '../../../../agent/core/budgets/page-grants.ts';
import type { View } from '../../../../agent/core/membership/view.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';

const HEARTBEAT_MS = 100;
const OWNER = 'a1';
const IDS = [OWNER, 'a2', 'a3', 'a4'] as const;
/** The maximum delay of a message; some counts fit between two crashes. */
const TRAVEL_MS_MAX = HEARTBEAT_MS / 2;
/** The maximum number of open requests of an agent. */
const THREADS = 6;
const bounds = { ...BOUNDS, unreplicated: THREADS };
/** After recovery the last tokens take some counts; after more ticks the crawl is stalled. */
const TICKS_MAX = 2000;

interface Agent {
  inc: number;
  isUp: boolean;
  /** Whether its hosts have queued URLs. */
  hasQueue: boolean;
  budget: PageBudget;
  /** Open requests, by number. */
  readonly open: Set<number>;
  /** Pages of the hosts that it owns now. */
  pages: number;
  isOver: boolean;
}

interface Odds {
  /** Percentages of messages that are lost, and that arrive twice. */
  readonly loss: number;
  readonly twice: number;
}

class Crawl {
  readonly pagesMax: number;
  #nowMs = 0;
  #requests = 0;
  #odds: Odds;
  readonly #random: () => number;
  readonly #agents = new Map<string, Agent>();
  readonly #grants: PageGrants;
  readonly #census: PageCensus;
  #words: { readonly to: string; readonly atMs: number; readonly deliver: () => void }[] = [];

  constructor(pagesMax: number, odds: Odds, random: () => number) {
    this.pagesMax = pagesMax;
    this.#odds = odds;
    this.#random = random;
    this.#grants = new PageGrants({
      settings: { id: OWNER, heartbeatMs: HEARTBEAT_MS, pagesMax },
      view: this.#viewOf(OWNER),
      inc: () => 1,
      knowsAll: true,
      answer: (to, grant) =>
        this.#post(to, () => this.#agents.get(to)!.budget.onGrant(OWNER, grant, this.#now())),
      begin: () => {},
      census: (epoch, now) => this.#census.take(epoch, now),
    });
    this.#census = new PageCensus({
      settings: { id: OWNER, heartbeatMs: HEARTBEAT_MS },
      view: this.#viewOf(OWNER),
      viewHash: () => this.#viewHash(),
      count: (to, epoch, round) => this.#post(to, () => this.#count(to, epoch, round)),
    });
    for (const id of IDS) this.#agents.set(id, this.#born(id, 1));
  }

  /** Pages of all agents; the pages of dead agents belong to the new owners of their hosts. */
  get pages(): number {
    return [...this.#agents.values()].reduce((sum, { pages }) => sum + pages, 0);
  }

  /** Whether each live agent with a queue knows that the limit is reached. */
  get isOver(): boolean {
    const waiting = [...this.#agents.values()].filter(({ isUp, hasQueue }) => isUp && hasQueue);
    return waiting.every(({ isOver }) => isOver);
  }

  /** Restores the network, and fills a queue, since without URLs no agent would reach the limit. */
  heal(): void {
    this.#odds = { loss: 0, twice: 0 };
    this.#agents.get(OWNER)!.hasQueue = true;
  }

  /** Empties the queue of an agent, or gives it another host. */
  turnQueue(id: string): void {
    const agent = this.#agents.get(id)!;
    agent.hasQueue = !agent.hasQueue;
    if (!agent.hasQueue) agent.budget.leave(`${id}.test`);
  }

  /** Each live agent requests and spends tokens, and the owner runs its counts. */
  tick(ms: number): void {
    this.#nowMs += ms;
    const due = this.#words.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#words = this.#words.filter(({ atMs }) => atMs > this.#nowMs);
    for (const { to, deliver } of due) if (this.#agents.get(to)!.isUp) deliver();
    for (const [id, agent] of this.#agents) {
      if (!agent.isUp) continue;
      agent.budget.pump(this.#now());
      while (agent.hasQueue && agent.open.size < THREADS && agent.budget.has(`${id}.test`)) {
        const request = ++this.#requests;
        if (!agent.budget.take(request, this.#now())) break;
        agent.open.add(request);
      }
    }
    this.#grants.pump(this.#now());
  }

  /** Ends one request of an agent, with or without a page. */
  end(id: string, isPage: boolean): void {
    const agent = this.#agents.get(id)!;
    const [request] = agent.open;
    if (request === undefined || !agent.isUp) return;
    agent.open.delete(request);
    agent.budget.ended(request, isPage);
    if (isPage) agent.pages++;
  }

  /**
   * Kills a live agent: its pages move to the owner with its hosts, and its tokens are lost. Starts
   * a dead agent without state.
   */
  killOrStart(id: string): void {
    const agent = this.#agents.get(id)!;
    if (agent.isUp) {
      this.#agents.get(OWNER)!.pages += agent.pages;
      Object.assign(agent, { isUp: false, pages: 0 });
      this.#words = this.#words.filter(({ to }) => to !== id);
    } else this.#agents.set(id, this.#born(id, agent.inc + 1));
    this.#grants.viewChanged();
    this.#census.viewChanged();
  }

  #born(id: string, inc: number): Agent {
    const agent: Agent = {
      ...{ inc, isUp: true, hasQueue: true, open: new Set(), pages: 0, isOver: false },
      budget: new PageBudget({
        settings: { heartbeatMs: HEARTBEAT_MS, suspectAfterMs: 10 * HEARTBEAT_MS, bounds },
        owner: () => ({ id: OWNER, inc: 1 }),
        notOwner: () => {},
        tell: (_, ask) => this.#post(OWNER, () => this.#ask(id, inc, ask)),
        recheck: () => {},
        reached: () => {
          agent.isOver = true;
        },
      }),
    };
    return agent;
  }

  #ask(id: string, inc: number, ask: PagesAsk): void {
    const { isUp, inc: present } = this.#agents.get(id)!;
    // Messages of an earlier incarnation are dropped by their envelope.
    if (isUp && present === inc) this.#grants.onAsk(id, inc, ask, this.#now());
  }

  #count(id: string, epoch: string, round: number): void {
    const { budget, inc, pages } = this.#agents.get(id)!;
    budget.begin(epoch);
    const state = { round, viewHash: this.#viewHash(), quiet: true };
    const counted: Counted = { ...state, epoch: budget.epoch, pages, base: budget.baseOf(pages) };
    this.#post(OWNER, () => {
      const { isUp, inc: present } = this.#agents.get(id)!;
      if (isUp && present === inc) this.#census.onCounted(id, counted, this.#now());
    });
  }

  #post(to: string, deliver: () => void): void {
    const { loss, twice } = this.#odds;
    if (this.#random() * 100 < loss) return;
    const copies = this.#random() * 100 < twice ? 2 : 1;
    for (let k = 0; k < copies; k++) {
      this.#words.push({ to, atMs: this.#nowMs + this.#random() * TRAVEL_MS_MAX, deliver });
    }
    this.#words.sort((a, b) => a.atMs - b.atMs);
  }

  #viewOf(me: string): View {
    const members = () =>
      [...this.#agents]
        .filter(([id, { isUp }]) => isUp && id !== me)
        .map(([id, { inc }]) => ({ card: { id, inc } }));
    const get = (id: string) => members().find(({ card }) => card.id === id);
    const view = { members, get, joined: true };
    Object.defineProperty(view, 'size', { get: () => members().length });
    return view as unknown as View;
  }

  #viewHash(): string {
    const living = [...this.#agents].filter(([, { isUp }]) => isUp);
    return living.map(([id, { inc }]) => `${id}.${inc}`).join(' ');
  }

  #now() {
    return { mono: this.#nowMs, wall: this.#nowMs };
  }
}

interface Step {
  readonly kind: 'end' | 'fail' | 'pass' | 'queue' | 'life';
  readonly who: number;
  readonly afterMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 5, arbitrary: fc.constant('end' as const) },
    { weight: 2, arbitrary: fc.constant('fail' as const) },
    { weight: 6, arbitrary: fc.constant('pass' as const) },
    { weight: 1, arbitrary: fc.constant('queue' as const) },
    { weight: 1, arbitrary: fc.constant('life' as const) },
  ),
  who: fc.nat(IDS.length - 1),
  afterMs: fc.nat(60),
});

/** Numbers in [0, 1) from a seed, so that a failure shrinks. */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return (Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0) / 2 ** 32;
  };
}

function check(pagesMax: number, odds: Odds, seed: number, steps: readonly Step[]): void {
  const crawl = new Crawl(pagesMax, odds, randomOf(seed));
  const bounded = () => {
    assert.ok(crawl.pages <= pagesMax, `${crawl.pages} pages, ${pagesMax} allowed`);
  };
  for (const { kind, who, afterMs } of steps) {
    crawl.tick(afterMs);
    const id = IDS[who]!;
    if (kind === 'life') {
      if (id !== OWNER) crawl.killOrStart(id);
    } else if (kind === 'queue') crawl.turnQueue(id);
    else if (kind !== 'pass') crawl.end(id, kind === 'end');
    bounded();
  }
  crawl.heal();
  for (let k = 0; k < TICKS_MAX && !crawl.isOver; k++) {
    crawl.tick(20);
    for (const id of IDS) crawl.end(id, true);
    bounded();
  }
  assert.ok(crawl.isOver, `the limit is not reported as reached at ${crawl.pages}`);
  assert.equal(crawl.pages, pagesMax);
}

const odds = fc.record({ loss: fc.constantFrom(0, 5, 40), twice: fc.constantFrom(0, 20) });

describe('the page limit', () => {
  it('is never exceeded and finally met exactly, despite lost messages and crashes', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 21, max: 100 })),
        odds,
        fc.integer(),
        fc.array(step, { minLength: 50, maxLength: 400, size: 'max' }),
        check,
      ),
      { numRuns: 200, seed: 31 },
    );
  });
});

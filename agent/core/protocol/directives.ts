// The directives of the operator for the whole cluster: pause, blocked hosts, delays of hosts,
// refreshes, and drained agents, their capacities and threads. Every agent stores all of them. Each
// directive is a register that the later write wins (by number, then by issuer), so agents may merge
// them in any sequence and any number of times. Heartbeats contain a digest; agents whose digests
// differ send each other all directives.

import { HostPatterns } from '../../url/host-patterns.ts';
import type { AgentId, Directive, Host } from './messages.ts';
import { IDENTIFIERS_MAX, putLatest } from './put-latest.ts';

/** Stores directives in the transaction of the turn. */
export interface DirectiveStore {
  directives(): Directive[];
  /** Replaces the directive of the same kind and host; `at`: when it arrived here. */
  saveDirective(directive: Directive, at: number): void;
  dropDirective(directive: Pick<Directive, 'kind' | 'host'>): void;
}

/** A directive in force, and the agents that are known to have it. */
export interface DirectiveInForce extends Pick<Directive, 'kind' | 'host' | 'value' | 'by'> {
  readonly applied: readonly AgentId[];
}

/** Maximum number of directives: all of them fit into one message. */
export const DIRECTIVES_MAX = 2000;
/** Directives that `status` lists: its response is one message. */
export const DIRECTIVES_SHOWN_MAX = 100;
/**
 * How far, in seconds, a number may be ahead of this agent's clock. The number of a round is its
 * issuer's time in seconds, and other directives add one to the highest known number. A number
 * further ahead is not valid, and would outrank all later directives.
 */
const NUMBER_AHEAD_MAX = 7 * 24 * 3600;
/** Every agent drops excess directives from the end of this list of kinds. */
const RANKS: readonly Directive['kind'][] = [
  'pause',
  'refresh',
  'drain',
  'capacity',
  'threads',
  'block',
  'delay',
];

/** The result of merging the directives of one message. */
interface Merged {
  /** Those that changed something. */
  readonly later: readonly Directive[];
  /** Why some were refused, or null. */
  readonly refused: string | null;
}

export class Directives {
  readonly #me: AgentId;
  readonly #configuredMs: (host: Host) => number;
  readonly #store: DirectiveStore;
  readonly #digest: (text: string) => string;
  readonly #known = new Map<string, Directive>();
  /**
   * By directive, the agents that are known to have it, this agent first. Filled by `#keep` and
   * `hasAll`, which drops the oldest other agent beyond `IDENTIFIERS_MAX`.
   */
  readonly #holders = new Map<string, Set<AgentId>>();
  /** The digest with which `hasAll` last noted each agent; at most `IDENTIFIERS_MAX`. */
  readonly #reached = new Map<AgentId, string>();
  #hash: string | null = null;
  #compiled: ReturnType<typeof compile> | null = null;

  constructor(parts: {
    readonly id: AgentId;
    readonly delayMs: (host: Host) => number;
    readonly store: DirectiveStore;
    readonly digest: (text: string) => string;
  }) {
    this.#me = parts.id;
    this.#configuredMs = parts.delayMs;
    this.#store = parts.store;
    this.#digest = parts.digest;
    for (const directive of parts.store.directives()) {
      this.#known.set(registerOf(directive), directive);
      this.#holders.set(registerOf(directive), new Set([parts.id, directive.by]));
    }
    this.#trim();
  }

  get paused(): boolean {
    return this.#value('pause', '') !== null;
  }

  /** The latest requested round; 0: the first. */
  get round(): number {
    return this.#value('refresh', '') ?? 0;
  }

  blocks(host: Host): boolean {
    return this.#patterns().block.get(host) !== undefined;
  }

  /** Whether a block that matched the host was revoked, and no other block matches it. */
  unblocks(host: Host): boolean {
    return !this.blocks(host) && this.#patterns().unblock.get(host) !== undefined;
  }

  /** The politeness delay of the host in milliseconds: from a directive, else from the config. */
  delayOf(host: Host): number {
    return this.#patterns().delay.get(host)?.value ?? this.#configuredMs(host);
  }

  /** The number of threads of this agent: from a directive for it, else for all; null: from the config. */
  get threads(): number | null {
    return this.#value('threads', this.#me) ?? this.#value('threads', '*');
  }

  /** The capacity of this agent unless it is drained; null: from the config. */
  get capacity(): number | null {
    return this.#value('capacity', this.#me);
  }

  /** Whether the agent is to hand over its hosts, and takes no others. */
  drains(id: AgentId): boolean {
    return this.#value('drain', id) !== null;
  }

  /** Whether it is in force. */
  holds(target: Pick<Directive, 'kind' | 'host'>): boolean {
    return this.#value(target.kind, target.host) !== null;
  }

  /** The wider directive that applies to the hosts of a revoked one; undefined: none. */
  above({ kind, host }: Pick<Directive, 'kind' | 'host'>): Directive | undefined {
    if (kind !== 'block' && kind !== 'delay') return undefined;
    // No host has the label `\0`, so only patterns for all subdomains match.
    const subdomain = host.replace(/^\*/, '\0');
    return this.#patterns()[kind].get(subdomain);
  }

  #patterns() {
    this.#compiled ??= compile(this.#known.values());
    return this.#compiled;
  }

  #value(kind: Directive['kind'], host: Host): number | null {
    return this.#known.get(registerOf({ kind, host }))?.value ?? null;
  }

  /**
   * Makes a directive that is later than all known ones; null: there are too many.
   *
   * @param at - monotonic milliseconds, as in `merge`
   */
  give(directive: Pick<Directive, 'kind' | 'host' | 'value'>, at: number): Directive | null {
    const isNew = !this.#known.has(registerOf(directive));
    // A pause is always accepted, and replaces the last directive by rank.
    if (this.#known.size >= DIRECTIVES_MAX && isNew && directive.kind !== 'pause') return null;
    const given = { ...directive, n: this.#highest() + 1, by: this.#me };
    this.#keep(given, at);
    this.#trim();
    return given;
  }

  /**
   * Accepts the directives that are later than the known ones. Beyond `DIRECTIVES_MAX`, every agent
   * drops the same directives, whatever the sequence in which they arrived: otherwise two agents
   * would never agree, and the crawl would never end.
   *
   * @param at - monotonic milliseconds: when they arrived
   * @param wallMs - this agent's clock, which limits the numbers
   */
  merge(directives: readonly Directive[], at: number, wallMs: number): Merged {
    const max = Math.floor(wallMs / 1000) + NUMBER_AHEAD_MAX;
    const later = directives.filter((directive) => {
      const known = this.#known.get(registerOf(directive));
      if (reachOf(directive) > max || (known && !isLater(directive, known))) return false;
      this.#known.set(registerOf(directive), directive);
      return true;
    });
    const isCut = this.#trim();
    const kept = later.filter((directive) => this.#known.get(registerOf(directive)) === directive);
    for (const directive of kept) this.#keep(directive, at);
    const ahead = Math.max(...directives.map(reachOf));
    if (ahead > max)
      return { later: kept, refused: `${ahead} is far above the number of any directive` };
    return {
      later: kept,
      refused: isCut ? `there are more than ${DIRECTIVES_MAX} directives` : null,
    };
  }

  /** Drops excess directives; returns whether there were any. */
  #trim(): boolean {
    if (this.#known.size <= DIRECTIVES_MAX) return false;
    for (const directive of this.all().toSorted(byRank).slice(DIRECTIVES_MAX)) {
      this.#known.delete(registerOf(directive));
      this.#holders.delete(registerOf(directive));
      this.#store.dropDirective(directive);
    }
    this.#hash = null;
    this.#compiled = null;
    return true;
  }

  #highest(): number {
    return Math.max(0, ...this.#known.values().map(({ n }) => n));
  }

  #keep(directive: Directive, at: number): void {
    this.#known.set(registerOf(directive), directive);
    this.#holders.set(registerOf(directive), new Set([this.#me, directive.by]));
    this.#store.saveDirective(directive, at);
    this.#hash = null;
    this.#compiled = null;
  }

  /** The agent's digest shows that it knows exactly these directives. */
  hasAll(id: AgentId): void {
    const hash = this.hash();
    if (this.#reached.get(id) === hash) return;
    putLatest(this.#reached, id, hash, IDENTIFIERS_MAX);
    for (const holders of this.#holders.values()) {
      holders.add(id);
      const [, oldest] = holders;
      if (oldest !== undefined && holders.size > IDENTIFIERS_MAX) holders.delete(oldest);
    }
  }

  /** The directives in force, the newest first, for `status`. */
  inForce(): DirectiveInForce[] {
    const directives = [...this.#known.entries()].filter(([, directive]) => isInForce(directive));
    const newestFirst = directives.sort(([, a], [, b]) => b.n - a.n);
    const shown = newestFirst
      .toSorted(([, a], [, b]) => RANKS.indexOf(a.kind) - RANKS.indexOf(b.kind))
      .slice(0, DIRECTIVES_SHOWN_MAX);
    return newestFirst
      .filter((one) => shown.includes(one))
      .map(([key, { kind, host, value, by }]) => {
        return { kind, host, value, by, applied: [...(this.#holders.get(key) ?? [])].sort() };
      });
  }

  all(): readonly Directive[] {
    return [...this.#known.values()];
  }

  /** A digest, equal for agents that know the same directives; empty if there are none. */
  hash(): string {
    if (this.#known.size === 0) return '';
    this.#hash ??= this.#digest(
      this.all()
        .map(({ kind, host, value, n, by }) => JSON.stringify([kind, host, value, n, by]))
        .sort()
        .join(' '),
    );
    return this.#hash;
  }
}

/** The blocks and delays in force, and the revoked blocks, by host pattern. */
function compile(known: Iterable<Directive>) {
  const all = [...known];
  const of = (kind: Directive['kind'], holds: boolean) =>
    new HostPatterns(
      all
        .filter((directive) => directive.kind === kind && (directive.value !== null) === holds)
        .map((directive) => [directive.host, directive]),
    );
  return { block: of('block', true), unblock: of('block', false), delay: of('delay', true) };
}

/** The highest number in the directive: a round too far ahead would outrank later ones, too. */
function reachOf({ kind, value, n }: Directive): number {
  return kind === 'refresh' ? Math.max(n, value ?? 0) : n;
}

/** A refresh starts a round and cannot be revoked, so it is never in force. */
export function isInForce({ kind, value }: Directive): boolean {
  return value !== null && kind !== 'refresh';
}

/** Why a directive is not taken back. */
export function nothingToEnd({ kind }: Pick<Directive, 'kind'>): string {
  const why = kind === 'pause' ? 'the crawl is not paused' : 'no such directive is in force';
  return `${why}; there is nothing to end`;
}

/** Whether the directive names hosts. */
export function isOfHosts({ kind }: Pick<Directive, 'kind'>): boolean {
  return kind === 'block' || kind === 'delay';
}

/** Whether the directive names an agent, or all with `*`. */
export function isOfAgents({ kind }: Pick<Directive, 'kind'>): boolean {
  return kind === 'drain' || kind === 'capacity' || kind === 'threads';
}

export function registerOf({ kind, host }: Pick<Directive, 'kind' | 'host'>): string {
  return `${kind} ${host}`;
}

/**
 * Sorts the directives to keep first. A directive's number only grows, so all agents drop the same
 * ones.
 */
function byRank(a: Directive, b: Directive): number {
  if (a.kind !== b.kind) return RANKS.indexOf(a.kind) - RANKS.indexOf(b.kind);
  if (a.n !== b.n) return b.n - a.n;
  return registerOf(a) < registerOf(b) ? -1 : 1;
}

/** Totally ordered: agents that receive the same directives keep the same one. */
export function isLater(a: Directive, b: Directive): boolean {
  if (a.n !== b.n) return a.n > b.n;
  // Values decide only after a roll-back of a disk, when an agent may reuse a number.
  return a.by !== b.by ? a.by > b.by : (a.value ?? -1) > (b.value ?? -1);
}

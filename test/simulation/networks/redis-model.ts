// The pools of the networks on one simulated Redis server. Each operation is executed as a whole, as
// a script is. The data can be copied, for a restart with an older state.

import type {
  Digest,
  Entry,
  Frame,
  GivenUrl,
  HostAsk,
  HostGrant,
  HostRelease,
  Pools,
  VerdictFrame,
} from '../../../agent/networks/pools.ts';

/** The pools as a server executes them. */
export type PoolsModel = {
  [K in keyof Pools]: (...args: Parameters<Pools[K]>) => Awaited<ReturnType<Pools[K]>>;
};

interface HostLease {
  holder: string | null;
  until: number;
  next: number;
  grant: string;
  queue: { network: string; at: number }[];
}

interface NetworkData {
  finished: Set<Digest>;
  claimed: Set<Digest>;
  submitted: Entry[];
  inbox: Frame[];
  frames: Map<string, Frame>;
  verdicts: Map<string, { id: string; verdict: VerdictFrame }[]>;
  centre: { token: string; until: number } | null;
  mark: string;
  gifts: { id: string; urls: readonly GivenUrl[] }[];
  doubted: Set<string>;
  isFilled: boolean;
  filledBy: Set<string>;
  lapses: number;
}

interface ServerData {
  networks: Map<string, NetworkData>;
  leases: Map<string, HostLease>;
}

function emptyNetwork(): NetworkData {
  return {
    ...{ finished: new Set(), claimed: new Set(), submitted: [], inbox: [], frames: new Map() },
    ...{
      verdicts: new Map(),
      centre: null,
      mark: '',
      gifts: [],
      doubted: new Set(),
      isFilled: false,
      filledBy: new Set(),
      lapses: 0,
    },
  };
}

export class RedisModel {
  readonly #nowMs: () => number;
  #data: ServerData = { networks: new Map(), leases: new Map() };
  #lastId = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  copy(): ServerData {
    return structuredClone(this.#data);
  }

  /**
   * Another server process with this state; null: empty. It may be an old one, so the connections
   * keep only what cannot become false: the finished digests and the verdicts.
   */
  restart(data: ServerData | null): void {
    this.#data = data ?? { networks: new Map(), leases: new Map() };
    for (const [name, { finished, verdicts }] of this.#data.networks) {
      this.#data.networks.set(name, { ...emptyNetwork(), finished, verdicts });
    }
  }

  #of(network: string): NetworkData {
    const known = this.#data.networks.get(network);
    if (known) return known;
    const empty = emptyNetwork();
    this.#data.networks.set(network, empty);
    return empty;
  }

  isCentre(data: NetworkData, token: string): boolean {
    return data.centre?.token === token && data.centre.until > this.#nowMs();
  }

  hasCentre({ centre }: NetworkData): boolean {
    return centre !== null && centre.until > this.#nowMs();
  }

  isAtRest({ mark }: NetworkData): boolean {
    return mark.startsWith('rest');
  }

  pools(network: string): PoolsModel {
    const own = () => this.#of(network);
    const id = () => String(++this.#lastId);
    return {
      ...this.#frames(own, id),
      ...this.#sets(own),
      ...this.#role(own, id),
      acquire: (asker, hosts, leaseMs, grant) =>
        hosts.map((ask) => this.#acquire(asker, ask, leaseMs, grant)),
      releaseHosts: (asker, hosts) => {
        for (const each of hosts) this.#release(asker, each);
      },
    };
  }

  #frames(own: () => NetworkData, id: () => string) {
    return {
      submit: (frame: Frame) => {
        const { submitted } = own();
        if (submitted.some((entry) => entry.frame.number === frame.number)) return;
        submitted.push({ id: id(), frame });
      },
      ask: (frame: Frame) => void own().inbox.push(frame),
      take: (submittedMax: number, inboxMax: number) => {
        const { submitted, inbox } = own();
        return { submitted: submitted.slice(0, submittedMax), inbox: inbox.splice(0, inboxMax) };
      },
      claim: (token: string, { id: entryId, frame }: Entry) => {
        const data = own();
        if (!this.isCentre(data, token)) return null;
        data.submitted = data.submitted.filter((entry) => entry.id !== entryId);
        const kept = data.frames.get(frame.number);
        if (kept) return kept.marks!;
        if (this.isAtRest(data)) data.mark = `work ${frame.number}`;
        const marks = marksIn(data, frame.digests);
        for (const [i, digest] of frame.digests.entries()) {
          if (marks[i] === '0') data.claimed.add(digest);
        }
        data.frames.set(frame.number, { ...frame, marks });
        return marks;
      },
      settle: (
        token: string,
        origin: string,
        verdict: VerdictFrame,
        conceded: readonly Digest[],
      ) => {
        const data = own();
        if (!this.isCentre(data, token)) return false;
        if (!data.frames.delete(verdict.number)) return true;
        for (const digest of conceded) data.claimed.delete(digest);
        const stream = data.verdicts.get(origin) ?? [];
        stream.push({ id: id(), verdict });
        data.verdicts.set(origin, stream);
        return true;
      },
      openFrames: () => [...own().frames.values()],
      verdicts: (agent: string, after: string, max: number) =>
        (own().verdicts.get(agent) ?? []).filter((v) => Number(v.id) > Number(after)).slice(0, max),
    };
  }

  #sets(own: () => NetworkData) {
    return {
      marksOf: (digests: readonly Digest[]) => {
        const data = own();
        if (!data.isFilled) return null;
        const marks = marksIn(data, digests);
        return this.isAtRest(data) ? marks.replaceAll('q', '0') : marks;
      },
      finish: (digests: readonly Digest[]) => {
        for (const digest of digests) {
          own().finished.add(digest);
          own().claimed.delete(digest);
        }
      },
      release: (digests: readonly Digest[]) => {
        for (const digest of digests) own().claimed.delete(digest);
      },
      hold: (digests: readonly Digest[]) => {
        for (const digest of digests) if (!own().finished.has(digest)) own().claimed.add(digest);
      },
      lapse: (digests: readonly Digest[]) => {
        if (this.hasCentre(own())) return false;
        for (const digest of digests) own().claimed.delete(digest);
        if (digests.length > 0) own().lapses++;
        return true;
      },
      lapses: () => (this.hasCentre(own()) ? own().lapses : null),
      doubt: (identities: readonly string[]) => {
        for (const identity of identities) own().doubted.add(identity);
      },
      doubted: (max: number) => [...own().doubted].slice(0, max),
      examined: (identities: readonly string[]) => {
        for (const identity of identities) own().doubted.delete(identity);
      },
      filledBy: () => (own().isFilled ? null : [...own().filledBy]),
      addFilled: (agent: string) => void own().filledBy.add(agent),
      setFilled: () => {
        own().isFilled = true;
      },
    };
  }

  #role(own: () => NetworkData, id: () => string) {
    return {
      give: (urls: readonly GivenUrl[], mark: string) => {
        own().gifts.push({ id: id(), urls });
        own().mark = mark;
      },
      gifts: (max: number) => own().gifts.slice(0, max),
      received: (ids: readonly string[], mark: string) => {
        own().gifts = own().gifts.filter((gift) => !ids.includes(gift.id));
        own().mark = mark;
      },
      lead: (token: string, leaseMs: number) => {
        const data = own();
        if (this.hasCentre(data) && !this.isCentre(data, token)) return false;
        data.centre = { token, until: this.#nowMs() + leaseMs };
        return true;
      },
      resign: (token: string) => {
        if (own().centre?.token === token) own().centre = null;
      },
      presence: () => {
        return { hasCentre: this.hasCentre(own()), mark: own().mark };
      },
      mark: (before: string, after: string) => {
        const data = own();
        const isRefused = after.startsWith('rest') && data.gifts.length > 0;
        if (data.mark === before && !isRefused) data.mark = after;
        return data.mark;
      },
    };
  }

  #acquire(asker: string, { host, delayMs }: HostAsk, leaseMs: number, grant: string): HostGrant {
    const now = this.#nowMs();
    let lease = this.#data.leases.get(host);
    if (!lease) {
      lease = { holder: null, until: 0, next: 0, grant: '', queue: [] };
      this.#data.leases.set(host, lease);
    }
    lease.queue = lease.queue.filter(({ at }) => at > now - leaseMs / 2);
    const isHeld = lease.holder !== null && lease.until > now;
    const isOwn = isHeld && lease.holder === asker;
    const [head] = lease.queue;
    if (!isOwn && (isHeld || (head && head.network !== asker))) {
      const place = lease.queue.find(({ network }) => network === asker);
      if (place) place.at = now;
      else lease.queue.push({ network: asker, at: now });
      return { host, waitMs: null };
    }
    if (!isOwn && lease.holder !== null && lease.holder !== asker) {
      lease.next = Math.max(lease.next, lease.until + delayMs);
    }
    lease.queue = lease.queue.filter(({ network }) => network !== asker);
    Object.assign(lease, { holder: asker, until: now + leaseMs, grant });
    return { host, waitMs: Math.max(0, lease.next - now) };
  }

  isGranted(lease: HostLease, grant: string): boolean {
    return lease.grant === grant;
  }

  #release(asker: string, { host, delayMs, grant }: HostRelease): void {
    const lease = this.#data.leases.get(host);
    if (lease?.holder !== asker || !this.isGranted(lease, grant)) return;
    lease.holder = null;
    lease.next = Math.max(lease.next, this.#nowMs() + delayMs);
  }
}

function marksIn(data: NetworkData, digests: readonly Digest[]): string {
  const mark = (digest: Digest) =>
    data.finished.has(digest) ? 'f' : data.claimed.has(digest) ? 'q' : '0';
  return digests.map(mark).join('');
}

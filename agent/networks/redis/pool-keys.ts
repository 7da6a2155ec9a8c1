// The names of the keys in Redis: ubiring:{CRAWL/NETWORK}:NAME. The braces are Redis Cluster's hash
// tag: all keys of a network are in one slot, so each script finds its keys on one node. The sets of
// digests have 256 shards, so none is so large that Redis stands still while it grows or is moved.
// A restarted server may load an old state. Keys that are wrong then contain the run id of the server
// process: ubiring:{CRAWL/NETWORK}:RUN:NAME. Finished digests, verdicts and leases stay valid.

import type { Digest } from '../pools.ts';

export const shardsMax = 256;

/** The alphabet of base64url in the order of its values. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 16 bytes: 21 characters of 6 bits and one of 2. */
const digestForm = /^[A-Za-z0-9_-]{21}[AQgw]$/;

export function isDigest(text: string): boolean {
  return digestForm.test(text);
}

/** @returns the first byte of the digest */
export function shardOf(digest: Digest): number {
  return (alphabet.indexOf(digest[0]!) << 2) | (alphabet.indexOf(digest[1]!) >> 4);
}

/** The keys of one network. */
export class PoolKeys {
  readonly urlPool: string;
  /** The ids in URL_pool by frame number. */
  readonly submitted: string;
  readonly localReducePool: string;
  readonly distReducePool: string;
  readonly inbox: string;
  readonly centre: string;
  readonly mark: string;
  readonly gifts: string;
  readonly doubted: string;
  readonly filled: string;
  /** How often others have removed claims. */
  readonly lapses: string;
  readonly settings: string;
  /** Where the centre runs: machine and data directory. */
  readonly home: string;
  /** Those who have announced the settings and may yet be refused. */
  readonly announcers: string;
  readonly filledBy: string;
  /** The server process that the network used last. */
  readonly server: string;
  readonly #prefix: string;
  readonly #run: string;
  /** Keys with the run id, without those of shards. */
  readonly #ofRun: string[] = [];

  /** @param run - the run id of the server process */
  constructor(crawl: string, network: string, run: string) {
    // Slashes separate the parts of a tag, and braces limit it.
    this.#prefix = `ubiring:{${encodeURIComponent(crawl)}/${network}}`;
    this.#run = run;
    this.server = `${this.#prefix}:server`;
    this.urlPool = this.#key('URL_pool');
    this.submitted = this.#key('submitted');
    this.localReducePool = this.#key('local_reduce_pool');
    this.distReducePool = this.#key('dist_reduce_pool');
    this.inbox = this.#key('inbox');
    this.centre = this.#key('centre');
    this.mark = this.#key('mark');
    this.gifts = this.#key('gifts');
    this.doubted = this.#key('doubted');
    this.settings = this.#key('settings');
    this.home = this.#key('home');
    this.announcers = this.#key('announcers');
    this.filled = this.#key('filled');
    this.lapses = this.#key('lapses');
    this.filledBy = this.#key('filled_by');
  }

  /** All keys with the run id. */
  ofRun(): string[] {
    const shards = Array.from({ length: shardsMax }, (_, shard) => this.taskUrl(shard));
    return [...this.#ofRun, ...shards];
  }

  taskPool(agent: string): string {
    return `${this.#prefix}:task_pool:${agent}`;
  }

  finishUrl(shard: number): string {
    return `${this.#prefix}:finish_URL:${hex(shard)}`;
  }

  taskUrl(shard: number): string {
    return `${this.#prefix}:${this.#run}:task_URL:${hex(shard)}`;
  }

  /** The host's home is this network. */
  lease(host: string): string {
    return `${this.#prefix}:lease:${host}`;
  }

  /** The networks that wait for the lease. */
  queue(host: string): string {
    return `${this.#prefix}:queue:${host}`;
  }

  #key(name: string): string {
    const key = `${this.#prefix}:${this.#run}:${name}`;
    this.#ofRun.push(key);
    return key;
  }
}

const types: Readonly<Record<string, string>> = {
  ...{ URL_pool: 'stream', inbox: 'stream', task_pool: 'stream', gifts: 'stream' },
  ...{ submitted: 'hash', local_reduce_pool: 'hash', dist_reduce_pool: 'hash', lease: 'hash' },
  ...{ finish_URL: 'set', task_URL: 'set', doubted: 'set', filled_by: 'set', queue: 'list' },
  announcers: 'set',
};

/** @returns the type that TYPE of Redis gives */
export function typeOfKey(key: string): string {
  const [first = '', second = ''] = key.slice(key.indexOf('}:') + 2).split(':');
  return types[first] ?? types[second] ?? 'string';
}

function hex(shard: number): string {
  return shard.toString(16).padStart(2, '0');
}

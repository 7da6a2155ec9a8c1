// The names of the keys in Redis: ubiring:{CRAWL/NETWORK}:NAME, and ubiring:{CRAWL/HOST}:lease for
// the leases of hosts. The braces are Redis Cluster's hash tag: keys with one tag are on one node.
// The sets of digests have 256 shards with tags of their own, so that they can be on several nodes.
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
  readonly localReducePool: string;
  readonly distReducePool: string;
  readonly inbox: string;
  readonly centre: string;
  readonly filled: string;
  readonly filledBy: string;
  readonly #crawl: string;
  readonly #tag: string;
  readonly #run: string;

  /** @param run - the run id of the server process */
  constructor(crawl: string, network: string, run: string) {
    // Slashes separate the parts of a tag, and braces limit it.
    this.#crawl = encodeURIComponent(crawl);
    this.#tag = `${this.#crawl}/${network}`;
    this.#run = run;
    this.urlPool = this.#key('URL_pool');
    this.localReducePool = this.#key('local_reduce_pool');
    this.distReducePool = this.#key('dist_reduce_pool');
    this.inbox = this.#key('inbox');
    this.centre = this.#key('centre');
    this.filled = this.#key('filled');
    this.filledBy = this.#key('filled_by');
  }

  taskPool(agent: string): string {
    return `ubiring:{${this.#tag}}:task_pool:${agent}`;
  }

  finishUrl(shard: number): string {
    return `ubiring:{${this.#tag}/${hex(shard)}}:finish_URL:${hex(shard)}`;
  }

  taskUrl(shard: number): string {
    return `ubiring:{${this.#tag}/${hex(shard)}}:${this.#run}:task_URL:${hex(shard)}`;
  }

  lease(host: string): string {
    return `ubiring:{${this.#crawl}/${host}}:lease`;
  }

  /** The networks that wait for the lease. */
  queue(host: string): string {
    return `ubiring:{${this.#crawl}/${host}}:queue`;
  }

  #key(name: string): string {
    return `ubiring:{${this.#tag}}:${this.#run}:${name}`;
  }
}

function hex(shard: number): string {
  return shard.toString(16).padStart(2, '0');
}

// The input of each part of `networks.ts`.

export interface NetworksGiven {
  /** Numbers of networks that crawl one web. */
  readonly networks: readonly number[];
  /** Agents of a network. */
  readonly agents: number;
  readonly hosts: number;
  readonly pages: number;
  readonly bytes: number;
  readonly threads: number;
  readonly batch: number;
  readonly runs: number;
  /** Digests in the pools whose memory is measured. */
  readonly digests: number;
}

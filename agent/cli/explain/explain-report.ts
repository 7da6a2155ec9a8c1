// What `ubiring explain` tells of a URL, as plain data: printed as JSON, or by explain-text.ts.

import type { Explanation } from '../../control/explanation.ts';

/** One filter that a URL has to pass. */
export interface FilterVerdict {
  readonly filter: 'scope' | 'address' | 'length' | 'depth' | 'trap' | 'pages' | 'block' | 'robots';
  /** Null where it cannot be told yet. */
  readonly passes: boolean | null;
  readonly why: string;
}

/** A page on the way from the seed to the URL. */
export interface ChainLink {
  readonly url: string;
  /** Null where nobody who was asked has it. */
  readonly agent: string | null;
  readonly state: string;
  readonly status: number | null;
  readonly fetchedAt: number | null;
}

/** What `--json` prints. */
export interface UrlReport {
  readonly url: string;
  readonly identity: string;
  readonly fetchUrl: string;
  readonly host: string;
  /** The present owner as far as known; null where nothing runs and nothing is stored. */
  readonly owner: string | null;
  /** Of all agents in the config. */
  readonly order: readonly string[];
  readonly source: 'agents' | 'files';
  readonly filters: readonly FilterVerdict[];
  readonly state: string;
  /** When its first referrer was fetched: then the link was found. Unix milliseconds. */
  readonly foundAt: number | null;
  /** From the page that it was found on up to a seed; empty for a seed. */
  readonly chain: readonly ChainLink[];
  readonly stored: Explanation | null;
}

// Pages of the simulated web that do not answer the first request. They redirect to another form of
// their own URL (like a session parameter or a cookie), or their server closes the connection. Some
// links spell a URL differently from its identity. These draws have their own random source, seeded
// by the run.

import type { PageRequest } from '../../agent/core/protocol/effects.ts';
import type { Outcome } from '../../agent/core/protocol/outcome.ts';
import type { RequestForm } from '../../agent/url/crawl-url.ts';
import { Random } from './random.ts';

/** Redirects of a page to itself. The crawler follows five. */
const MOVES_MAX = 3;
const SHARE_OF_PAGES = 0.2;
const SHARE_OF_LINKS = 0.1;

/** The answer of an odd page instead of its content. */
export type OddAnswer = { readonly kind: 'moves'; readonly to: RequestForm } | { kind: 'closes' };

interface OddPage {
  /** One for each request, in this order. */
  readonly answers: readonly OddAnswer[];
}

/** The odd pages of one web. It counts the requests. */
export class OddPages {
  readonly #pages: ReadonlyMap<string, OddPage>;
  readonly #formOf: ReadonlyMap<string, RequestForm>;
  readonly #asked = new Map<string, number>();

  constructor(pages: ReadonlyMap<string, OddPage>, formOf: ReadonlyMap<string, RequestForm>) {
    this.#pages = pages;
    this.#formOf = formOf;
  }

  /** The answer to this request; null: the page itself. */
  next({ kind, url }: PageRequest): OddAnswer | null {
    const page = kind === 'page' ? this.#pages.get(url) : undefined;
    if (!page) return null;
    const asked = this.#asked.get(url) ?? 0;
    this.#asked.set(url, asked + 1);
    return page.answers[asked] ?? null;
  }

  /** The spelling of the URL in links. */
  spelled(url: string): { url: string; fetchUrl?: RequestForm } {
    const fetchUrl = this.#formOf.get(url);
    return fetchUrl === undefined ? { url } : { url, fetchUrl };
  }
}

export const EVEN_PAGES = new OddPages(new Map(), new Map());

/**
 * Makes some pages odd in a third of the runs.
 *
 * @param closes - whether connections are closed, too; such a page is requested again after ten
 *   seconds
 */
export function drawOddPages(seed: number, urls: readonly string[], closes: boolean): OddPages {
  const random = new Random(seed * 15_485_863 + 101);
  if (!random.chance(0.35)) return EVEN_PAGES;
  const pages = new Map<string, OddPage>();
  const formOf = new Map<string, RequestForm>();
  for (const url of urls) {
    if (random.chance(SHARE_OF_LINKS)) formOf.set(url, `${url}?found`);
    if (!random.chance(SHARE_OF_PAGES)) continue;
    const moves = Array.from({ length: random.whole(1, MOVES_MAX) }, (_, i): OddAnswer => {
      return { kind: 'moves', to: random.chance(0.5) ? url : `${url}?form=${i}` };
    });
    const answers = closes && random.chance(0.5) ? [{ kind: 'closes' } as const] : moves;
    pages.set(url, { answers });
  }
  return new OddPages(pages, formOf);
}

export function oddAnswer(
  odd: OddAnswer,
  common: Pick<Outcome, 'request' | 'endedAt' | 'durationMs' | 'ip'>,
): Outcome {
  if (odd.kind === 'closes') {
    const code = 'reset';
    return { ...common, kind: 'failure', code, message: 'closed', cause: 'no-answer' };
  }
  const none = { contentType: null, bytes: 0, digest: null, simhash: null, retryAfterMs: null };
  const rest = { truncated: false, note: null, links: [], outOfScope: 0 };
  const moved = { redirectTo: common.request.url, moved: odd.to };
  return { ...common, kind: 'response', status: 302, ...none, ...rest, ...moved };
}

// Pages of the simulated web that are not answered at the first request: they lead to another form
// of their own URL (as a session parameter does, or a cookie that is set), or their server closes the
// connection. And links that spell a URL in another way than its identity. Drawn from the seed of a
// run, apart from all its other draws.

import type { PageRequest } from '../../agent/core/protocol/effects.ts';
import type { Outcome } from '../../agent/core/protocol/outcome.ts';
import type { RequestForm } from '../../agent/url/crawl-url.ts';
import { Random } from './random.ts';

/** Of the five redirects of a page to itself that are followed. */
const MOVES_MAX = 3;
const SHARE_OF_PAGES = 0.2;
const SHARE_OF_LINKS = 0.1;

/** What a page answers in place of itself. */
export type OddAnswer = { readonly kind: 'moves'; readonly to: RequestForm } | { kind: 'closes' };

interface OddPage {
  /** In this order, one for each request. */
  readonly answers: readonly OddAnswer[];
}

/** One web; it counts its requests. */
export class OddPages {
  readonly #pages: ReadonlyMap<string, OddPage>;
  readonly #formOf: ReadonlyMap<string, RequestForm>;
  readonly #asked = new Map<string, number>();

  constructor(pages: ReadonlyMap<string, OddPage>, formOf: ReadonlyMap<string, RequestForm>) {
    this.#pages = pages;
    this.#formOf = formOf;
  }

  /** What this request is answered with; null: the page. */
  next({ kind, url }: PageRequest): OddAnswer | null {
    const page = kind === 'page' ? this.#pages.get(url) : undefined;
    if (!page) return null;
    const asked = this.#asked.get(url) ?? 0;
    this.#asked.set(url, asked + 1);
    return page.answers[asked] ?? null;
  }

  /** As links spell the URL. */
  spelled(url: string): { url: string; fetchUrl?: RequestForm } {
    const fetchUrl = this.#formOf.get(url);
    return fetchUrl === undefined ? { url } : { url, fetchUrl };
  }
}

export const EVEN_PAGES = new OddPages(new Map(), new Map());

/**
 * In a third of the runs some pages are odd.
 *
 * @param closes - whether connections are closed, too: such a page is tried again after ten seconds
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

// A plain breadth-first walk over a web by its HTML alone, as the independent witness that what the
// model expects can be reached, and by whom. It knows links, base, refresh, redirects and nofollow,
// and nothing of the model. Used by the tests of the synthetic web.
import { Parser } from 'htmlparser2';
import { plainTarget } from '../../web/model.ts';

/** What the walk needs of an answer; keys of `headers` in lower case. */
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Walk {
  readonly visited: ReadonlySet<string>;
  /** For each URL found, the pages that lead to it (other than itself). */
  readonly referrers: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface WalkRules {
  /** Follow links that say nofollow as well. */
  readonly nofollowToo?: boolean;
  readonly allows?: (url: URL) => boolean;
  /** Ends the walk of a web that has no end. */
  readonly urlsMax?: number;
}

const linkAttributes: Readonly<Record<string, string>> = {
  a: 'href',
  area: 'href',
  link: 'href',
  iframe: 'src',
  frame: 'src',
};

/** Walks from `seed`; `get` answers for a URL and is asked again where the answer is 503. */
export async function walk(
  seed: string,
  get: (url: URL) => Got | Promise<Got>,
  rules: WalkRules = {},
): Promise<Walk> {
  const queue = [seed];
  const visited = new Set(queue);
  const referrers = new Map<string, Set<string>>();
  for (const from of queue) {
    let got = await get(new URL(from));
    if (got.status === 503) got = await get(new URL(from));
    for (const link of linksOf(from, got, rules.nofollowToo === true)) {
      const url = identityOf(link);
      if (url !== from) referrers.set(url, (referrers.get(url) ?? new Set()).add(from));
      if (visited.has(url) || rules.allows?.(new URL(url)) === false) continue;
      if (visited.size >= (rules.urlsMax ?? 200_000)) return { visited, referrers };
      visited.add(url);
      queue.push(url);
    }
  }
  return { visited, referrers };
}

function identityOf(url: URL): string {
  return url.origin + plainTarget(url.pathname + url.search);
}

function linksOf(from: string, { status, headers, body }: Got, nofollowToo: boolean): URL[] {
  if (status >= 300 && status < 400) return [new URL(headers.location ?? '', from)];
  if (status !== 200 || !headers['content-type']?.startsWith('text/html')) return [];
  let base = new URL(from);
  let nofollow = false;
  const found: string[] = [];
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (name === 'base' && attributes.href) base = new URL(attributes.href, from);
      if (name === 'meta') {
        const content = attributes.content ?? '';
        if (attributes.name?.toLowerCase() === 'robots' && content.includes('nofollow')) {
          nofollow = true;
        }
        const refresh = /url='([^']+)'/i.exec(content);
        if (attributes['http-equiv']?.toLowerCase() === 'refresh' && refresh?.[1]) {
          found.push(refresh[1]);
        }
      }
      const value = attributes[linkAttributes[name] ?? ''];
      if (
        value !== undefined &&
        (nofollowToo || !attributes.rel?.toLowerCase().includes('nofollow'))
      ) {
        found.push(value);
      }
    },
  });
  parser.end(Buffer.from(body).toString('latin1'));
  if (nofollow && !nofollowToo) return [];
  return found.map((href) => new URL(href, base)).filter(({ protocol }) => protocol === 'http:');
}

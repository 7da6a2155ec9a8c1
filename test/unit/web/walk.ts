// A plain breadth-first walk over a web by its HTML only, as independent evidence of which expected
// pages are reachable under which rules. It follows links, base, refresh and redirects and obeys
// nofollow, without the model.
import { Parser } from 'htmlparser2';
import { plainTarget } from '../../web/model.ts';

/** The parts of an answer that the walk needs; the keys of `headers` are in lower case. */
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Walk {
  readonly visited: ReadonlySet<string>;
  /** The pages that lead to each found URL, other than the URL itself. */
  readonly referrers: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface WalkRules {
  /** Follows links with nofollow, too. */
  readonly nofollowToo?: boolean;
  readonly allows?: (url: URL) => boolean;
  /** Maximum of URLs, for a web that is endless. */
  readonly urlsMax?: number;
}

const linkAttributes: Readonly<Record<string, string>> = {
  a: 'href',
  area: 'href',
  link: 'href',
  iframe: 'src',
  frame: 'src',
};

/** Walks from `seed`; `get` answers for a URL and is called again if the answer is 503. */
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

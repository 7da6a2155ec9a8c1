// A random web for several networks: each page has links to others. Every network starts from its
// own seeds, and most pages are reachable from all of them.

import type { Random } from '../random.ts';

export interface Web {
  readonly links: ReadonlyMap<string, readonly string[]>;
  /** By network. */
  readonly seeds: readonly (readonly string[])[];
  readonly delayMs: ReadonlyMap<string, number>;
}

export function hostOf(page: string): string {
  return page.slice(0, page.indexOf('/'));
}

export function randomWeb(networks: number, random: Random): Web {
  const hosts = Array.from({ length: random.whole(4, 14) }, (_, i) => `h${i}`);
  const pages = Array.from(
    { length: random.whole(60, 200) },
    (_, i) => `${random.pick(hosts)}/${i}`,
  );
  const links = new Map(
    pages.map((page, i) => {
      const next = pages[(i + 1) % pages.length]!;
      const others = Array.from({ length: random.whole(0, 6) }, () => random.pick(pages));
      return [page, [next, ...others]];
    }),
  );
  const some = () => Array.from({ length: random.whole(1, 6) }, () => random.pick(pages));
  const same = random.chance(0.5) ? some() : null;
  const seeds = Array.from({ length: networks }, () => same ?? some());
  const delayMs = new Map(hosts.map((host) => [host, random.whole(20, 300)]));
  return { links, seeds, delayMs };
}

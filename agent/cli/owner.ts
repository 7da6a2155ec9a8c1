// `ubiring owner`: the order in which agents answer for a host, as each agent computes it for
// itself from the config's members. It asks nobody, so it tells what holds when all are there:
// where some are gone, the first of the rest is the owner.

import { hash } from 'node:crypto';
import { Ring } from '../../assignment/ring.ts';
import { type Config, membersOf } from '../../config/config.ts';
import { parseCrawlUrl } from '../url/crawl-url.ts';
import type { ExitCode } from './exit-code.ts';
import { type CommonFlags, load } from './load.ts';
import { print, say } from './output.ts';

/** Prints one JSON line for each host, in the order asked. */
export async function owner(
  file: string,
  texts: readonly string[],
  flags: CommonFlags,
): Promise<ExitCode> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const ring = ringOf(loaded.config);
  const lines: string[] = [];
  for (const text of texts) {
    const host = hostOf(text);
    if (host === null) {
      say(`${JSON.stringify(text)} is neither a host nor an http or https URL`);
      return 2;
    }
    lines.push(`${JSON.stringify({ host, order: ring.order(host) })}\n`);
  }
  await print(lines.join(''));
  return 0;
}

/** The ring of all configured agents. */
export function ringOf(config: Config): Ring {
  const { replicas } = config.cluster;
  return new Ring(membersOf(config), {
    replicas,
    sha256: (text) => hash('sha256', text, 'buffer'),
  });
}

/** @returns the serialised host of a URL or of a bare host, or null where it is neither */
export function hostOf(text: string): string | null {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const bareIpv6 = !isUrl && /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text);
  if (!isUrl && /[\s/?#@\\]/.test(text)) return null;
  const url = parseCrawlUrl(isUrl ? text : bareIpv6 ? `http://[${text}]/` : `http://${text}/`);
  return 'refused' in url ? null : url.host;
}

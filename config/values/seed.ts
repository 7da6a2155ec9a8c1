// What is wrong with a seed, wherever it stands: in the config, in a seed file, in an order to a
// running crawl. Apart from the schema, since agents ask it too and need nothing else of that.

import { hostOfSeed } from './host.ts';

/** Rows and messages between agents take no longer URLs, and no server does. */
const SEED_CHARS_MAX = 8000;
/** No name in the DNS has more than 253. */
const HOST_CHARS_MAX = 255;

/** @returns what is wrong with a seed and what to do, or null where it is right. */
export function seedProblem(text: string): { message: string; remedy: string } | null {
  const shown = JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
  const url = URL.parse(text);
  const host = hostOfSeed(text);
  if (url !== null && host !== null) return lengthProblem(url.href, host, shown);
  const schemeless = URL.canParse(`https://${text}`) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const remedy = schemeless
    ? `write ${JSON.stringify(`https://${text}`.slice(0, 200))}`
    : 'write an absolute http or https URL';
  if (url === null) return { message: `seed ${shown} is no absolute URL`, remedy };
  if (url.protocol === 'http:' || url.protocol === 'https:') {
    return { message: `seed ${shown} has no usable host`, remedy: 'write the name of a host' };
  }
  return { message: `seed ${shown} is not http or https`, remedy };
}

/** Escapes count: what is written with few characters may be sent with many. */
function lengthProblem(href: string, host: string, shown: string) {
  if (host.length > HOST_CHARS_MAX) {
    const message = `seed ${shown} has a host of ${host.length} characters`;
    return { message, remedy: `write the name of a host, of at most ${HOST_CHARS_MAX}` };
  }
  if (href.length <= SEED_CHARS_MAX) return null;
  const message = `seed ${shown} has ${href.length} characters, more than ${SEED_CHARS_MAX}`;
  return { message, remedy: 'write a shorter URL: no server takes this one' };
}

// Checks a seed from the config, a seed file or a command. It is separate from the schema because
// agents need only this check.

import { hostOfSeed } from './host.ts';

/** Characters of a URL: stays below the limit of messages between agents. */
const SEED_CHARS_MAX = 8000;
/** Characters of a host: DNS allows 253. */
const HOST_CHARS_MAX = 255;

/** @returns what is wrong with the seed and what to write instead; null if it is valid */
export function seedProblem(text: string): { message: string; remedy: string } | null {
  const shown = JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
  const url = URL.parse(text);
  const host = hostOfSeed(text);
  if (url !== null && host !== null) return lengthProblem(url.href, host, shown);
  const schemeless = URL.canParse(`https://${text}`) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const remedy = schemeless
    ? `write ${JSON.stringify(`https://${text}`.slice(0, 200))}`
    : 'write an absolute http or https URL';
  if (url === null) return { message: `seed ${shown} is not an absolute URL`, remedy };
  if (url.protocol === 'http:' || url.protocol === 'https:') {
    return { message: `seed ${shown} has no valid host`, remedy: 'write the name of a host' };
  }
  return { message: `seed ${shown} is not http or https`, remedy };
}

/** Checks the serialized URL, because escapes can make it longer than the seed. */
function lengthProblem(href: string, host: string, shown: string) {
  if (host.length > HOST_CHARS_MAX) {
    const message = `seed ${shown} has a host of ${host.length} characters`;
    return { message, remedy: `write a host of at most ${HOST_CHARS_MAX} characters` };
  }
  if (href.length <= SEED_CHARS_MAX) return null;
  const message = `seed ${shown} has ${href.length} characters, more than ${SEED_CHARS_MAX}`;
  return { message, remedy: 'write a shorter URL' };
}

// The zod types of single values: durations, sizes, identifiers, endpoints, patterns. An error has a
// message and a remedy, and `meta.example` is a valid value. Each value is checked alone, so that one
// error does not hide another.

import { z } from 'zod';
import { isWildcard, parseEndpoint } from '../values/agent-endpoint.ts';
import { parseHostPattern } from '../values/host.ts';
import { compilePattern } from '../values/linear-pattern.ts';
import {
  durationMsMax,
  durationPattern,
  parseDuration,
  parseSize,
  sizePattern,
} from '../values/quantity.ts';
import { seedProblem } from '../values/seed.ts';

const DURATION_HINT = 'write milliseconds (500) or a string with ms, s, m or h (10s)';
const SIZE_HINT = 'write bytes (65536) or a string with B, KiB, MiB or GiB (2MiB)';

/** The identifier names the directory `DATA/ID`; most file systems limit names to 255 bytes. */
const ID_BYTES_MAX = 255;
const ID = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}._-]{0,63}$/u;
/** Names of files beside the agents' directories. */
const RESERVED_ID = /^(cluster|complete)\.json/i;

/** Characters: far below the 8 KiB that servers allow for a header line. */
const USER_AGENT_MAX = 500;
/** Characters: a longer expression is probably a list, which belongs in `scope.hosts`. */
const REGEX_LENGTH_MAX = 2000;

/** @param min - in milliseconds, inclusive */
export function duration(min: number) {
  const number = z.int().min(min).max(durationMsMax);
  const text = z.string().regex(durationPattern, { error: `is not a duration; ${DURATION_HINT}` });
  return z
    .union([number, text], { error: `is not a duration; ${DURATION_HINT}` })
    .transform((value, context) => {
      const ms = typeof value === 'number' ? value : parseDuration(value);
      if (ms !== null && ms >= min && ms <= durationMsMax) return ms;
      const range = `${min} to ${durationMsMax} ms`;
      refuse(context, `must be ${range}`, `write a duration such as 10s`);
      return z.NEVER;
    });
}

/** @param max - in bytes, inclusive; the minimum is 1 */
export function size(max: number) {
  const text = z.string().regex(sizePattern, { error: `is not a size; ${SIZE_HINT}` });
  return z
    .union([z.int().min(1).max(max), text], { error: `is not a size; ${SIZE_HINT}` })
    .transform((value, context) => {
      const bytes = typeof value === 'number' ? value : parseSize(value);
      if (bytes !== null && bytes >= 1 && bytes <= max) return bytes;
      refuse(context, `must be 1 to ${max} bytes`, 'write a size such as 2MiB');
      return z.NEVER;
    });
}

/** An agent's identifier. It is also the name of its directory. */
export const agentId = z
  .string()
  .superRefine((id, context) => {
    if (!ID.test(id) || Buffer.byteLength(id) > ID_BYTES_MAX) {
      const rule = '1 to 64 letters, digits, ".", "-" or "_", not starting with "." or "-"';
      refuse(context, `${JSON.stringify(id)} is not an identifier`, `write ${rule}`);
    } else if (RESERVED_ID.test(id)) {
      refuse(context, `${JSON.stringify(id)} is the name of a file`, 'choose another identifier');
    }
  })
  .meta({ example: 'a1' });

/** The endpoint that an agent binds. */
export const listenEndpoint = z
  .string()
  .superRefine((text, context) => void endpoint(text, context))
  .meta({ example: 'tcp://127.0.0.1:7101' });

/** The endpoint that peers connect to: not a wildcard. */
export const peerEndpoint = z
  .string()
  .superRefine((text, context) => {
    const parsed = endpoint(text, context);
    if (parsed === null || !isWildcard(parsed)) return;
    refuse(context, 'is a wildcard, to which peers cannot connect', 'write a host or an address');
  })
  .meta({ example: 'tcp://10.0.0.5:7101' });

/** A seed. The output is the text as written. */
export const seedUrl = z
  .string()
  .superRefine((text, context) => {
    const wrong = seedProblem(text);
    if (wrong !== null) refuse(context, wrong.message, wrong.remedy);
  })
  .meta({ example: 'https://example.org/' });

/** A host pattern. The output is its serialized form. */
export const hostPattern = z
  .string()
  .transform((text, context) => {
    const pattern = parseHostPattern(text);
    if (pattern !== null) return pattern;
    const remedy = 'write a host without port or path, "*.host" for its subdomains, or "*"';
    refuse(context, `${JSON.stringify(text)} is not a host pattern`, remedy);
    return z.NEVER;
  })
  .meta({ example: '*.example.org' });

/** The source of a regular expression that can be matched in linear time. */
export const regexSource = z
  .string()
  .min(1)
  .max(REGEX_LENGTH_MAX)
  .superRefine((source, context) => {
    const compiled = compilePattern(source);
    if (!compiled.ok) refuse(context, compiled.message, compiled.remedy);
  })
  .meta({ example: '/docs/' });

/** The User-Agent header. It starts with the product name to which robots.txt files refer. */
export const userAgent = z
  .string()
  .min(1)
  .max(USER_AGENT_MAX)
  .superRefine((text, context) => {
    if (!/^[\x20-\x7e]*$/.test(text) || text.trim() !== text) {
      const remedy = 'write printable ASCII without leading or trailing spaces';
      refuse(context, 'contains characters that an HTTP header must not contain', remedy);
    } else if (text !== '' && !/^[A-Za-z_-]/.test(text)) {
      const remedy = 'start with a name, as in "my-crawl (+https://example.org/bot)"';
      refuse(context, 'has no product name to which a robots.txt could refer', remedy);
    }
  });

type RefusalContext = {
  addIssue(issue: { code: 'custom'; message: string; params: { remedy: string } }): void;
};

function endpoint(text: string, context: RefusalContext) {
  const parsed = parseEndpoint(text);
  if (parsed !== null) return parsed;
  const remedy = 'write tcp://HOST:PORT with a port from 1 to 65535, as in tcp://127.0.0.1:7101';
  refuse(context, `${JSON.stringify(text)} is not an endpoint`, remedy);
  return null;
}

function refuse(context: RefusalContext, message: string, remedy: string): void {
  context.addIssue({ code: 'custom', message, params: { remedy } });
}

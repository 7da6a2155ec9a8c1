// The kinds of value that a config key can have: a duration, a size, an agent's identifier, a URL…
// Each is a zod type that refuses with a message and a remedy, and says in `meta.example` how a right
// one looks; `schema.ts` puts them together. A leaf judges its value alone, so that one wrong value
// hides no other.

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

/** `DATA/ID` is a directory, and file names end at 255 bytes nearly everywhere. */
const ID_BYTES_MAX = 255;
const ID = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}._-]{0,63}$/u;
/** Files that the product keeps next to the agents' directories. */
const RESERVED_ID = /^(cluster|complete)\.json/i;

/** Header lines of servers end at 8 KiB; a name needs far less. */
const USER_AGENT_MAX = 500;
/** Longer regular expressions are lists: they belong into `scope.hosts`. */
const REGEX_LENGTH_MAX = 2000;

/** @param min - least milliseconds, inclusive */
export function duration(min: number) {
  const number = z.int().min(min).max(durationMsMax);
  const text = z.string().regex(durationPattern, { error: `is not a duration; ${DURATION_HINT}` });
  return z
    .union([number, text], { error: `is not a duration; ${DURATION_HINT}` })
    .transform((value, context) => {
      const ms = typeof value === 'number' ? value : parseDuration(value);
      if (ms !== null && ms >= min && ms <= durationMsMax) return ms;
      const range = `${min} to ${durationMsMax} ms`;
      refuse(context, `must be ${range}`, `write such a duration, as in 10s`);
      return z.NEVER;
    });
}

/** @param max - most bytes, inclusive; the least is one */
export function size(max: number) {
  const text = z.string().regex(sizePattern, { error: `is not a size; ${SIZE_HINT}` });
  return z
    .union([z.int().min(1).max(max), text], { error: `is not a size; ${SIZE_HINT}` })
    .transform((value, context) => {
      const bytes = typeof value === 'number' ? value : parseSize(value);
      if (bytes !== null && bytes >= 1 && bytes <= max) return bytes;
      refuse(context, `must be 1 to ${max} bytes`, 'write such a size, as in 2MiB');
      return z.NEVER;
    });
}

/** An agent's identifier: its place on the ring and the name of its directory. */
export const agentId = z
  .string()
  .superRefine((id, context) => {
    if (!ID.test(id) || Buffer.byteLength(id) > ID_BYTES_MAX) {
      const rule = '1 to 64 letters, digits, ".", "-" or "_", not starting with "." or "-"';
      refuse(context, `${JSON.stringify(id)} is no identifier`, `write ${rule}`);
    } else if (RESERVED_ID.test(id)) {
      refuse(context, `${JSON.stringify(id)} is the name of a file`, 'choose another identifier');
    }
  })
  .meta({ example: 'a1' });

/** Where an agent binds its socket. */
export const listenEndpoint = z
  .string()
  .superRefine((text, context) => void endpoint(text, context))
  .meta({ example: 'tcp://127.0.0.1:7101' });

/** Where peers connect to: an endpoint, but never "every interface". */
export const peerEndpoint = z
  .string()
  .superRefine((text, context) => {
    const parsed = endpoint(text, context);
    if (parsed === null || !isWildcard(parsed)) return;
    refuse(context, 'is a wildcard, which nobody can connect to', 'write a host or its address');
  })
  .meta({ example: 'tcp://10.0.0.5:7101' });

/** A seed, kept as written. */
export const seedUrl = z
  .string()
  .superRefine((text, context) => {
    const wrong = seedProblem(text);
    if (wrong !== null) refuse(context, wrong.message, wrong.remedy);
  })
  .meta({ example: 'https://example.org/' });

/** A pattern of hosts, brought to serialised form. */
export const hostPattern = z
  .string()
  .transform((text, context) => {
    const pattern = parseHostPattern(text);
    if (pattern !== null) return pattern;
    const remedy = 'write a host without port or path, "*.host" for its subdomains, or "*"';
    refuse(context, `${JSON.stringify(text)} is no host pattern`, remedy);
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

/** The User-Agent header; its first word is what robots.txt files may address. */
export const userAgent = z
  .string()
  .min(1)
  .max(USER_AGENT_MAX)
  .superRefine((text, context) => {
    if (!/^[\x20-\x7e]*$/.test(text) || text.trim() !== text) {
      const remedy = 'write printable ASCII without space at either end';
      refuse(context, 'holds characters that no HTTP header may carry', remedy);
    } else if (text !== '' && !/^[A-Za-z_-]/.test(text)) {
      const remedy = 'start with a name, as in "my-crawl (+https://example.org/bot)"';
      refuse(context, 'has no product name that a robots.txt could address', remedy);
    }
  });

type RefusalContext = {
  addIssue(issue: { code: 'custom'; message: string; params: { remedy: string } }): void;
};

function endpoint(text: string, context: RefusalContext) {
  const parsed = parseEndpoint(text);
  if (parsed !== null) return parsed;
  const remedy = 'write tcp://HOST:PORT with a port of 1 to 65535, as in tcp://127.0.0.1:7101';
  refuse(context, `${JSON.stringify(text)} is no endpoint`, remedy);
  return null;
}

function refuse(context: RefusalContext, message: string, remedy: string): void {
  context.addIssue({ code: 'custom', message, params: { remedy } });
}

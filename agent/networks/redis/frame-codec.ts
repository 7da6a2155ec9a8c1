// Frames and verdicts as fields of streams and hashes: JSON in one field. Other programs can write
// to the same Redis, so what is read is checked; what is no frame counts as absent.

import type { Frame, GivenUrl, VerdictFrame } from '../pools.ts';
import { isDigest } from './pool-keys.ts';

/** As in `dedup.batch`. */
export const frameDigestsMax = 10_000;
const giftUrlsMax = 1000;
/** As in agent/url: longer URLs are neither stored nor sent to members. */
const urlLengthMax = 8000;
/** Characters of numbers and names. */
const nameLengthMax = 400;

export function frameText(frame: Frame): string {
  return JSON.stringify(frame);
}

export function verdictText(verdict: VerdictFrame): string {
  return JSON.stringify(verdict);
}

/** @returns null if `text` is not a frame */
export function readFrame(text: string): Frame | null {
  const value = parsed(text);
  if (value === null) return null;
  const { number, flag, network, origin, relay, sender, digests, seeds, identities, marks } = value;
  if (flag !== 1 && flag !== 2 && flag !== 3) return null;
  if (![number, network, origin, relay, sender].every(isName)) return null;
  if (!isList(digests) || digests.length === 0 || !digests.every(isDigest)) return null;
  const isMarked = typeof marks === 'string' && areMarks(marks, digests.length);
  if (marks !== undefined && !isMarked) return null;
  if (seeds !== undefined && !Number.isSafeInteger(seeds)) return null;
  const isNamed = Array.isArray(identities) && identities.every(isUrl);
  if (identities !== undefined && !(isNamed && identities.length === digests.length)) return null;
  // A question has none; a submitted frame has the marks before the claim, once it is claimed.
  if (flag === 3 ? !isMarked : flag === 2 && isMarked) return null;
  const more = Object.entries({ seeds, identities, marks }).filter(([, one]) => one !== undefined);
  // In the order of `frameText`, and without what is no part of a frame.
  const parts = { number, flag, network, origin, relay, sender, digests };
  return { ...parts, ...Object.fromEntries(more) } as Frame;
}

/** @returns null if `text` is not a frame that an agent of the network submitted */
export function readSubmitted(text: string, network: string): Frame | null {
  const frame = readFrame(text);
  return frame?.flag === 1 && frame.network === network ? frame : null;
}

/** @returns null if `text` is not the claimed frame with this number, with its marks */
export function readKept(text: string, number: string, network: string): Frame | null {
  const frame = readSubmitted(text, network);
  return frame?.number === number && frame.marks !== undefined ? frame : null;
}

/** Whether `text` has a mark for each digest. */
export function areMarks(text: string, count: number): boolean {
  return text.length === count && /^[0qf]*$/.test(text);
}

/** @returns from entries of a stream, by id, what `read` gives, and the ids for which it gives null */
export function readEntries<T>(reply: unknown, read: (text: string) => T | null) {
  const found: [id: string, value: T][] = [];
  const wrong: string[] = [];
  for (const [id, fields] of reply as [string, string[]][]) {
    const value = read(fields[1] ?? '');
    if (value === null) wrong.push(id);
    else found.push([id, value]);
  }
  return { found, wrong };
}

/** @returns null if `text` is not a verdict */
export function readVerdict(text: string): VerdictFrame | null {
  const value = parsed(text);
  if (value === null) return null;
  const { number, owners, finals, isPartial } = value;
  if (!isName(number) || !isList(owners) || typeof isPartial !== 'boolean') return null;
  if (typeof finals !== 'string' || finals.length !== owners.length) return null;
  return /^[01]*$/.test(finals) ? (value as unknown as VerdictFrame) : null;
}

/** @returns the URLs of a gift that have the right form */
export function readGift(text: string): GivenUrl[] {
  const list = parsed(`{"urls":${text}}`)?.urls;
  if (!Array.isArray(list)) return [];
  return list.slice(0, giftUrlsMax).flatMap((one: unknown) => {
    if (typeof one !== 'object' || one === null) return [];
    const { url, depth, referrer, sitemap } = one as Record<string, unknown>;
    if (!isUrl(url) || !Number.isSafeInteger(depth) || (depth as number) < 0) return [];
    const found = { url: url as string, depth: depth as number };
    const more = isUrl(referrer) ? { referrer: referrer as string } : {};
    return [{ ...found, ...more, ...(sitemap === true && { sitemap }) }];
  });
}

function isUrl(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= urlLengthMax;
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= nameLengthMax;
}

function isList(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= frameDigestsMax &&
    value.every((one) => typeof one === 'string' && one.length <= nameLengthMax)
  );
}

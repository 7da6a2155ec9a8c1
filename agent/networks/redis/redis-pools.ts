// The pools of one network in its Redis. Every operation that changes several keys is one script, so
// that it happens as a whole or not at all; lists longer than a script may be take several
// executions, in an order that is safe to break off. Keys expire after `unusedMsMax` without use, and
// streams have a maximum length, so that a crawl that nobody ends leaves nothing behind.

import assert from 'node:assert/strict';
import { type Difference, firstDifference } from '../../../config/fingerprint.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import type {
  Digest,
  Entry,
  Frame,
  GivenUrl,
  HostAsk,
  HostGrant,
  HostRelease,
  Pools,
  VerdictFrame,
} from '../pools.ts';
import {
  areMarks,
  frameDigestsMax,
  frameText,
  readEntries,
  readFrame,
  readGift,
  readKept,
  readSubmitted,
  readVerdict,
  verdictText,
} from './frame-codec.ts';
import * as leases from './lease-scripts.ts';
import { NetworkFailure, wrongType } from './network-failure.ts';
import { isDigest, PoolKeys, shardOf, shardsMax, typeOfKey } from './pool-keys.ts';
import * as scripts from './pool-scripts.ts';
import type { RedisLink } from './redis-link.ts';

const dayMs = 24 * 60 * 60 * 1000;
/** Keys that nobody uses for this time expire. It is longer than a crawl is interrupted. */
export const unusedMsMax = 14 * dayMs;
/** Shorter: while `filled` exists, no digest has expired. */
const filledMsMax = 13 * dayMs;
/** How often use prolongs the life of all keys: seldom enough to cost nothing. */
const touchMs = dayMs / 24;
const leaseKeyMsMin = dayMs;
/** Frames that wait in a stream. Agents send those that are lost again. */
const streamLengthMax = 10_000;
const doubtedMax = 1000;
/** Gifts that are lost return to the giver. */
const giftsLengthMax = 100;
/** Entries, ids or hosts of one call. */
const listLengthMax = 10_000;
/** Frames of one HSCAN. */
const scanCount = 100;
const streamId = /^\d{1,20}-\d{1,20}$/;

export class RedisPools implements Pools {
  readonly link: RedisLink;
  readonly #crawl: string;
  readonly #network: string;
  /** What all networks must agree on; '' if nothing is compared. */
  readonly settings: string;
  readonly home: string;
  #last: { readonly run: string; readonly keys: PoolKeys } | null = null;
  #touchedAt: number | null = null;

  constructor(link: RedisLink, crawl: string, network: string, settings = '', home = '') {
    this.home = home;
    this.settings = settings;
    this.link = link;
    this.#crawl = crawl;
    this.#network = network;
  }

  /** Those of the server process that is connected. */
  get keys(): PoolKeys {
    const run = this.link.serverRun;
    if (this.#last?.run !== run) {
      this.#last = { run, keys: new PoolKeys(this.#crawl, this.#network, run) };
    }
    return this.#last.keys;
  }

  async submit(frame: Frame): Promise<void> {
    const { urlPool, submitted } = this.keys;
    const args = [unusedMsMax, streamLengthMax, frame.number, checkedText(frame)];
    await this.run(scripts.submit, [urlPool, submitted], args);
  }

  async ask(frame: Frame): Promise<void> {
    const args = [unusedMsMax, streamLengthMax, checkedText(frame)];
    await this.run(scripts.append, [this.keys.inbox], args);
  }

  async take(submittedMax: number, inboxMax: number) {
    const { urlPool, inbox } = this.keys;
    const counts = [submittedMax === 0 ? 0 : bounded(submittedMax), bounded(inboxMax)];
    const reply = await this.run(scripts.take, [urlPool, inbox], counts);
    const [entries, received] = reply as [unknown, unknown];
    const read = (text: string) => readSubmitted(text, this.#network);
    const submitted = await this.#readEntries(urlPool, entries, read);
    return {
      submitted: submitted.map(([id, frame]) => ({ id, frame })),
      inbox: readEntries(received, readFrame).found.map(([, frame]) => frame),
    };
  }

  async claim(token: string, { id, frame }: Entry): Promise<string | null> {
    assert(frame.digests.length > 0 && streamId.test(id));
    const { centre, localReducePool, distReducePool, mark, urlPool, submitted } = this.keys;
    const parts = this.#partsOf(frame.digests);
    let marks = '';
    for (const [k, part] of parts.entries()) {
      const reply = await this.run(
        scripts.claim,
        [centre, localReducePool, distReducePool, mark, urlPool, submitted, ...part.keys],
        [
          ...[token, unusedMsMax, frame.number, frameText({ ...frame, marks: '' })],
          ...[k === 0 ? 1 : 0, k === parts.length - 1 ? 1 : 0, marks, id, ...part.args],
        ],
      );
      if (reply === null) return null;
      const text = String(reply);
      // The frame was claimed before.
      const kept = readKept(text, frame.number, this.#network);
      if (kept) return kept.marks!;
      if (!areMarks(text, part.args.length / 2)) {
        // Written by another program. The centre reads the open frames anew, which deletes the others.
        await this.#call(['HDEL', localReducePool, frame.number]);
        return null;
      }
      marks += text;
    }
    return marks;
  }

  async settle(
    token: string,
    origin: string,
    verdict: VerdictFrame,
    conceded: readonly Digest[],
  ): Promise<boolean> {
    const { centre, distReducePool } = this.keys;
    const parts = conceded.length === 0 ? [{ keys: [], args: [] }] : this.#partsOf(conceded);
    for (const [k, part] of parts.entries()) {
      // The verdict last: if this is broken off, the frame is still open.
      const text = k === parts.length - 1 ? verdictText(verdict) : '';
      const reply = await this.run(
        scripts.settle,
        [centre, distReducePool, this.keys.taskPool(origin), ...part.keys],
        [token, unusedMsMax, verdict.number, text, streamLengthMax, ...part.args],
      );
      if (reply !== 1) return false;
    }
    return true;
  }

  async openFrames(): Promise<readonly Frame[]> {
    const found = new Map<string, Frame>();
    const pool = this.keys.distReducePool;
    let cursor = '0';
    do {
      const reply = await this.#call(['HSCAN', pool, cursor, 'COUNT', String(scanCount)]);
      const [next, fields] = reply as [string, string[]];
      for (let k = 0; k + 1 < fields.length; k += 2) {
        const [number, text] = [fields[k]!, fields[k + 1]!];
        const frame = readKept(text, number, this.#network);
        if (frame === null) await this.#call(['HDEL', pool, number]);
        else found.set(number, frame);
      }
      cursor = next;
    } while (cursor !== '0');
    return [...found.values()];
  }

  async verdicts(agent: string, after: string, max: number) {
    assert(after === '' || after === '0' || streamId.test(after));
    const stream = this.keys.taskPool(agent);
    const args = [after === '0' ? '' : after, bounded(max)];
    const reply = await this.run(scripts.verdicts, [stream], args);
    const found = await this.#readEntries(stream, reply, readVerdict);
    return found.map(([id, verdict]) => ({ id, verdict }));
  }

  /** Other programs can write to Redis: a wrong entry is deleted, so that it keeps back no other. */
  async #readEntries<T>(stream: string, reply: unknown, read: (text: string) => T | null) {
    const { found, wrong } = readEntries(reply, read);
    if (wrong.length > 0) await this.#call(['XDEL', stream, ...wrong]);
    return found;
  }

  async finish(digests: readonly Digest[]): Promise<void> {
    await this.#touch();
    for (const { keys, args } of this.#partsOf(digests)) {
      await this.run(scripts.finish, keys, [unusedMsMax, ...args]);
    }
  }

  async release(digests: readonly Digest[]): Promise<void> {
    for (const { keys, args } of this.#partsOf(digests)) {
      await this.run(scripts.release, keys, args);
    }
  }

  async hold(digests: readonly Digest[]): Promise<void> {
    await this.#touch();
    for (const { keys, args } of this.#partsOf(digests)) {
      await this.run(scripts.hold, keys, [unusedMsMax, ...args]);
    }
  }

  async lapse(digests: readonly Digest[]): Promise<boolean> {
    const parts = digests.length === 0 ? [{ keys: [], args: [] }] : this.#partsOf(digests);
    for (const { keys, args } of parts) {
      const { centre, lapses } = this.keys;
      const reply = await this.run(
        scripts.lapse,
        [centre, lapses, ...keys],
        [unusedMsMax, ...args],
      );
      if (reply !== 1) return false;
    }
    return true;
  }

  async lapses(): Promise<number | null> {
    const { centre, lapses } = this.keys;
    const reply = await this.#call(['MGET', centre, lapses]);
    const [token, count] = reply as (string | null)[];
    return token === null ? null : Number(count ?? 0) || 0;
  }

  async doubt(identities: readonly string[]): Promise<void> {
    const args = [unusedMsMax, doubtedMax, ...identities];
    await this.run(scripts.doubt, [this.keys.doubted], args);
  }

  async doubted(max: number): Promise<readonly string[]> {
    const count = String(bounded(max));
    return (await this.#call(['SRANDMEMBER', this.keys.doubted, count])) as string[];
  }

  async examined(identities: readonly string[]): Promise<void> {
    await this.#call(['SREM', this.keys.doubted, ...identities]);
  }

  async marksOf(digests: readonly Digest[]): Promise<string | null> {
    await this.#touch();
    let marks = '';
    for (const { keys, args } of this.#partsOf(digests)) {
      const { filled, mark } = this.keys;
      const reply = await this.run(scripts.marks, [filled, mark, ...keys], args);
      if (reply === null) return null;
      marks += String(reply);
    }
    return marks;
  }

  async lead(token: string, leaseMs: number): Promise<boolean> {
    await this.#touch();
    const { centre, settings, home } = this.keys;
    const args = [token, leaseMs, this.settings, this.home];
    return (await this.run(scripts.lead, [centre, settings, home], args)) === 1;
  }

  async resign(token: string): Promise<void> {
    const { centre, settings, home } = this.keys;
    await this.run(scripts.resign, [centre, settings, home], [token]);
  }

  async presence() {
    const { centre, mark, settings } = this.keys;
    const reply = await this.#call(['MGET', centre, mark, settings]);
    const [token, found, theirs] = reply as (string | null)[];
    this.compare(theirs || null);
    // Bytes that are no text: no agent could name them to change the mark.
    if (found?.includes('\ufffd')) await this.#call(['DEL', mark]);
    return { hasCentre: token !== null, ...(token && { centre: token }), mark: found ?? '' };
  }

  /** @throws a NetworkFailure if the network runs with other settings */
  compare(theirs: string | null): void {
    if (theirs === null || this.settings === '') return;
    const found = firstDifference(this.settings, theirs);
    if (found?.path === '') {
      const { settings } = this.keys;
      throw this.link.refusal(`another program wrote its key ${settings}; delete this key`);
    }
    if (found !== null) throw this.link.refusal(differenceText(this.#network, found));
  }

  async mark(before: string, after: string): Promise<string> {
    const args = [before, after, unusedMsMax];
    const { mark, gifts } = this.keys;
    return String(await this.run(scripts.mark, [mark, gifts], args));
  }

  async give(urls: readonly GivenUrl[], mark: string): Promise<void> {
    const args = [mark, unusedMsMax, giftsLengthMax, JSON.stringify(urls)];
    await this.run(scripts.give, [this.keys.mark, this.keys.gifts], args);
  }

  async gifts(max: number) {
    const count = String(bounded(max));
    const reply = await this.#call(['XRANGE', this.keys.gifts, '-', '+', 'COUNT', count]);
    return readEntries(reply, readGift).found.map(([id, urls]) => ({ id, urls }));
  }

  async received(ids: readonly string[], mark: string): Promise<void> {
    assert(ids.every((id) => streamId.test(id)));
    const args = [mark, unusedMsMax, ...ids];
    await this.run(scripts.received, [this.keys.mark, this.keys.gifts], args);
  }

  async filledBy(): Promise<readonly string[] | null> {
    // In one round trip.
    const [isFilled, agents] = await Promise.all([
      this.#isFilled(),
      this.#call(['SMEMBERS', this.keys.filledBy]),
    ]);
    return isFilled ? null : (agents as string[]);
  }

  async addFilled(agent: string): Promise<void> {
    await this.run(scripts.addTo, [this.keys.filledBy], [agent, filledMsMax]);
  }

  async #isFilled(): Promise<boolean> {
    return (await this.#call(['EXISTS', this.keys.filled])) === 1;
  }

  async setFilled(): Promise<void> {
    this.#touchedAt = null;
    await this.#touch();
    await this.#call(['SET', this.keys.filled, '1', 'PX', String(filledMsMax)]);
  }

  async acquire(
    network: string,
    hosts: readonly HostAsk[],
    leaseMs: number,
    grant: string,
  ): Promise<readonly HostGrant[]> {
    const grants: HostGrant[] = [];
    const keyMs = Math.max(leaseKeyMsMin, 2 * leaseMs);
    for (const part of parted(hosts, leases.scriptHostsMax)) {
      const keys = this.#leaseKeys(part.map(({ host }) => host));
      const delays = part.map(({ delayMs }) => Math.max(0, Math.ceil(delayMs)));
      const args = [network, leaseMs, keyMs, grant, ...delays];
      const reply = await this.run(leases.acquire, keys, args);
      for (const [k, wait] of (reply as (number | string)[]).entries()) {
        const { host } = part[k]!;
        grants.push(
          typeof wait === 'number' ? { host, waitMs: wait } : { host, waitMs: null, holder: wait },
        );
      }
    }
    return grants;
  }

  async releaseHosts(network: string, hosts: readonly HostRelease[]): Promise<void> {
    for (const part of parted(hosts, leases.scriptHostsMax)) {
      const keys = this.#leaseKeys(part.map(({ host }) => host));
      const releases = part.flatMap(({ delayMs, grant }) => [
        Math.max(0, Math.ceil(delayMs)),
        grant,
      ]);
      await this.run(leases.releaseHosts, keys, [network, leaseKeyMsMin, ...releases]);
    }
  }

  run(script: scripts.Script, keys: readonly string[], args: readonly (string | number)[]) {
    return this.#repairing(keys, this.link.run(script, keys, args));
  }

  /** @param args - a command whose first argument is a key */
  #call(args: readonly string[]): Promise<unknown> {
    return this.#repairing(args.slice(1, 2), this.link.call(args));
  }

  /** After an error that would come again with each repetition, deletes keys of a wrong type. */
  async #repairing<T>(keys: readonly string[], work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const isOdd = error instanceof NetworkFailure && error.message.includes(wrongType);
      if (isOdd) await this.link.run(scripts.repair, keys, keys.map(typeOfKey));
      throw error;
    }
  }

  /** Fails the operations that wait, and ends the connection. */
  close(): void {
    this.link.close();
  }

  /** All shards live as long as the crawl is used, also those that rarely change. */
  async #touch(): Promise<void> {
    const now = monotonicMs();
    if (this.#touchedAt !== null && now - this.#touchedAt < touchMs) return;
    const { filled, server } = this.keys;
    const keys = Array.from({ length: shardsMax }, (_, shard) => this.#shardKeys(shard)).flat();
    await this.run(scripts.touch, [filled, server, ...keys], [filledMsMax, unusedMsMax]);
    this.#touchedAt = now;
  }

  #shardKeys(shard: number): [finish: string, task: string] {
    return [this.keys.finishUrl(shard), this.keys.taskUrl(shard)];
  }

  #leaseKeys(hosts: readonly string[]): string[] {
    return hosts.flatMap((host) => [this.keys.lease(host), this.keys.queue(host)]);
  }

  /** Keys and arguments of each execution. */
  #partsOf(digests: readonly Digest[]) {
    return parted(digests, scripts.scriptDigestsMax).map((part) => {
      const places = new Map<number, number>();
      const args = part.flatMap((digest) => {
        assert(isDigest(digest));
        const shard = shardOf(digest);
        const place = places.get(shard) ?? places.size;
        places.set(shard, place);
        return [digest, place];
      });
      return { keys: [...places.keys()].flatMap((shard) => this.#shardKeys(shard)), args };
    });
  }
}

function checkedText(frame: Frame): string {
  assert(frame.digests.length <= frameDigestsMax && frame.digests.every(isDigest));
  return frameText(frame);
}

function differenceText(network: string, { path, a, b }: Difference): string {
  const remedy = `write the same in the configs of all networks, and restart those that change`;
  return `${network} runs with ${path} ${b}, this network with ${a}; ${remedy}`;
}

function bounded(max: number): number {
  assert(Number.isInteger(max) && max >= 1 && max <= listLengthMax);
  return max;
}

function parted<T>(list: readonly T[], lengthMax: number): (readonly T[])[] {
  assert(list.length <= listLengthMax);
  const parts: (readonly T[])[] = [];
  for (let k = 0; k < list.length; k += lengthMax) parts.push(list.slice(k, k + lengthMax));
  return parts;
}

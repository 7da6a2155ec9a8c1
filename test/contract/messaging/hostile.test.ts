// Strangers and broken peers on the port of a transport: after each script of bytes the transport
// must still serve its good peers. The independent cases are in `cases/zmtp_hostile.json` beside
// the repository and are skipped without it.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Dealer } from 'zeromq';
import { assertServes, play, type Station, type Step, station, until } from './kit.ts';
import { sealed } from './sealed.ts';
import { strangers } from './strangers.ts';

const casesUrl = new URL('../../../../shared/cases/zmtp_hostile.json', import.meta.url);

interface RawCase {
  readonly id: string;
  readonly name: string;
  readonly send: readonly Step[];
  readonly sendAs?: Readonly<Record<string, readonly Step[]>>;
  readonly reply?: { readonly contains: string };
}

interface AppCase {
  readonly id: string;
  readonly name: string;
  readonly payload: { readonly hex?: string; readonly utf8?: string; readonly semantic?: string };
}

interface Cases {
  readonly raw: readonly RawCase[];
  readonly app: readonly AppCase[];
}

const cases: Cases | undefined = existsSync(casesUrl)
  ? JSON.parse(readFileSync(casesUrl, 'utf8'))
  : undefined;

function onlyGoodPeer(target: Station): void {
  const others = target.received.filter(({ from }) => from.id !== 'good');
  assert.deepEqual(others, []);
  assert.equal((Object.prototype as { polluted?: unknown }).polluted, undefined);
}

async function pair(t: Parameters<typeof station>[0]): Promise<{ target: Station; good: Station }> {
  const target = await station(t, 'target');
  const good = await station(t, 'good');
  await assertServes(good, target, 'good');
  return { target, good };
}

describe('transport: strangers', { concurrency: 4, timeout: 60_000 }, () => {
  for (const { name, steps, reaches } of strangers) {
    it(`transport: serves good peers after ${name}`, async (t) => {
      const { target, good } = await pair(t);
      await play(target.port, steps);
      await assertServes(good, target, 'good');
      onlyGoodPeer(target);
      if (reaches === undefined) return assert.deepEqual(target.refused, []);
      await until(`${reaches} is counted`, () => target.refused.length > 0);
      assert.deepEqual(target.transport.stats().refused, { [reaches]: 1 });
      assert.equal(target.lines.length, 1);
    });
  }
});

const absent = cases === undefined ? 'shared/cases/zmtp_hostile.json is missing' : false;

describe('transport: independent hostile cases', { concurrency: 4, timeout: 90_000 }, () => {
  it('transport: the file of independent cases is not empty', { skip: absent }, () => {
    assert.ok((cases?.raw.length ?? 0) > 0 && (cases?.app.length ?? 0) > 0);
  });

  for (const { id, name, send, sendAs, reply } of cases?.raw ?? []) {
    it(`transport: ${id} ${name}`, async (t) => {
      const { target, good } = await pair(t);
      const others = Object.values(sendAs ?? {}).map((steps) => play(target.port, steps));
      await Promise.all([play(target.port, send, reply?.contains), ...others]);
      await assertServes(good, target, 'good');
      onlyGoodPeer(target);
    });
  }

  for (const { id, name, payload } of cases?.app ?? []) {
    const { hex, utf8, semantic } = payload;
    const skip = semantic === undefined ? false : 'only the core can judge the meaning';
    it(`transport: ${id} ${name}`, { skip }, async (t) => {
      const { target, good } = await pair(t);
      const bytes = hex === undefined ? Buffer.from(utf8 ?? '') : Buffer.from(hex, 'hex');
      const dealer = new Dealer({ linger: 0 });
      t.after(() => dealer.close());
      dealer.connect(target.address);
      await dealer.send(bytes);
      await dealer.send(sealed(bytes));
      await until('both frames are refused', () => target.refused.length === 2);
      await assertServes(good, target, 'good');
      onlyGoodPeer(target);
      assert.ok(target.lines.length <= 2);
    });
  }
});

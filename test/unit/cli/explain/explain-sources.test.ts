// An agent of these tests answers as one whose cluster has another agent that is suspended.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { sourceFor } from '../../../../agent/cli/explain/explain-sources.ts';
import { asForm, type Identity } from '../../../../agent/url/crawl-url.ts';
import type { Config } from '../../../../config/config.ts';
import { station } from '../../../contract/messaging/kit.ts';

for (const [what, owner, silentOwner] of [
  ['names the owner that does not answer', 'a3', 'a3'],
  ['names no owner if no agent answers', null, null],
] as const) {
  test(`explain: the source ${what}`, async (t) => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-explain-'));
    t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
    const { transport, address } = await station(t, 'a1', {
      onControl: (_request, reply) => reply({ ok: true, result: { owner, facts: null } }),
    });
    if (owner === null) await transport.close({ lingerMs: 0 });
    const agent = { id: 'a1', listen: address, address, capacity: 1 };
    const config = {
      ...{ name: 'c', agent: { dataDir }, http: { userAgent: 't/1' } },
      cluster: { overlay: 'ring', replicas: 1, backups: 1, contacts: [], agents: [agent] },
    } as unknown as Config;
    const identity = 'http://h.test/' as Identity;
    const url = { identity, fetchUrl: asForm(identity) };
    const source = await sourceFor(config, { agents: [agent], crawl: 'c', dataDir }, url, () => {});
    t.after(() => source.close());
    assert.deepEqual(
      [source.kind, source.owner, source.silentOwner],
      ['files', owner, silentOwner],
    );
    assert.equal(await source.find(identity), null);
  });
}

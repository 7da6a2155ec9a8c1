// Real processes that know only contacts, which do not answer or have other settings.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { run, until, untilJoined } from './cli-process.ts';
import { assertCode } from './cluster-stage.ts';
import { stageOf } from './contacts-stage.ts';

describe('contacts', { concurrency: 2 }, () => {
  test('without an answer of a contact, an agent says so and waits for it', async (t) => {
    const { config, at, begin } = await stageOf(t, 'ab', 84);
    const late = begin('b');
    const said = new RegExp(
      `has not joined: no agent answers at ${at('a')}: start one of these contacts, or correct ` +
        'cluster.contacts; if the crawl is over .* there is nothing to join',
    );
    await until('the warning', () => said.test(late.stderr()));
    const { stdout } = await run('status', config);
    assert.match(stdout, /^b +joining /m);
    assert.match(stdout, new RegExp(`^b ${said.source}$`, 'm'));
    begin('a');
    await untilJoined(config, 'a', 'b');
  });

  test('an agent with other settings than its contact exits with 5 and names one', async (t) => {
    const { scratch, config, begin } = await stageOf(t, 'ab', 85);
    begin('a');
    await untilJoined(config, 'a');
    const written = JSON.parse(fs.readFileSync(config, 'utf8')) as object;
    const other = scratch.write('other.json', { ...written, limits: { depthPerHost: 3 } });
    const refused = await begin('b', other).ended;
    assertCode(refused, 5);
    assert.match(
      refused.stderr,
      /agent a refused this one: limits\.depthPerHost is 3 here and 16 there; give all agents/,
    );
    await untilJoined(config, 'a');
  });
});

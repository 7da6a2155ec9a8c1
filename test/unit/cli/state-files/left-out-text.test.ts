// The commands that start agents whose states hold work. Each can be run as printed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { programName } from '../../../../agent/cli/common/output.ts';
import { leftOutRefusal, openWorkText } from '../../../../agent/cli/state-files/left-out-text.ts';
import type { Config } from '../../../../config/config.ts';

/** A config with contacts that lists these agents, beside the directories of n1 to n20. */
function configOf(t: TestContext, ...listed: readonly string[]): Config {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-text-'));
  t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
  for (const id of ids) {
    fs.mkdirSync(path.join(dataDir, id));
    fs.writeFileSync(path.join(dataDir, id, 'agent.endpoint'), `tcp://h:${id.slice(1)}\n`);
  }
  const agents = listed.map((id) => ({
    id,
    listen: 'tcp://h:1',
    address: 'tcp://h:1',
    capacity: 1,
  }));
  const cluster = { agents, contacts: ['tcp://h:1'] };
  const file = path.join(process.cwd(), 'crawl.yaml');
  return { file, cluster, agent: { dataDir } } as unknown as Config;
}

/** As the commands are printed: the tests may run under npm. */
const program = programName();
const ids = Array.from({ length: 20 }, (_, k) => `n${k + 1}`);
const work = (agent: string) => ({ agent, hosts: 1, queued: 3, pages: 0, samples: ['h.test'] });

test('open work: an agent that joined through contacts is started with its endpoint', (t) => {
  const config = configOf(t);
  assert.equal(
    openWorkText(config, [work('n7')]),
    [
      'the crawl is not complete, because some agents do not run; only their states have:',
      '  n7: 3 queued URLs of 1 host (h.test)',
      'start each beside the others:',
      `  ${program} agent crawl.yaml --id n7 --listen tcp://h:7`,
      `to discard what only they have, move their directories out of ${config.agent.dataDir}`,
    ].join('\n'),
  );
});

test('open work: the message about many agents is short', (t) => {
  const lines = openWorkText(configOf(t), ids.map(work)).split('\n');
  assert.equal(lines.length, 11, lines.join('\n'));
  assert.equal(lines.at(-3), `  ${program} agent crawl.yaml --id n3 --listen tcp://h:3`);
  assert.equal(lines.at(-2), '  and 17 more');
});

test('left out: launch names the commands for agents that it cannot start', (t) => {
  const config = configOf(t, 'n1');
  const refused = { chosen: ['n1'], local: ['n1'], refresh: false, repair: false };
  const text = leftOutRefusal(config, [work('n2')], refused);
  assert.match(
    text,
    new RegExp(
      `first start those that are not in the config:\n {2}${program} agent crawl.yaml --id n2 ` +
        `--listen tcp://h:2\nstart them too:\n {2}${program} launch crawl.yaml\n`,
    ),
  );
});

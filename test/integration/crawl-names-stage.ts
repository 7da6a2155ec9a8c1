// The set-up shared by `crawl-names.test.ts` and `slow/crawl-names.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { call, run, Scratch, start, until, untilAsked } from './cli-process.ts';
import { startGate } from './gate-server.ts';

/** Every command that is sent to running agents. */
export const commandsOf = (
  seed: string,
): readonly (readonly [command: string, ...words: string[]])[] => [
  ['status'],
  ['pause'],
  ['resume'],
  ['block', '127.0.0.9'],
  ['block', '127.0.0.9', '--off'],
  ['delay', '127.0.0.9', '500'],
  ['seed', `${seed}more`],
  ['explain', seed],
  ['stop', 'a2'],
  ['stop'],
];

export interface Status {
  readonly id: string;
  readonly lifecycle: string;
  readonly paused: boolean;
  readonly members: readonly unknown[];
  readonly recent: readonly { readonly kind: string }[];
}

/** Polls the status until the agents satisfy the condition. */
export function untilStatus(config: string, is: (agents: readonly Status[]) => boolean) {
  return untilAsked('the expected status of the agents', async () => {
    const { stdout, code } = await run('status', config, '--json');
    return code === 0 && is((JSON.parse(stdout) as { agents: Status[] }).agents);
  });
}

/** Starts two agents of the crawl `cli-test`; `renamed` has their endpoints and another name. */
export async function stage(
  context: TestContext,
  { dataDir, cluster }: { dataDir?: string; cluster?: Record<string, unknown> } = {},
) {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const config = await scratch.config(2, { seeds: [gate.seed] }, cluster);
  const written = JSON.parse(fs.readFileSync(config, 'utf8'));
  const agent = {
    ...written.agent,
    ...(dataDir && { dataDir: path.join(scratch.directory, dataDir) }),
  };
  const renamed = scratch.write('renamed.json', { ...written, agent, name: 'another' });
  const launch = start(['launch', config]);
  await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
  await untilStatus(config, (agents) => {
    return agents.length === 2 && agents.every(({ members }) => members.length === 1);
  });
  const untouched = async () => {
    const { stdout, code } = await run('status', config, '--json');
    assert.equal(code, 0);
    const { agents, orders } = JSON.parse(stdout) as { agents: Status[]; orders: unknown[] };
    assert.deepEqual(
      agents.map(({ lifecycle, paused }) => [lifecycle, paused]),
      [
        ['crawling', false],
        ['crawling', false],
      ],
    );
    assert.deepEqual(orders, []);
  };
  const refused = async (...words: string[]) => {
    const { code, stdout, stderr } = await call(words);
    assert.equal(code, 4, `${words.join(' ')}: ${stdout}${stderr}`);
    assert.match(stderr, /belongs to crawl 'cli-test', not 'another'; restore 'name: cli-test'/);
    assert.equal(stdout, '', words.join(' '));
    return stderr;
  };
  const end = async () => {
    assert.equal((await run('stop', config)).code, 0);
    assert.equal((await launch.ended).code, 11);
  };
  return { config, renamed, gate, untouched, refused, end, scratch, launch };
}

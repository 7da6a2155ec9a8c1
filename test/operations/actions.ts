// Actions of a careless operator: commands at any time, removed or damaged files, config edits.
// Each action asserts which exit codes are allowed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import type { Random } from '../simulation/random.ts';
import { crawlName, type OperatedCrawl, type Said } from './operated-crawl.ts';
import { followAdvice } from './remedies.ts';

export interface Action {
  readonly name: string;
  readonly weight: number;
  readonly may: (crawl: OperatedCrawl) => boolean;
  readonly act: (crawl: OperatedCrawl, random: Random) => Promise<void>;
}

const always = () => true;
const launched = (crawl: OperatedCrawl) => crawl.isLaunched;
const idle = (crawl: OperatedCrawl) => !crawl.isLaunched && crawl.running().length === 0;

function ended(said: Said, ...codes: number[]): void {
  const what = `${said.command} ended with ${said.code}, not ${codes.join(' or ')}`;
  assert.ok(codes.includes(said.code ?? -1), `${what}: ${said.stderr.trim()}`);
}

/** Starts a launch. If it is refused, follows the advice that it printed. */
async function launch(crawl: OperatedCrawl, ...flags: string[]): Promise<void> {
  const said = await crawl.begin(...flags);
  if (said === null) return;
  ended(said, 0, 4, 5, 11);
  if (said.code === 0) return;
  assert.equal(await followAdvice(crawl, said), null);
}

function fileOf(crawl: OperatedCrawl, random: Random, names: readonly string[]): string {
  const name = random.pick(names);
  const id = `a${random.whole(1, crawl.agents)}`;
  return name.startsWith('ID/') ? crawl.path(id, name.slice(3)) : crawl.path(name);
}

/** Files whose loss may cost no page. `ID/` stands for the directory of one agent. */
const smallFiles = [
  'cluster.json',
  'complete.json',
  'ID/agent.pid',
  'ID/agent.endpoint',
  'ID/agent.lock',
] as const;

/** Deletes the file, cuts it to half, or overwrites its second half. */
function damage(file: string, random: Random): void {
  const size = fs.statSync(file).size;
  if (random.chance(0.3)) return fs.rmSync(file);
  if (random.chance(0.5)) return fs.truncateSync(file, Math.floor(size / 2));
  const handle = fs.openSync(file, 'r+');
  const length = Math.ceil(size / 2);
  fs.writeSync(handle, Buffer.alloc(length, 0x5a), 0, length, Math.floor(size / 2));
  fs.closeSync(handle);
}

export const actions: readonly Action[] = [
  {
    name: 'launch',
    weight: 6,
    may: (crawl) => !crawl.isLaunched,
    act: (crawl) => launch(crawl),
  },
  {
    name: 'launch once more',
    weight: 2,
    may: launched,
    async act(crawl) {
      const file = crawl.path('cluster.json');
      const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
      const said = await crawl.run('launch');
      // The first launch may have ended meanwhile.
      if (!crawl.isLaunched) return;
      ended(said, 4);
      const after = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
      assert.equal(after, before, 'a launch that was refused changed cluster.json');
    },
  },
  {
    name: 'let it crawl',
    weight: 4,
    may: launched,
    async act(crawl, random) {
      const enough = crawl.served() + random.whole(5, 60);
      await crawl.until('more requests or the end of the launch', () => {
        return crawl.served() >= enough || !crawl.isLaunched;
      });
    },
  },
  {
    name: 'stop',
    weight: 2,
    may: always,
    async act(crawl) {
      const ran = crawl.isLaunched;
      const said = await crawl.run('stop');
      ended(said, 0, 1, 4);
      if (ran && said.code === 0) ended(await crawl.finish(), 0, 11);
    },
  },
  {
    name: 'interrupt',
    weight: 2,
    may: launched,
    async act(crawl) {
      crawl.launch?.child.kill('SIGINT');
      ended(await crawl.finish(), 0, 1, 11);
    },
  },
  {
    name: 'kill an agent',
    weight: 2,
    may: launched,
    async act(crawl, random) {
      ended(await crawl.run('kill', `a${random.whole(1, crawl.agents)}`), 0, 1, 4);
    },
  },
  {
    name: 'kill the launch',
    weight: 1,
    may: launched,
    async act(crawl) {
      crawl.launch?.child.kill('SIGKILL');
      await crawl.finish();
    },
  },
  {
    name: 'query or status',
    weight: 1,
    may: always,
    async act(crawl, random) {
      const [verb, ...args] = random.pick([['status'], ['query', 'SELECT COUNT(*) FROM pages']]);
      ended(await crawl.run(verb!, ...args), 0, 1, 4);
    },
  },
  {
    name: 'remove or damage a small file',
    weight: 3,
    may: always,
    async act(crawl, random) {
      const file = fileOf(crawl, random, smallFiles);
      if (!fs.existsSync(file)) return;
      crawl.history.push(`damaged ${file.slice(crawl.dataDir.length)}`);
      damage(file, random);
    },
  },
  {
    name: 'remove or damage a state file',
    weight: 2,
    may: (crawl) => idle(crawl) && !crawl.harmed && crawl.agents > 1,
    async act(crawl, random) {
      const file = fileOf(crawl, random, ['ID/state.sqlite']);
      if (!fs.existsSync(file)) return;
      crawl.harmed = true;
      crawl.history.push(`damaged ${file.slice(crawl.dataDir.length)}`);
      damage(file, random);
      for (const end of ['-wal', '-shm']) fs.rmSync(file + end, { force: true });
    },
  },
  {
    name: 'rename the crawl',
    weight: 1,
    may: idle,
    async act(crawl) {
      crawl.name = crawl.name === crawlName ? 'another' : crawlName;
      crawl.writeConfig();
    },
  },
  {
    name: 'misspell a key',
    weight: 1,
    may: always,
    async act(crawl) {
      crawl.typo = { politenes: {} };
      crawl.writeConfig();
    },
  },
  {
    name: 'change the number of agents',
    weight: 2,
    may: always,
    async act(crawl, random) {
      crawl.agents = random.whole(2, 4);
      crawl.writeConfig();
      crawl.history.push(`${crawl.agents} agents`);
    },
  },
];

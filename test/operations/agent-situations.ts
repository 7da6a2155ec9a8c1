// Situations in which agents run, or do not, or die, or are refused, and the product says what to
// do: that is done, as it says, and must help.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { isLocked } from '../../agent/cli/common/running.ts';
import { listening } from '../integration/cli-process.ts';
import type { Situation } from './situation.ts';
import type { Stage } from './stage.ts';

const root = path.resolve(import.meta.dirname, '../..');

const free = (stage: Stage, ...ids: string[]) =>
  stage.until('free directories', () => ids.every((id) => !isLocked(stage.path(id))));

export const agentSituations: readonly Situation[] = [
  // These two wait for a minute each, while others are played beside them.
  {
    name: 'another program holds the state',
    says: [
      'agent/storage/file/storage-failure.ts: … is locked by another program',
      "agent/agent.ts: … was locked by another program for … s; end that program's transaction",
    ],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      const other = new Database(stage.state('a1'));
      other.exec('BEGIN IMMEDIATE');
      assert.equal((await agent.ended).code, 4);
      await stage.run(4, 'agent', '--id', 'a1');
      other.exec('ROLLBACK');
      other.close();
      stage.gate.open();
      await stage.run(0, 'agent', '--id', 'a1');
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'a repair by one agent of two',
    agents: 2,
    says: ['start all agents together (ubiring launch CONFIG --repair'],
    async play(stage) {
      await stage.completes();
      fs.rmSync(stage.state('a1'));
      await stage.run(5, 'agent', '--id', 'a1', '--repair');
      await stage.completes('--repair');
    },
  },
  {
    name: 'a launch beside one that runs',
    agents: 2,
    says: [
      'agent/cli/launch/launch-plan.ts: … … in use by a running agent; stop it first:',
      'agent/cli/launch/launch-plan.ts:   ubiring stop ……',
      'agent/cli/launch/launch-command.ts: interrupted; launch again to go on',
    ],
    async play(stage) {
      const launch = await stage.runs(['a1', 'a2'], 'launch');
      await stage.run(4, 'launch');
      await stage.follow(0, 'stop');
      assert.equal((await launch.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'a launch beside one that is just starting',
    says: [
      'another launch… is just starting the agents of …, or a directive is taken back there; wait for it, or end it…',
    ],
    async play(stage) {
      // The agent of the first waits before it opens anything.
      const late = stage.scratch.write(
        'late.mjs',
        `if (process.argv[1].includes('launched-agent')) {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        }`,
      );
      const launch = stage.begin(['launch', stage.config], { NODE_OPTIONS: `--import=${late}` });
      await stage.until('its lock', () => /1 agents, state in/.test(launch.stderr()));
      await stage.run(4, 'launch');
      const [, pid] = /\n {2}kill -INT (\d+)\n/.exec(stage.said())!;
      assert.equal(Number(pid), launch.child.pid);
      for (const _ of ['the first asks', 'the second insists']) process.kill(Number(pid), 'SIGINT');
      assert.equal((await launch.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'an agent by hand beside a launch that runs',
    says: [
      'stop that agent first (`ubiring stop CONFIG ID`), or name another directory with --data',
    ],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      await stage.run(4, 'agent', '--id', 'a1');
      await stage.run(0, 'stop', 'a1');
      assert.equal((await agent.ended).code, 0);
      stage.gate.open();
      await stage.run(0, 'agent', '--id', 'a1');
      await stage.completes('--data', path.join(stage.scratch.directory, 'elsewhere'));
    },
  },
  {
    name: 'a launch on a copy of the data directory of a crawl that runs',
    says: [
      'stop the crawl there (`ubiring stop …`, with the --data of that directory), and launch again',
    ],
    async play(stage) {
      stage.edit((config) => {
        config.cluster = { agents: 1 };
      });
      const launch = await stage.runs(['a1'], 'launch');
      const copy = ['--data', path.join(stage.scratch.directory, 'copy')];
      fs.cpSync(stage.scratch.dataDir, copy[1]!, { recursive: true });
      await stage.run(5, 'launch', ...copy);
      await stage.run(0, 'stop', '--data', stage.scratch.dataDir);
      assert.equal((await launch.ended).code, 11);
      await stage.completes(...copy);
    },
  },
  {
    name: 'an agent by hand whose port another program has',
    says: ['end that, or let launch assign … another port:'],
    async play(stage) {
      stage.edit((config) => {
        config.cluster = { agents: 1 };
      });
      const launch = await stage.runs(['a1'], 'launch');
      const endpoint = fs.readFileSync(stage.path('a1', 'agent.endpoint'), 'utf8');
      await stage.run(0, 'stop');
      assert.equal((await launch.ended).code, 11);
      const other = await listening(Number(new URL(endpoint.trim()).port));
      await stage.run(5, 'agent', '--id', 'a1');
      stage.gate.open();
      await stage.follow(0, 'launch');
      other.close();
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'an agent that is stopped',
    says: ['agent/core/lifecycle/shutdown.ts: stopped; launch again to go on'],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      await stage.run(0, 'stop');
      assert.equal((await agent.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'an agent that is stopped at once',
    says: ['stopped at once; launch again to go on'],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      // Both signals wait for it, so that the second comes before the first is obeyed.
      for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) {
        agent.child.kill(signal);
      }
      assert.equal((await agent.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'a launch of a crawl that is complete',
    says: [
      'agent/cli/launch/launch-plan.ts: the crawl is complete already; --refresh requests its pages again',
      'agent/cli/agent/agent-run.ts: the crawl is complete already; launch --refresh requests its pages again',
      '--fresh deletes the pages that --refresh requests again: give only one of them',
      'agent/cli/launch/launch-command.ts: --repair cannot be combined with --fresh or --refresh',
      '--delete-archives needs --fresh',
      'agent/cli/agent/agent-command.ts: --repair restores pages that --refresh would request again',
    ],
    async play(stage) {
      await stage.completes();
      await stage.run(0, 'launch');
      await stage.run(0, 'agent', '--id', 'a1');
      await stage.run(2, 'launch', '--refresh', '--fresh');
      await stage.run(2, 'launch', '--repair', '--fresh');
      await stage.run(2, 'launch', '--delete-archives');
      await stage.run(2, 'agent', '--id', 'a1', '--refresh', '--repair');
      await stage.completes('--refresh');
      await stage.completes('--repair');
      await stage.completes('--fresh', '--delete-archives');
    },
  },
  {
    name: 'an agent was killed',
    agents: 2,
    says: [
      '; to start it again: …',
      'agent/cli/status/status-command.ts: if one of them does not run, start it on its machine:',
    ],
    async play(stage) {
      const launch = await stage.runs(['a1', 'a2'], 'launch');
      process.kill(stage.scratch.pid('a2')!, 'SIGKILL');
      await stage.until('its word', () => /to start it again/.test(launch.stderr()));
      const byLaunch = stage.printed('agent');
      await stage.run(0, 'status');
      assert.deepEqual(stage.printed('agent'), byLaunch);
      const again = stage.begin(byLaunch);
      await stage.until('a2', () => /"agent is listening"/.test(again.stderr()));
      stage.gate.open();
      for (const { code } of [await launch.ended, await again.ended]) assert.equal(code, 0);
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'the state of an agent is deleted under it, and no other is left',
    says: [
      'was deleted or replaced while the agent ran; start the agent again: it reads',
      'the crawl is not complete; launch again once the cause is gone',
    ],
    async play(stage) {
      const launch = await stage.runs(['a1'], 'launch');
      fs.rmSync(stage.state('a1'));
      assert.equal((await launch.ended).code, 4);
      const [, directory] = /; if no other agent has copies, move (\S+) away first/.exec(
        stage.said(),
      )!;
      fs.renameSync(directory!, `${directory}.away`);
      await stage.completes();
    },
  },
  {
    name: 'too few open files',
    says: ['raise the limits of memory or of files (ulimit -n 4096), or lower agent.threads'],
    async play(stage) {
      // Meanwhile the gate answers from this process.
      const limited = async (limit: number, verb: string) => {
        const line = `ulimit -n ${limit}; exec "$0" "$@"`;
        const main = path.join(root, 'agent/main.ts');
        const words = ['-c', line, process.execPath, main, verb, stage.config];
        const { npm_lifecycle_event: _, ...env } = process.env;
        const child = spawn('sh', words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
        const ended = once(child, 'close');
        const stderr = await text(child.stderr);
        return { status: (await ended)[0], stderr };
      };
      const { status, stderr } = await limited(30, 'launch');
      assert.equal(status, 1, stderr);
      stage.note(stderr);
      stage.gate.open();
      const again = await limited(4096, 'launch');
      assert.equal(again.status, 0, again.stderr);
    },
  },
  {
    name: 'a seed for a crawl that does not run',
    says: ['add the …URLs to the seeds of … and run …'],
    async play(stage) {
      await stage.completes();
      const more = `${stage.gate.seed}more`;
      await stage.run(1, 'seed', more);
      stage.edit((config) => config.seeds.push(more));
      const [, config] = stage.printed('launch');
      assert.equal(config, stage.config);
      await stage.follow(0, 'launch');
      const { stdout } = await stage.run(0, 'query', 'SELECT url FROM pages', '--format', 'csv');
      assert.ok(stdout.includes(more), stdout);
    },
  },
  {
    name: 'the status of agents that do not run, in another directory',
    says: ['agent/cli/status/status-command.ts:   ubiring query … "…"'],
    async play(stage) {
      const launch = stage.begin(['launch', stage.config, '--data', stage.path('deep')]);
      await stage.until('a1', () => fs.existsSync(stage.path('deep', 'a1', 'agent.pid')));
      launch.child.kill('SIGTERM');
      assert.equal((await launch.ended).code, 11);
      await stage.run(1, 'status', '--data', stage.path('deep'));
      await stage.follow(0, 'query');
    },
  },
  {
    name: 'an agent that does not answer is to be stopped',
    says: ['agent/cli/commands/stop-command.ts:   ubiring kill …'],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      agent.child.kill('SIGSTOP');
      await stage.run(1, 'stop');
      await stage.follow(0, 'kill');
      await agent.ended;
      await free(stage, 'a1');
      await stage.completes();
    },
  },
  {
    name: 'a crawl that is paused',
    says: ['paused, until `ubiring resume CONFIG`'],
    async play(stage) {
      const launch = await stage.runs(['a1'], 'launch');
      await stage.run(0, 'pause');
      await stage.until('its word', () => /paused, until/.test(launch.stderr()));
      stage.gate.open();
      await stage.run(0, 'resume');
      assert.equal((await launch.ended).code, 0);
    },
  },
  {
    name: 'a delay that is none',
    says: ['give a delay in milliseconds or as in a config (2s), or --off, not both'],
    async play(stage) {
      await stage.runs(['a1'], 'launch');
      await stage.run(2, 'delay', '*');
      await stage.run(0, 'delay', '*', '2s');
      await stage.run(0, 'delay', '*', '50');
      await stage.run(0, 'delay', '*', '--off');
    },
  },
  {
    name: 'the program of launch, by hand',
    says: ['this is for launch, which gives it a config; use ubiring agent (…)'],
    async play(stage) {
      const program = path.join(root, 'agent/cli/agent/launched-agent.ts');
      const { status, stderr } = spawnSync(process.execPath, [program], {
        input: '',
        encoding: 'utf8',
      });
      assert.equal(status, 2);
      stage.note(stderr);
      stage.gate.open();
      await stage.run(0, 'agent', '--id', 'a1');
    },
  },
];

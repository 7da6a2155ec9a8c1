// Situations in which agents run, do not run, die or are refused. The product names a remedy; the
// situation follows it and asserts that it helps.

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
  stage.until('unlocked agent directories', () => ids.every((id) => !isLocked(stage.path(id))));

export const agentSituations: readonly Situation[] = [
  // These two come first: each waits for a minute while other situations run in parallel.
  {
    name: 'another program locks the state file',
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
    name: 'an agent is started with --repair while the other agent does not run',
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
    name: 'a launch is started while another launch runs',
    agents: 2,
    says: [
      'agent/cli/launch/launch-plan.ts: …; stop it first:\n…',
      'agent/cli/launch/launch-plan.ts:   ubiring stop …',
      'agent/cli/launch/agent-exits.ts: interrupted; run launch again to continue',
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
    name: 'a launch is started while another launch starts its agents',
    says: [
      'another launch… is just starting the agents of …, or a directive is taken back there; wait for it, or end it…',
    ],
    async play(stage) {
      // The agent of the first launch blocks before it opens any file.
      const late = stage.scratch.write(
        'late.mjs',
        `if (process.argv[1].includes('launched-agent')) {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        }`,
      );
      const launch = stage.begin(['launch', stage.config], { NODE_OPTIONS: `--import=${late}` });
      await stage.until('the lock of the launch', () => /1 agent, state in/.test(launch.stderr()));
      await stage.run(4, 'launch');
      const [, pid] = /\n {2}kill -INT (\d+)\n/.exec(stage.said())!;
      assert.equal(Number(pid), launch.child.pid);
      for (const _ of ['stop', 'stop at once']) process.kill(Number(pid), 'SIGINT');
      assert.equal((await launch.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'an agent is started by hand while the same agent runs',
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
    name: 'a launch uses a copy of the data directory of a running crawl',
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
    name: 'an agent is started by hand while another program uses its port',
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
    name: 'an agent is stopped',
    says: ['agent/core/lifecycle/shutdown.ts: stopped; start the agents again'],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      await stage.run(0, 'stop');
      assert.equal((await agent.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'an agent is stopped at once by a second signal',
    says: ['stopped at once; start the agents again to continue'],
    async play(stage) {
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      // Both signals are pending when the process continues, so the second arrives before the agent
      // has handled the first.
      for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) {
        agent.child.kill(signal);
      }
      assert.equal((await agent.ended).code, 11);
      await stage.completes();
    },
  },
  {
    name: 'a complete crawl is launched again',
    says: [
      'agent/cli/launch/launch-plan.ts: the crawl is complete already; --refresh requests its pages again',
      'agent/cli/agent/agent-run.ts: launch --refresh requests its pages again',
      'no agent is left to obey: the crawl is complete; to request its pages again: …',
      'agent/cli/api/cluster-lists.ts: to request its pages again: …',
      'agent/cli/api/cluster-lists.ts:  --refresh',
      '--fresh deletes the pages that --refresh requests again: give only one of them',
      'agent/cli/launch/launch-command.ts: --repair cannot be combined with --fresh or --refresh',
      '--delete-archives needs --fresh',
      'agent/cli/agent/agent-command.ts: --repair restores pages that --refresh would request again',
    ],
    async play(stage) {
      await stage.completes();
      await stage.run(0, 'launch');
      await stage.run(0, 'agent', '--id', 'a1');
      await stage.run(1, 'pause');
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
    name: 'an agent is killed',
    agents: 2,
    says: [
      '; to start it again: …',
      'agent/cli/status/status-command.ts: if one of them does not run, start it on its machine:',
    ],
    async play(stage) {
      const launch = await stage.runs(['a1', 'a2'], 'launch');
      process.kill(stage.scratch.pid('a2')!, 'SIGKILL');
      await stage.until('the message of the launch', () =>
        /to start it again/.test(launch.stderr()),
      );
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
    name: 'the state file of the only running agent is deleted',
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
    name: 'the limit of open files is too low',
    says: ['raise the limits of memory or of files (ulimit -n 4096), or lower agent.threads'],
    async play(stage) {
      // Asynchronous, because the gate answers from this process meanwhile.
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
    name: 'a seed is added to a crawl that does not run',
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
    name: 'status and pause are called for agents that do not run, with --data',
    says: [
      'agent/cli/status/status-command.ts: ubiring query … "…"',
      'no agent answers; start the crawl, or query its state files',
      'agent/cli/commands/directive-commands.ts: start the crawl with …',
    ],
    async play(stage) {
      const launch = stage.begin(['launch', stage.config, '--data', stage.path('deep')]);
      await stage.until('a1', () => fs.existsSync(stage.path('deep', 'a1', 'agent.pid')));
      launch.child.kill('SIGTERM');
      assert.equal((await launch.ended).code, 11);
      await stage.run(1, 'status', '--data', stage.path('deep'));
      await stage.follow(0, 'query');
      await stage.run(1, 'pause', '--data', stage.path('deep'));
      stage.gate.open();
      await stage.follow(0, 'launch');
    },
  },
  {
    name: 'stop is called for an agent that does not respond',
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
    name: 'a crawl is paused',
    says: ['paused, until `ubiring resume CONFIG`'],
    async play(stage) {
      const launch = await stage.runs(['a1'], 'launch');
      await stage.run(0, 'pause');
      await stage.until('the message of the launch', () => /paused, until/.test(launch.stderr()));
      // First, since a request that was open during the pause may complete the crawl.
      await stage.run(0, 'resume');
      stage.gate.open();
      assert.equal((await launch.ended).code, 0);
    },
  },
  {
    name: 'delay is called without a delay',
    says: ['give either a delay, in milliseconds or as in a config (2s), or --off'],
    async play(stage) {
      await stage.runs(['a1'], 'launch');
      await stage.run(2, 'delay', '*');
      await stage.run(0, 'delay', '*', '2s');
      await stage.run(0, 'delay', '*', '50');
      await stage.run(0, 'delay', '*', '--off');
    },
  },
  {
    name: 'the agent program of launch is started by hand',
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

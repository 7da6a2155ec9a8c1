// Situations in which the data directory or the config has a fault. The product names a remedy; the
// situation follows it and asserts that it helps.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { makeQueuedState } from '../integration/queued-state.ts';
import type { Situation } from './situation.ts';
import type { Stage } from './stage.ts';

function garble(file: string): void {
  fs.writeFileSync(file, 'x'.repeat(50_000));
}

function makeState(stage: Stage, agent: string): void {
  makeQueuedState(stage.scratch, agent, `${stage.gate.seed}more`);
}

/** Completes a crawl of one agent and then changes its state file with the SQL statement. */
async function alter(stage: Stage, sql: string): Promise<void> {
  await stage.completes();
  const db = new Database(stage.state('a1'));
  db.exec(sql);
  db.close();
  fs.rmSync(stage.path('complete.json'));
}

const elsewhere = (stage: Stage) => ['--data', path.join(stage.scratch.directory, 'elsewhere')];

export const fileSituations: readonly Situation[] = [
  {
    name: 'status, query and audit read a directory without state files',
    says: ['name another directory with --data, or start the crawl:\n  …'],
    async play(stage) {
      await stage.completes();
      await stage.run(4, 'audit', ...elsewhere(stage));
      await stage.run(1, 'query', 'SELECT 1', ...elsewhere(stage));
      await stage.run(0, 'audit', '--data', stage.scratch.dataDir);
      await stage.run(0, 'query', 'SELECT 1', '--data', stage.scratch.dataDir);
      await stage.run(1, 'status', ...elsewhere(stage));
      await stage.follow(0, 'launch');
      await stage.run(0, 'audit', ...elsewhere(stage));
    },
  },
  {
    name: 'a state file of a complete crawl is damaged',
    agents: 2,
    says: [
      'agent/cli/audit/audit-crawl.ts:  --repair',
      'agent/cli/state-files/crawl-files.ts:  --repair',
    ],
    async play(stage) {
      await stage.completes();
      for (const command of [['audit'], ['query', 'SELECT url FROM pages']]) {
        garble(stage.state('a2'));
        await stage.run(4, command[0]!, ...command.slice(1));
        await stage.follow(0, 'launch');
        await stage.run(0, command[0]!, ...command.slice(1));
      }
    },
  },
  {
    name: 'a state file of a complete crawl is damaged, and no agent has copies',
    agents: 2,
    says: ['(cluster.backups, number of agents): restore it from a backup of your own'],
    async play(stage) {
      stage.edit((config) => {
        config.cluster = { ...(config.cluster as object), backups: 0 };
      });
      await stage.completes();
      const copy = fs.readFileSync(stage.state('a2'));
      for (const command of [['audit'], ['query', 'SELECT url FROM pages']]) {
        garble(stage.state('a2'));
        const { stderr } = await stage.run(4, command[0]!, ...command.slice(1));
        assert.doesNotMatch(stderr, /--repair/);
        fs.writeFileSync(stage.state('a2'), copy);
        await stage.run(0, command[0]!, ...command.slice(1));
      }
    },
  },
  {
    name: 'a state file is damaged while the other agents run',
    agents: 2,
    says: ['agent/cli/common/load-config.ts: ubiring agent … --id …'],
    async play(stage) {
      const launch = await stage.runs(['a1', 'a2'], 'launch');
      process.kill(stage.scratch.pid('a2')!, 'SIGKILL');
      await stage.until('the exit of a2', () => /a2 was killed/.test(launch.stderr()));
      garble(stage.state('a2'));
      for (const end of ['-wal', '-shm']) fs.rmSync(stage.state('a2') + end, { force: true });
      await stage.run(4, 'audit');
      const again = stage.begin(stage.printed('agent'));
      await stage.until('a2', () => /"agent is listening"/.test(again.stderr()));
      stage.gate.open();
      for (const { code, stderr } of [await launch.ended, await again.ended]) {
        assert.equal(code, 0, stderr);
      }
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'a removed agent leaves a damaged state file',
    agents: 2,
    says: ['others have taken over its hosts, move its directory away'],
    async play(stage) {
      const launch = await stage.runs(['a1', 'a2'], 'launch');
      process.kill(stage.scratch.pid('a2')!, 'SIGKILL');
      await stage.until('the exit of a2', () => /a2 was killed/.test(launch.stderr()));
      garble(stage.state('a2'));
      stage.gate.open();
      assert.equal((await launch.ended).code, 0);
      await stage.run(4, 'audit');
      fs.renameSync(stage.path('a2'), path.join(stage.scratch.directory, 'a2'));
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'a state file is in another directory',
    agents: 2,
    says: ['into one directory and name it with --data; if it is lost:'],
    async play(stage) {
      await stage.completes();
      const away = path.join(stage.scratch.directory, 'away');
      fs.mkdirSync(away);
      fs.renameSync(stage.path('a2'), path.join(away, 'a2'));
      const commands = [['audit'], ['query', 'SELECT url FROM pages'], ['export']] as const;
      for (const [verb, ...args] of commands) {
        const { stderr } = await stage.run(4, verb, ...args);
        assert.match(stderr, /copy the directories of all agents\ninto one directory/, verb);
      }
      fs.cpSync(stage.path('a1'), path.join(away, 'a1'), { recursive: true });
      for (const [verb, ...args] of commands) await stage.run(0, verb, ...args, '--data', away);
      await stage.follow(0, 'launch');
      for (const [verb, ...args] of commands) await stage.run(0, verb, ...args);
    },
  },
  {
    name: 'an agent outside the view is the only one that has a queued URL',
    agents: 3,
    says: ['queued only at this agent, which is not in view; start it to fetch the URL'],
    async play(stage) {
      stage.gate.open();
      await stage.run(0, 'launch', '--agents', 'a1,a2');
      makeState(stage, 'a3');
      await stage.run(1, 'audit');
      await stage.run(0, 'launch');
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'an agent that is not in the config any more has queued URLs',
    says: [
      'set cluster.agents to … again',
      'to discard what only they have, move their directories out of …',
    ],
    async play(stage) {
      stage.edit((config) => {
        const { failureDetector } = config.cluster as { failureDetector: object };
        config.cluster = { agents: 1, failureDetector };
      });
      makeState(stage, 'a2');
      await stage.run(4, 'launch');
      const [, number] = /set cluster\.agents to (\d+) again/.exec(stage.said())!;
      const moved = path.join(stage.scratch.directory, 'moved');
      fs.renameSync(stage.path('a2'), moved);
      await stage.completes();
      fs.renameSync(moved, stage.path('a2'));
      stage.edit((config) => {
        config.cluster = { ...(config.cluster as object), agents: Number(number) };
      });
      await stage.completes();
    },
  },
  {
    name: '--fresh finds the state of an agent that it does not start',
    says: ['stop, move the directories of these agents out of …, and launch with --fresh again'],
    async play(stage) {
      stage.edit((config) => {
        const { failureDetector } = config.cluster as { failureDetector: object };
        config.cluster = { agents: 1, failureDetector };
      });
      makeState(stage, 'a2');
      const launch = await stage.runs(['a1'], 'launch', '--fresh');
      await stage.run(0, 'stop');
      await launch.ended;
      fs.renameSync(stage.path('a2'), path.join(stage.scratch.directory, 'a2-moved'));
      await stage.completes('--fresh');
    },
  },
  {
    name: '--fresh finds a directory that does not belong to an agent',
    says: ["is not an agent's directory: it is not deleted; move it away"],
    async play(stage) {
      fs.mkdirSync(stage.path('a1'), { recursive: true });
      fs.writeFileSync(stage.path('a1', 'thesis.txt'), '');
      await stage.run(4, 'launch', '--fresh');
      fs.renameSync(stage.path('a1'), path.join(stage.scratch.directory, 'thesis'));
      await stage.completes('--fresh');
    },
  },
  {
    name: 'a file has the path of the data directory',
    says: ['agent/cli/common/exit-code.ts: …; name another directory with --data'],
    async play(stage) {
      fs.writeFileSync(stage.scratch.dataDir, '');
      await stage.run(4, 'launch');
      await stage.completes(...elsewhere(stage));
      fs.rmSync(stage.scratch.dataDir);
    },
  },
  {
    name: 'a directory or a symbolic link has the path of the lock of an agent',
    says: [
      'is not a regular file; delete it and start again',
      'is a symbolic link to itself; delete it and start again',
    ],
    async play(stage) {
      const lock = stage.path('a1', 'agent.lock');
      fs.mkdirSync(lock, { recursive: true });
      await stage.run(4, 'agent', '--id', 'a1');
      fs.rmdirSync(lock);
      fs.symlinkSync(lock, lock);
      await stage.run(4, 'agent', '--id', 'a1');
      fs.rmSync(lock);
      stage.gate.open();
      await stage.run(0, 'agent', '--id', 'a1');
    },
  },
  {
    name: 'the write-ahead log of a state file cannot be read',
    says: [
      'agent/storage/file/database.ts: cannot write in …: …; name another directory with --data',
    ],
    async play(stage) {
      await stage.completes();
      fs.rmSync(stage.path('complete.json'));
      fs.rmSync(`${stage.state('a1')}-wal`, { force: true });
      fs.mkdirSync(`${stage.state('a1')}-wal`);
      await stage.run(4, 'agent', '--id', 'a1');
      await stage.completes(...elsewhere(stage));
      fs.rmdirSync(`${stage.state('a1')}-wal`);
      await stage.run(0, 'agent', '--id', 'a1');
    },
  },
  {
    name: 'a file has the path of the archive directory',
    says: ['start the agent again, or set archive.warc to false'],
    async play(stage) {
      stage.gate.open();
      fs.mkdirSync(stage.path('a1'), { recursive: true });
      fs.writeFileSync(stage.path('a1', 'warc'), '');
      await stage.run(4, 'agent', '--id', 'a1');
      stage.edit((config) => {
        config.archive = { warc: false };
      });
      await stage.run(0, 'agent', '--id', 'a1');
      await stage.run(0, 'audit');
    },
  },
  {
    name: 'directories have the paths of the completion record and of a log',
    says: [
      'agent/cli/launch/launch-plan.ts: …; move it away',
      'agent/cli/common/exit-code.ts: …; move it away',
    ],
    async play(stage) {
      await stage.completes();
      fs.rmSync(stage.path('complete.json'));
      for (const file of [stage.path('complete.json'), stage.path('a1', 'agent.log')]) {
        fs.rmSync(file, { force: true });
        fs.mkdirSync(file);
        const { stderr } = await stage.run(4, 'launch');
        assert.ok(stderr.includes(file), stderr);
        fs.rmdirSync(file);
      }
      await stage.completes();
    },
  },
  {
    name: 'a lock file is damaged',
    says: ['is damaged; delete it and start again'],
    async play(stage) {
      fs.mkdirSync(stage.path('a1'), { recursive: true });
      garble(stage.path('a1', 'agent.lock'));
      await stage.run(4, 'agent', '--id', 'a1');
      fs.rmSync(stage.path('a1', 'agent.lock'));
      stage.gate.open();
      await stage.run(0, 'agent', '--id', 'a1');
    },
  },
  {
    name: 'a state file is damaged, and no agent has copies',
    says: ['restore it from a backup, or move … away and restart the agent'],
    async play(stage) {
      await stage.completes();
      fs.rmSync(stage.path('complete.json'));
      const copy = fs.readFileSync(stage.state('a1'));
      garble(stage.state('a1'));
      await stage.run(4, 'agent', '--id', 'a1');
      fs.writeFileSync(stage.state('a1'), copy);
      await stage.run(0, 'agent', '--id', 'a1');
      fs.rmSync(stage.path('complete.json'));
      garble(stage.state('a1'));
      await stage.run(4, 'agent', '--id', 'a1');
      fs.renameSync(stage.path('a1'), path.join(stage.scratch.directory, 'a1'));
      await stage.run(0, 'agent', '--id', 'a1');
    },
  },
  {
    name: 'a complete crawl lost its state file, and no agent has copies',
    says: [
      'their pages back: restore the file from a backup',
      'agent/cli/agent/repair.ts:  --fresh',
    ],
    async play(stage) {
      await stage.completes();
      const copy = fs.readFileSync(stage.state('a1'));
      fs.rmSync(stage.state('a1'));
      await stage.run(4, 'launch');
      fs.writeFileSync(stage.state('a1'), copy);
      await stage.completes();
      fs.rmSync(stage.state('a1'));
      await stage.run(4, 'launch');
      await stage.follow(0, 'launch');
      await stage.completes();
    },
  },
  {
    name: 'a newer version wrote the state file',
    says: ['it was written by a newer version; upgrade, or name another directory with --data'],
    async play(stage) {
      await alter(stage, 'PRAGMA user_version = 9999');
      await stage.run(4, 'agent', '--id', 'a1');
      await stage.completes(...elsewhere(stage));
    },
  },
  {
    name: 'the state file is a database of another program',
    says: ["is another program's database; name another directory with --data"],
    async play(stage) {
      fs.mkdirSync(stage.path('a1'), { recursive: true });
      const db = new Database(stage.state('a1'));
      db.exec('CREATE TABLE notes (text)');
      db.close();
      await stage.run(4, 'agent', '--id', 'a1');
      await stage.completes(...elsewhere(stage));
    },
  },
  {
    name: 'the state file belongs to another crawl',
    says: [
      "restore 'name: …' in the config, or",
      "examination.ts: restore '…: …' in the config, or",
      'examination.ts: use launch --fresh, or',
      "agent/storage/file/examination.ts: … belongs to … '…', not '…'; …name another directory",
    ],
    async play(stage) {
      await stage.completes();
      const rename = (name: string) => stage.edit((config) => (config.name = name));
      rename('another');
      await stage.run(4, 'launch');
      await stage.completes(...elsewhere(stage));
      rename(/restore 'name: ([^']+)'/.exec(stage.said())![1]!);
      await stage.completes();
      rename('another');
      await stage.completes('--fresh');
    },
  },
  {
    name: 'the state file has URLs that other rules identified',
    says: ["agent/storage/file/examination.ts: … was crawled with 'urls.…' …, not …; restore it"],
    async play(stage) {
      await stage.completes();
      stage.edit((config) => (config.urls = { dropTracking: true }));
      await stage.run(4, 'launch', '--refresh');
      await stage.completes(...elsewhere(stage));
      stage.edit((config) => (config.urls = { dropTracking: false }));
      await stage.completes();
      stage.edit((config) => (config.urls = { dropTracking: true }));
      await stage.completes('--fresh');
    },
  },
  {
    name: 'status is called before the agents have ports',
    says: ['agent/cli/common/load-config.ts: ubiring launch ……'],
    async play(stage) {
      stage.edit((config) => {
        config.cluster = { agents: 1 };
      });
      await stage.run(1, 'status');
      stage.gate.open();
      await stage.follow(0, 'launch');
      await stage.run(0, 'status');
    },
  },
  {
    name: 'cluster.json is damaged',
    says: ['stop the agents, remove it, and launch again'],
    async play(stage) {
      stage.edit((config) => {
        config.cluster = { agents: 1 };
      });
      await stage.completes();
      garble(stage.path('cluster.json'));
      fs.rmSync(stage.path('complete.json'));
      await stage.run(4, 'launch');
      fs.rmSync(stage.path('cluster.json'));
      await stage.completes();
    },
  },
  {
    name: 'the files with the port of a running agent are deleted',
    agents: 2,
    says: ['stop that agent (SIGTERM to the process in its agent.pid) and launch again'],
    async play(stage) {
      stage.edit((config) => {
        const { failureDetector } = config.cluster as { failureDetector: object };
        config.cluster = { agents: 2, failureDetector };
      });
      const agent = await stage.runs(['a1'], 'agent', '--id', 'a1');
      fs.rmSync(stage.path('cluster.json'));
      fs.rmSync(stage.path('a1', 'agent.endpoint'));
      await stage.run(4, 'agent', '--id', 'a2');
      process.kill(Number(fs.readFileSync(stage.path('a1', 'agent.pid'), 'utf8')), 'SIGTERM');
      assert.equal((await agent.ended).code, 0);
      await stage.completes();
    },
  },
  {
    name: 'the clock seems to be ahead',
    says: ["clock is right, confirm it with 'touch …'"],
    async play(stage) {
      await stage.completes();
      fs.rmSync(stage.path('complete.json'));
      for (const end of ['', '-wal']) {
        if (fs.existsSync(stage.state('a1') + end)) fs.utimesSync(stage.state('a1') + end, 1, 1);
      }
      await stage.run(4, 'agent', '--id', 'a1');
      const [, file] = /'touch ([^']+)'/.exec(stage.said())!;
      fs.utimesSync(file!, new Date(), new Date());
      await stage.run(0, 'agent', '--id', 'a1');
    },
  },
  {
    name: 'a part of the config that the command does not need is invalid',
    says: ['agent/cli/common/load-config.ts: …: … (ubiring config check …)'],
    async play(stage) {
      await stage.completes();
      stage.edit((config) => (config.limits = { pagesPerHost: -1 }));
      await stage.run(0, 'audit');
      const [, command] = /\(ubiring (config check \S+)\)/.exec(stage.said())!;
      const [verb, ...words] = command!.split(' ');
      const { code, stderr } = await stage.begin([verb!, ...words]).ended;
      assert.equal(code, 4);
      assert.match(stderr, /limits\.pagesPerHost/);
      stage.edit((config) => delete config.limits);
      await stage.run(0, 'launch');
    },
  },
  {
    name: 'the hosts of the seeds are private',
    says: [
      'their hosts are private; set http.allowPrivateAddresses to true to crawl them',
      'a private address (set http.allowPrivateAddresses and launch --fresh)',
    ],
    async play(stage) {
      stage.gate.open();
      const allow = (isAllowed: boolean) =>
        stage.edit((config) => {
          config.http = { ...(config.http as object), allowPrivateAddresses: isAllowed };
        });
      allow(false);
      await stage.run(0, 'launch');
      allow(true);
      await stage.run(0, 'launch', '--fresh');
      const { stdout } = await stage.run(0, 'query', 'SELECT url FROM pages', '--format', 'csv');
      assert.match(stdout, /127\.44\.0\.1/);
    },
  },
];

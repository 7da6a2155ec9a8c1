// Shows that each rule of .dependency-cruiser.json catches an offence in a small generated project.
// A rule that reads no file, or whose pattern matches no file, would otherwise pass unnoticed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { it } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

/** The text of each file, and the rules that it breaks. */
const files: Readonly<Record<string, readonly [text: string, ...rules: string[]]>> = {
  'assignment/ring.ts': ["import 'node:crypto';\nexport const a = 1;", 'pure-alone'],
  'failure-detector/lease.ts': ["export * from '../assignment/ring.ts';", 'pure-alone'],
  'config/load.ts': ["export * from '../agent/url/key.ts';", 'config-at-the-bottom'],
  'agent/url/key.ts': ["export * from '../runtime/clock.ts';", 'url-alone'],
  'agent/runtime/clock.ts': [
    "import '../fetch/fetch.ts';\nexport type Clock = 1;",
    'runtime-below-features',
  ],
  'agent/core/core.ts': [
    "import 'zeromq';\nimport '../fetch/fetch.ts';\nimport '../runtime/clock.ts';",
    ...['core-without-io', 'features-meet-in-agent', 'pure-not-to-runtime'],
  ],
  // A cycle is reported at one of its files only.
  'agent/core/store.ts': [
    "import type { B } from './other.ts';\nexport const a = 1;\nexport type A = B;",
  ],
  'agent/core/other.ts': ["import type { A } from './store.ts';\nexport type B = A;", 'no-cycle'],
  'agent/fetch/fetch.ts': [
    "import 'fast-check';\nimport './nowhere.ts';\nimport '../../test/web.ts';",
    ...['shipped-not-to-dev-dependency', 'no-unresolvable', 'shipped-not-to-test'],
  ],
  'agent/robots/robots.ts': [
    "import type { D } from '../cli/run.ts';\nexport type R = D;",
    'features-meet-in-agent',
    'agent-below-command-line',
  ],
  'agent/messaging/codec.ts': [
    "import '../core/store.ts';\nimport '../core/protocol/messages.ts';",
    'messaging-knows-messages',
  ],
  'agent/core/protocol/messages.ts': ["import type { A } from '../store.ts';\nexport type M = A;"],
  'agent/storage/state.ts': [
    "import { a } from '../core/store.ts';\nimport '../robots/robots.ts';\na;",
    ...['storage-implements-types-only', 'storage-implements-ports'],
  ],
  'agent/storage/ports.ts': ["import type { A } from '../core/store.ts';\nexport type P = A;"],
  'agent/frontier/visits.ts': [
    "import '../core/store.ts';\nimport '../storage/ports.ts';",
    ...['frontier-knows-core-types-only', 'frontier-knows-core-types'],
  ],
  'agent/frontier/hosts.ts': ["import type { A } from '../core/store.ts';\nexport type H = A;"],
  'agent/cli/run.ts': ["import '../agent.ts';\nimport '../storage/ports.ts';\nexport type D = 1;"],
  'agent/agent.ts': [
    "import './core/protocol/messages.ts';\nimport './frontier/hosts.ts';\nimport 'got';",
  ],
  'agent/monitor/status.ts': ["import type { A } from '../core/store.ts';\nexport type S = A;"],
  'agent/monitor/rate.ts': [
    "import '../core/store.ts';\nimport '../storage/ports.ts';",
    ...['monitor-knows-core-types-only', 'monitor-knows-core-types'],
  ],
  'agent/monitor/lonely.ts': ['export const lonely = 1;', 'no-orphan'],
  'test/web.ts': ['export const web = 1;'],
};

it('dependency rules: each reports its planted offence and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dependency-rules-'));
  try {
    for (const [path, [text]] of Object.entries(files)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    for (const name of ['package.json', 'tsconfig.json', '.dependency-cruiser.json']) {
      cpSync(join(root, name), join(folder, name));
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const flags = ['--config', '.dependency-cruiser.json', '--output-type', 'json'];
    const folders = ['agent', 'assignment', 'failure-detector', 'config'];
    const { stdout } = spawnSync(process.execPath, [program, ...flags, ...folders], {
      cwd: folder,
      encoding: 'utf8',
    });
    const { summary } = JSON.parse(stdout) as {
      summary: { violations: { rule: { name: string }; from: string }[] };
    };
    const offences = summary.violations.map(({ rule, from }) => `${from}: ${rule.name}`);
    const planted = Object.entries(files).flatMap(([path, [, ...rules]]) =>
      rules.map((rule) => `${path}: ${rule}`),
    );
    assert.deepEqual([...new Set(offences)].sort(), planted.sort());
  } finally {
    rmSync(folder, { recursive: true });
  }
});

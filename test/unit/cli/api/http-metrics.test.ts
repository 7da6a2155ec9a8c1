// The alert rules and the Grafana dashboard name only metrics that agents have, and `promtool`
// accepts the rules and the metrics where it is installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { metricsText } from '../../../../agent/cli/api/http-metrics.ts';
import type { AgentStatus } from '../../../../agent/monitor/agent-status.ts';

const folder = path.resolve(import.meta.dirname, '../../../../deploy');
const rules = path.join(folder, 'prometheus-alerts.yaml');
const has = (tool: string) => spawnSync(tool, ['--version']).error === undefined;
const skip = has('promtool') ? false : 'promtool is not installed';

const STATUS = {
  ...{ id: 'a1', joined: true, paused: false, idle: false, hosts: 3, hostsWithQueue: 2 },
  ...{ hostsAwaitingRobots: 0, copyLag: 1, pages: 10, queued: 5, outbox: 0, unsettled: 0 },
  ...{ openRequests: 1, threads: 64, loopDelayMs: 12, rssBytes: 1e8, uptimeMs: 5000, fetched: 10 },
  members: [{ silentMs: 120 }, { silentMs: 80 }],
  traffic: { URLS: { messages: 4, bytes: 900 } },
} as unknown as AgentStatus;

async function metrics(): Promise<string> {
  return (await metricsText([STATUS], () => 0.5)).text;
}

test('metrics have one line for each agent, and one for each type of message', async () => {
  const lines = (await metrics()).split('\n');
  for (const line of [
    'ubiring_queued_urls{agent="a1"} 5',
    'ubiring_member_silence_seconds{agent="a1"} 0.12',
    'ubiring_fetched_pages_total{agent="a1"} 10',
    'ubiring_status_age_seconds{agent="a1"} 0.5',
    'ubiring_sent_bytes_total{agent="a1",type="URLS"} 900',
  ]) {
    assert.ok(lines.includes(line), line);
  }
});

test('every metric that is named in deploy/ exists, and rules have remedies', async () => {
  const known = new Set([...(await metrics()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  for (const file of ['prometheus-alerts.yaml', 'grafana-dashboard.json']) {
    const text = fs.readFileSync(path.join(folder, file), 'utf8');
    const named = new Set([...text.matchAll(/\bubiring_\w+/g)].map(([name]) => name));
    assert.ok(named.size > 5, file);
    assert.deepEqual(
      [...named].filter((name) => !known.has(name)),
      [],
      file,
    );
  }
  const text = fs.readFileSync(rules, 'utf8');
  assert.equal(text.match(/- alert:/g)?.length, text.match(/remedy:/g)?.length);
});

test('promtool accepts the rules and the metrics', { skip }, async () => {
  const checked = spawnSync('promtool', ['check', 'rules', rules], { encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  const input = await metrics();
  const linted = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
  assert.equal(linted.status, 0, linted.stdout + linted.stderr);
});

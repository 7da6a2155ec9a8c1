// A crawl is interrupted while all agents have queued URLs, and launched again with fewer or
// renamed agents. The launch must refuse to lose their work, and the remedies that it names must
// help.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Audit } from '../../../agent/cli/audit/audit-report.ts';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import { call, run, Scratch, start, until, untilJoined } from '../cli-process.ts';

/** Second byte of the loopback addresses; the web of no other test uses it. */
const net = 68;

/** The words of a command in a message, as a shell would split them. */
function remedyOf(stderr: string, verb: string): string[] {
  const line = stderr.split('\n').find((text) => new RegExp(`^ +.*ubiring.* ${verb} `).test(text));
  assert.ok(line, stderr);
  return line.slice(line.indexOf(` ${verb} `) + 1).split(' ');
}

/** A config whose agents are listed. */
interface Quick {
  readonly cluster: { readonly agents: readonly { readonly id: string }[] };
}

describe('an interrupted crawl of three agents with queued URLs', () => {
  const scratch = new Scratch();
  /** The data directory after the interruption. */
  const kept = path.join(scratch.directory, 'kept');
  let web: RunningWeb;
  let config: string;
  let quick: Quick;

  before(async () => {
    web = await startWeb({
      ...{ hosts: 12, pages: 6, port: 0, net, sparse: true },
      shares: { flaky: 0, slow: 0 },
    });
    config = await scratch.config(3, { seeds: [web.seed], politeness: { hostDelayMs: 1500 } });
    const first = start(['launch', config]);
    const hosts = () => new Set(web.requests().map(({ host }) => host)).size;
    await until('requests to most hosts', () => hosts() >= 10);
    assert.equal((await run('stop', config)).code, 0);
    assert.equal((await first.ended).code, 11);
    fs.renameSync(scratch.dataDir, kept);
    const full = JSON.parse(fs.readFileSync(config, 'utf8'));
    quick = { ...full, politeness: { hostDelayMs: 10 } };
  });
  after(async () => {
    scratch.clean();
    await web.stop();
  });
  beforeEach(() => {
    fs.rmSync(scratch.dataDir, { recursive: true, force: true });
    fs.cpSync(kept, scratch.dataDir, { recursive: true });
    scratch.write('crawl.json', quick);
  });

  const audited = async () => {
    const { code, stdout } = await run('audit', config, '--json');
    return { code, audit: JSON.parse(stdout) as Audit };
  };

  /** The config with other names for the agents. */
  const renamed = () => {
    const agents = quick.cluster.agents.map((entry) => ({
      ...entry,
      id: entry.id.replace('a', 'b'),
    }));
    return { ...quick, cluster: { ...quick.cluster, agents } };
  };
  const completed = async () => {
    const { code, audit } = await audited();
    assert.deepEqual([code, audit.complete, audit.queued], [0, true, 0]);
  };

  test('launch may omit an agent that has handed over its hosts', async () => {
    const refused = await call(['launch', config, '--agents', 'a1']);
    assert.equal(refused.code, 4, refused.stderr);
    scratch.write('crawl.json', { ...quick, politeness: { hostDelayMs: 1500 } });
    const all = start(remedyOf(refused.stderr, 'launch'));
    await until('all agents', () => ['a1', 'a2', 'a3'].every((id) => scratch.pid(id) !== null));
    await untilJoined(config, 'a1', 'a2', 'a3');
    const stop = await run(...remedyOf(refused.stderr, 'stop'));
    assert.equal(stop.code, 0, stop.stderr);
    assert.match(stop.stdout, /^a2: applied$/m);
    await until(
      'the exits of a2 and a3',
      () => /a2: left/.test(all.stderr()) && /a3: left/.test(all.stderr()),
    );
    assert.equal((await run('stop', config)).code, 0);
    assert.equal((await all.ended).code, 11);
    scratch.write('crawl.json', quick);
    const { code, stderr } = await run('launch', config, '--agents', 'a1');
    assert.equal(code, 0, stderr);
    await completed();
  });

  test('launch refuses to omit agents with queued URLs, or renamed ones, and names remedies', async () => {
    // Nor does an agent that is started by hand record a completion without them.
    const alone = await run('agent', config, '--id', 'a1');
    assert.equal(alone.code, 11, alone.stderr);
    assert.match(alone.stderr, /has no work left, but the crawl is not complete/);
    assert.equal(fs.existsSync(path.join(scratch.dataDir, 'complete.json')), false);

    const before = await audited();
    assert.ok(before.audit.queued > 0);
    const requests = web.requests().length;
    const refused = await call(['launch', config, '--agents', 'a1']);
    assert.equal(refused.code, 4, refused.stderr);
    assert.match(refused.stderr, /^ {2}a[23]: \d+ queued URLs? .*of \d+ hosts? \(127\./m);

    // A config with fewer agents is refused, too.
    const { agents } = quick.cluster;
    scratch.write('crawl.json', { ...quick, cluster: { ...quick.cluster, agents: [agents[0]] } });
    const fewer = await call(['launch', config]);
    assert.equal(fewer.code, 4, fewer.stderr);
    assert.match(fewer.stderr, /the config does not have a2, a3 .*put each back/);

    // Renamed agents would fetch pages again.
    scratch.write('crawl.json', renamed());
    const strange = await call(['launch', config]);
    assert.equal(strange.code, 4, strange.stderr);
    assert.match(strange.stderr, /a1: .* fetched pages? of/);
    assert.match(strange.stderr, /the config does not have a1, a2, a3 \(removed, or renamed\)/);

    scratch.write('crawl.json', quick);
    assert.equal(web.requests().length, requests);
    assert.deepEqual(await audited(), before, 'nothing was changed');
    const { code, stderr } = await run(...remedyOf(refused.stderr, 'launch'));
    assert.equal(code, 0, stderr);
    await completed();

    // A complete crawl stays complete after its agents are renamed.
    scratch.write('crawl.json', renamed());
    const complete = await call(['launch', config]);
    assert.equal(complete.code, 0, complete.stderr);
    assert.match(complete.stderr, /the crawl is complete already/);
    const { code: auditCode, audit } = await audited();
    assert.deepEqual([auditCode, audit.problems.list], [0, []]);
    const refresh = await call(['launch', config, '--refresh']);
    assert.equal(refresh.code, 4, refresh.stderr);
    scratch.write('crawl.json', quick);
    const asked = web.requests().length;
    const refreshed = await run(...remedyOf(refresh.stderr, 'launch'));
    assert.equal(refreshed.code, 0, refreshed.stderr);
    assert.ok(web.requests().length > asked);
  });
});

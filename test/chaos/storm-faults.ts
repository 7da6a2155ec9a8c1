// The effect of each fault of a storm on a cluster of real processes. A fault begins, lasts as long
// as drawn, and is over when all affected agents have joined again. There is one function for each
// kind. storm.ts ensures that no agent has two faults at once and that not too many are away.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { askInTurn } from '../../agent/cli/common/ask.ts';
import type { ControlVerb } from '../../agent/core/protocol/messages.ts';
import type { Cluster } from './harness.ts';
import type { Site } from './harness-site.ts';
import { damages, stateFile } from './state-damages.ts';
import type { StormGround } from './storm-ground.ts';
import { present } from './storm-health.ts';
import type { Fault, FaultKind } from './storm-plan.ts';
import { leaseShare } from './storm-promises.ts';

/** The objects on which the faults act. */
export interface Scene {
  readonly cluster: Cluster;
  readonly ground: StormGround;
  /** The hosts of this site from the second on serve any requested page. */
  readonly site: Pick<Site, 'origin'>;
  /** URLs that agents accepted while the crawl ran. The list grows. */
  readonly seeded: { readonly host: number; readonly target: string }[];
}

type Of<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>;

const faults: { readonly [Kind in FaultKind]: (scene: Scene, fault: Of<Kind>) => Promise<void> } = {
  async kill({ cluster }, { ids, awayMs }) {
    await killAll(cluster, ids);
    await pause(awayMs);
    await back(cluster, ids);
  },

  async stall({ cluster }, { ids, forMs }) {
    const [id] = ids;
    cluster.suspend(id);
    await pause(forMs);
    cluster.resume(id);
    await present(cluster, ids);
  },

  async leave({ cluster }, { ids, awayMs }) {
    const [id] = ids;
    const { code, stderr } = await cluster.leave(id);
    assert.equal(code, 0, `${id} left with ${code}: ${stderr}`);
    await pause(awayMs);
    await back(cluster, ids);
  },

  async wipe({ cluster }, { ids, awayMs }) {
    await killAll(cluster, ids);
    for (const id of ids) cluster.wipe(id);
    await pause(awayMs);
    await back(cluster, ids);
  },

  async damage({ cluster }, { ids, awayMs, damage, where }) {
    const [id] = ids;
    await killAll(cluster, ids);
    const file = stateFile(cluster.dataDir, id);
    // Whether there is a log depends on the moment of the kill. Without one the file is damaged.
    const hasLog = fs.existsSync(`${file}-wal`) && fs.statSync(`${file}-wal`).size > 4096;
    damages[hasLog ? damage : 'noise'].to(file, where);
    await pause(awayMs);
    await back(cluster, ids);
  },

  async power({ cluster }, { ids, awayMs }) {
    await cluster.powerLoss();
    await pause(awayMs);
    await back(cluster, ids);
  },

  async stop({ cluster }, { ids, awayMs }) {
    await order(cluster, 'stop');
    const ends = await Promise.all(ids.map((id) => cluster.run(id).ended));
    for (const { id, code, stderr } of ends) {
      assert.equal(code, 11, `${id} was stopped and ended with ${code}: ${stderr}`);
    }
    await pause(awayMs);
    await back(cluster, ids);
  },

  async seed({ cluster, site, seeded }) {
    const host = 1 + (seeded.length % seedHosts);
    const target = `/seed-${seeded.length}`;
    const url = `${site.origin(host)}${target}`;
    const answers = (await order(cluster, 'seed', url)) as Record<string, { url?: string }>;
    assert.equal(answers[url]?.url, url, `refused: ${JSON.stringify(answers)}`);
    seeded.push({ host, target });
  },

  async pause({ cluster }, { forMs }) {
    await order(cluster, 'pause');
    await pause(forMs);
    await order(cluster, 'resume');
  },

  async cut({ cluster, ground }, { ids, others, ways, heldMsMax, forMs }) {
    const between = (from: readonly string[], to: readonly string[]) =>
      from.flatMap((one) => to.map((other) => ({ from: one, to: other })));
    const links = [
      ...(ways === 'deaf' ? [] : between(ids, others)),
      ...(ways === 'mute' ? [] : between(others, ids)),
    ];
    const heal = ground.network.cut(links, heldMsMax);
    await pause(forMs);
    heal();
    await present(cluster, cluster.ids);
  },

  async link({ cluster, ground }, { ids, at, fault, forMs }) {
    const heal = ground.network.disturb(at, fault);
    await pause(forMs);
    heal();
    if (ids.length > 0) await present(cluster, cluster.ids);
  },

  async clock({ cluster, ground }, { ids, byMs }) {
    const [id] = ids;
    const rejoins = () => cluster.state(id).events('rejoin').length;
    const before = rejoins();
    ground.moveClock(id, byMs);
    // The agent sees it as a stall and must act accordingly.
    const leaseMs = leaseShare * cluster.suspectAfterMs;
    if (byMs > leaseMs) await cluster.until(`${id} joins again`, () => rejoins() > before);
    await present(cluster, ids);
  },

  async disk({ cluster, ground }, { ids, how, awayMs }) {
    const [id] = ids;
    const mend = ground.breakDisk(id, how);
    await cluster.until(`${id} ends on its disk, ${how}`, () => cluster.run(id).end !== null);
    const { code, stderr } = await cluster.run(id).ended;
    const { exit, words } = diskEnds[how];
    assert.equal(code, exit, stderr);
    assert.match(stderr, words);
    await pause(awayMs);
    mend();
    await back(cluster, ids);
  },
};

/** Exit and message of an agent with a failing disk (docs/COMMANDS.md). */
const diskEnds = {
  full: { exit: 3, words: /disk full.*KiB left.*free some space there and start the agent again/ },
  broken: { exit: 4, words: /cannot read or write in .*look at the disk/ },
} as const;

/** Number of hosts with seeds. */
export const seedHosts = 5;

/** Resolves when the fault is over. Rejects if an agent misbehaves. */
export function inflict<Kind extends FaultKind>(scene: Scene, fault: Of<Kind>): Promise<void> {
  return faults[fault.kind as Kind](scene, fault);
}

async function killAll(cluster: Cluster, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => cluster.kill(id)));
}

async function back(cluster: Cluster, ids: readonly string[]): Promise<void> {
  await cluster.startAll(ids);
  await present(cluster, ids);
}

/**
 * Sends the command to the first agent that accepts it, like the command line. Returns the answer.
 */
async function order(cluster: Cluster, verb: ControlVerb, ...args: string[]): Promise<unknown> {
  const agents = cluster.awake().map((id) => {
    const address = cluster.addressOf(id);
    return { id, listen: address, address, capacity: 1 };
  });
  const answer = await askInTurn({ agents, crawl: 'chaos', dataDir: cluster.dataDir }, verb, args);
  assert.ok(answer.ok, `${verb}: ${answer.ok || answer.failures}`);
  return answer.result;
}

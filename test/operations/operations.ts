// Plays a random sequence of operator actions on a small crawl. After each step, the log of the web
// server must show a polite crawl. At the end, the advice of each message is followed until the
// crawl is complete; then no page may be missing and the audit must succeed.

import assert from 'node:assert/strict';
import { Random } from '../simulation/random.ts';
import { type Action, actions } from './actions.ts';
import { OperatedCrawl } from './operated-crawl.ts';
import { followAdvice } from './remedies.ts';

const stepsMax = 14;
/** Maximum number of launches to completion: each problem that the steps leave costs one. */
const launchesMax = 8;

/** Returns the fault and the steps that led to it, or null. */
export async function runOperations(seed: number): Promise<string | null> {
  const random = new Random(seed * 7919 + 5);
  const crawl = await OperatedCrawl.make(seed, random.whole(2, 3));
  try {
    for (let step = random.whole(6, stepsMax); step > 0; step--) {
      const action = draw(crawl, random);
      crawl.history.push(`- ${action.name}`);
      await action.act(crawl, random);
      assertPolite(crawl);
      if (crawl.launch?.end?.code === 0) crawl.harmed = false;
    }
    crawl.history.push('- to the end');
    await toTheEnd(crawl);
    return null;
  } catch (error) {
    const said = crawl.launch?.stderr.trim().split('\n').slice(-12).join('\n');
    return `seed ${seed}: ${String(error)}\n${crawl.history.join('\n')}\nlast launch: ${said}`;
  } finally {
    await crawl.close();
  }
}

function draw(crawl: OperatedCrawl, random: Random): Action {
  const possible = actions.filter(({ may }) => may(crawl));
  const at = random.next() * possible.reduce((sum, { weight }) => sum + weight, 0);
  let upTo = 0;
  for (const action of possible) {
    upTo += action.weight;
    if (at < upTo) return action;
  }
  return possible.at(-1)!;
}

function assertPolite(crawl: OperatedCrawl): void {
  const { concurrent, tooSoon, forbidden } = crawl.judgement();
  const none = { count: 0, samples: [] };
  assert.deepEqual(
    { concurrent, tooSoon, forbidden },
    { concurrent: none, tooSoon: none, forbidden: none },
  );
}

async function toTheEnd(crawl: OperatedCrawl): Promise<void> {
  for (let launches = 0; launches < launchesMax; launches++) {
    if (!crawl.isLaunched) await crawl.begin();
    const said = await crawl.finish();
    assertPolite(crawl);
    if (said.code === 0) break;
    assert.equal(await followAdvice(crawl, said), null);
  }
  assert.equal(crawl.launch?.end?.code, 0, `not complete after ${launchesMax} launches`);
  assert.deepEqual(crawl.judgement().missing, { count: 0, samples: [] });
  let audit = await crawl.run('audit');
  if (audit.code === 4 && /^ +\S.* launch .* --repair\b/m.test(audit.stderr)) {
    // An agent that was absent at completion has a damaged state file, which the completion record
    // does not mention.
    await crawl.begin('--repair');
    const repaired = await crawl.finish();
    assert.equal(repaired.code, 0, repaired.stderr);
    audit = await crawl.run('audit');
  }
  assert.equal(audit.code, 0, `audit: ${audit.stdout}${audit.stderr}`);
}

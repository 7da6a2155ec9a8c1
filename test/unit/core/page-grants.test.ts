// The granting side of the page limit by itself, for members that the test plays.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PagesGrant } from '../../../agent/core/page-budget.ts';
import { PageGrants } from '../../../agent/core/page-grants.ts';
import type { CoreSettings } from '../../../agent/core/settings.ts';
import { View } from '../../../agent/core/view.ts';

/** As `COUNTED` has it; `pages` and `held` are what the member plays. */
interface Word {
  pages: number;
  held: number;
  granted: number;
  returned: number;
}

/** Grants for a1, which is the owner, and a2. */
function granting(pagesMax: number) {
  const said = { counter: 0, joined: true, direct: true };
  const answers: { to: string; grant: PagesGrant }[] = [];
  const asked: { id: string; round: number }[] = [];
  const build: CoreSettings['build'] = () => ({ owner: () => 'a1', order: () => ['a1', 'a2'] });
  const view = new View({ id: 'a1', capacity: 1, build, digest: (text) => text });
  view.add({ id: 'a2', inc: 1, capacity: 1, address: 'tcp://a2', ...said }, 0);
  const grants = new PageGrants({
    settings: { id: 'a1', heartbeatMs: 100, pagesMax },
    view,
    viewHash: () => 'v',
    joined: () => true,
    answer: (to, grant) => void answers.push({ to, grant }),
    count: (id, round) => void asked.push({ id, round }),
  });
  let mono = 0;
  const now = () => ({ mono, wall: mono });
  const words = new Map<string, Word>();
  const word = (id: string): Word => {
    const known = words.get(id) ?? { pages: 0, held: 0, granted: 0, returned: 0 };
    words.set(id, known);
    return known;
  };
  /** Time goes on, and every question of a count is answered. */
  const step = () => {
    mono += 60;
    grants.pump(now());
    while (asked.length > 0) {
      const { id, round } = asked.shift()!;
      const about = { round, inc: 1, viewHash: 'v', quiet: true, session: 1 };
      grants.onCounted(id, { ...about, ...word(id) }, now());
    }
  };
  const ask = (id: string, wanted: number) => {
    const { granted, returned } = word(id);
    grants.onAsk(id, 1, { session: 1, wanted, granted, returned }, now());
  };
  const lastTo = (id: string) => answers.filter(({ to }) => to === id).at(-1)?.grant;
  return { answers, step, ask, word, lastTo };
}

describe('page grants', () => {
  it('grants nothing before two counts, and never more than the limit', () => {
    const { answers, step, ask, word, lastTo } = granting(10);
    ask('a2', 100);
    assert.equal(answers.length, 0);
    for (let i = 0; i < 20; i++) {
      step();
      ask('a2', 100);
      word('a2').granted = lastTo('a2')?.granted ?? 0;
      word('a2').held = word('a2').granted;
    }
    assert.equal(lastTo('a2')?.granted, 10);
    assert.equal(lastTo('a2')?.over, false);
  });

  it('says that the limit is reached when the pages are, and not before', () => {
    const { step, ask, word, lastTo } = granting(3);
    ask('a2', 5);
    for (let i = 0; i < 10; i++) {
      step();
      ask('a2', 5);
      word('a2').granted = lastTo('a2')?.granted ?? 0;
      word('a2').held = word('a2').granted;
    }
    assert.deepEqual([lastTo('a2')?.granted, lastTo('a2')?.over], [3, false]);
    Object.assign(word('a2'), { held: 0, pages: 3 });
    for (let i = 0; i < 4; i++) step();
    assert.equal(lastTo('a2')?.over, true);
  });

  it('tells again what was granted and not heard of, when others wait for it', () => {
    const { answers, step, ask, word, lastTo } = granting(1);
    ask('a2', 1);
    step();
    assert.equal(lastTo('a2')?.granted, 1);
    // The grant is lost, and a2 has no use for it any more.
    answers.length = 0;
    ask('a1', 1);
    assert.equal(lastTo('a1')?.granted, 0);
    step();
    assert.equal(lastTo('a2')?.granted, 1);
    Object.assign(word('a2'), { granted: 1, returned: 1 });
    ask('a2', 1);
    ask('a1', 1);
    assert.equal(lastTo('a1')?.granted, 1);
  });
});

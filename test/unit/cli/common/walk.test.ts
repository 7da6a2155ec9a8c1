// A walk through agents that answer badly or name agents that do not exist.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Errand, walk } from '../../../../agent/cli/common/walk.ts';
import type { ControlVerb, MemberCard } from '../../../../agent/core/protocol/messages.ts';

type Answer = Record<string, unknown> | null;

const cardOf = (id: string, more: Partial<MemberCard> = {}): MemberCard => {
  return { id, inc: 1, capacity: 1, address: `tcp://${id}`, ...more };
};
const me = cardOf('a');
const STOP = { verb: 'stop', args: [] } as const;

/** Walks through the agent a. `answerTo` gives its response; null: it is lost. */
async function walked(
  answerTo: (to: readonly string[], verb: ControlVerb) => Answer,
  errand: Errand = STOP,
  now = () => 0,
) {
  const asked: string[] = [];
  const lines: string[] = [];
  const ask = async (
    _: unknown,
    verb: ControlVerb,
    __: unknown,
    to: readonly MemberCard[] = [],
  ) => {
    const ids = to.map(({ id }) => id);
    const answer = answerTo(ids, verb);
    if (ids.length > 0) asked.push(ids.join(' '));
    if (!answer) return { ok: false as const, failures: ['lost'] };
    const result = { me, results: {}, silent: [], members: [], contacts: [], ...answer };
    return { ok: true as const, by: 'a', result };
  };
  const whom = { agents: [{ id: 'a', address: 'tcp://a' }], crawl: 'c', dataDir: '.' };
  const ports = { ask, now, say: (text: string) => lines.push(text) };
  const end = await walk(whom as unknown as Parameters<typeof walk>[0], errand, ports as never);
  return { ...end, asked, lines, ids: [...end.results.keys()] };
}

const applied = (to: readonly string[]) => ({
  results: Object.fromEntries(to.map((id) => [id, 'applied'])),
});

it('walk: invalid cards are ignored, and the entry agent comes last', async () => {
  const bad = [null, { ...cardOf('q'), capacity: -1 }, cardOf('far', { inc: 2 ** 52 })];
  const { asked, ids } = await walked((to) => ({ ...applied(to), members: [...bad, cardOf('b')] }));
  assert.deepEqual(
    [asked, ids],
    [
      ['b', 'a'],
      ['a', 'b'],
    ],
  );
});

it('walk: a batch that fails is divided, and the walk ends with the entry agent', async () => {
  const members = ['b', 'bad', 'c'].map((id) => cardOf(id));
  const { asked, ids } = await walked((to) =>
    to.includes('bad') ? null : { ...applied(to), members },
  );
  assert.deepEqual(asked, ['b bad c', 'b', 'bad c', 'bad', 'c', 'a']);
  assert.deepEqual(ids, ['a', 'b', 'c']);
});

it('walk: nothing more is asked through an entry agent that does not answer any more', async () => {
  let isGone = false;
  const { asked } = await walked((to) => {
    isGone ||= to.length > 0;
    return isGone ? null : { members: ['b', 'c'].map((id) => cardOf(id)) };
  });
  assert.deepEqual(asked, ['b c']);
});

it('walk: agents without end that do not answer end it, and the entry agent is still asked', async () => {
  let n = 0;
  const { asked, ids, lines } = await walked((to) => {
    const members = Array.from({ length: 900 }, () => cardOf(`n${n++}`));
    return { ...applied(to.filter((id) => !id.startsWith('n'))), members };
  });
  assert.ok(asked.length < 30, `${asked.length} steps`);
  assert.deepEqual([asked.at(-1), ids], ['a', ['a']]);
  assert.deepEqual(lines, ['not all agents that others name were asked: too many do not answer']);
});

it('walk: agents without end that answer end it after some time', async () => {
  let [n, now] = [0, 0];
  const { asked, ids } = await walked(
    (to) => ({ ...applied(to), members: [cardOf(`n${n++}`)] }),
    STOP,
    () => {
      now += 1000;
      return now;
    },
  );
  assert.ok(asked.length < 200, `${asked.length} steps`);
  assert.ok(ids.includes('a'));
});

it('walk: results of a wrong shape are named, and do not count', async () => {
  const { ids, lines, unreachable } = await walked(
    (to) => ({
      results: Object.fromEntries(to.map((id) => [id, id])),
      members: [cardOf('b\u{202e}')],
    }),
    { ...STOP, isReadable: (_, id) => id === 'a' },
  );
  assert.deepEqual([ids, unreachable], [['a'], ['b\u{202e}']]);
  assert.deepEqual(lines, ['unreadable answer of b�']);
});

it('walk: an answer of a wrong shape is a failure', async () => {
  for (const wrong of [{ me: null }, { me: { ...me, capacity: -1 } }, { results: [] }]) {
    const { failures } = await walked(() => wrong);
    assert.deepEqual(failures, ['unreadable answer of a']);
  }
});

it('walk: every directive is numbered by the first agent and forwarded as it was numbered', async () => {
  const directives = {
    pause: [],
    block: ['h'],
    drain: ['b'],
    undrain: ['b'],
    capacity: ['b', '2'],
  };
  for (const [verb, args] of Object.entries(directives)) {
    const verbs: string[] = [];
    const { ids } = await walked(
      (to, asked) => {
        if (to.length > 0) verbs.push(`${to} ${asked}`);
        return { ...applied(to), members: [cardOf('b')], ...(to.includes('a') && { order: 'n' }) };
      },
      { verb: verb as ControlVerb, args },
    );
    assert.deepEqual(
      [verbs, ids],
      [
        [`a ${verb}`, 'b order'],
        ['a', 'b'],
      ],
    );
  }
});

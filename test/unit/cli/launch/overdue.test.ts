import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endMsMax, Overdue } from '../../../../agent/cli/launch/overdue.ts';

const alive = (id: string) => ({ id, isAlive: true, hasReportedEnd: false });

test('overdue: nobody, while the crawl goes on', () => {
  const overdue = new Overdue();
  assert.deepEqual(overdue.at(0, [alive('a1')], false), []);
  assert.deepEqual(overdue.at(10 * endMsMax, [alive('a1')], false), []);
});

test('overdue: who has not ended so long after the end of the crawl, or the stop', () => {
  const overdue = new Overdue();
  const agents = [alive('a1'), { ...alive('a2'), isAlive: false }];
  assert.deepEqual(overdue.at(1000, agents, true), []);
  assert.deepEqual(overdue.at(1000 + endMsMax - 1, agents, true), []);
  assert.deepEqual(overdue.at(1000 + endMsMax, agents, true), ['a1']);
});

test('overdue: who has said its last word and whose process stays, though the others go on', () => {
  const overdue = new Overdue();
  const agents = [{ ...alive('a1'), hasReportedEnd: true }, alive('a2')];
  assert.deepEqual(overdue.at(0, agents, false), []);
  assert.deepEqual(overdue.at(endMsMax, agents, false), ['a1']);
});

test('overdue: an agent that is started again has its whole time', () => {
  const overdue = new Overdue();
  overdue.at(0, [{ ...alive('a1'), hasReportedEnd: true }], false);
  overdue.at(endMsMax, [alive('a1')], false);
  assert.deepEqual(overdue.at(endMsMax, [{ ...alive('a1'), hasReportedEnd: true }], false), []);
});

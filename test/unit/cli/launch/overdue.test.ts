import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endMsMax, Overdue } from '../../../../agent/cli/launch/overdue.ts';

const alive = (id: string) => ({ id, isAlive: true, hasReportedEnd: false });

test('overdue: reports no agent while the crawl runs', () => {
  const overdue = new Overdue();
  assert.deepEqual(overdue.at(0, [alive('a1')], false), []);
  assert.deepEqual(overdue.at(10 * endMsMax, [alive('a1')], false), []);
});

test('overdue: reports an agent that runs too long after the crawl ended or was stopped', () => {
  const overdue = new Overdue();
  const agents = [alive('a1'), { ...alive('a2'), isAlive: false }];
  assert.deepEqual(overdue.at(1000, agents, true), []);
  assert.deepEqual(overdue.at(1000 + endMsMax - 1, agents, true), []);
  assert.deepEqual(overdue.at(1000 + endMsMax, agents, true), ['a1']);
});

test('overdue: reports an agent whose process stays after its last message', () => {
  const overdue = new Overdue();
  const agents = [{ ...alive('a1'), hasReportedEnd: true }, alive('a2')];
  assert.deepEqual(overdue.at(0, agents, false), []);
  assert.deepEqual(overdue.at(endMsMax, agents, false), ['a1']);
});

test('overdue: gives a restarted agent the full time again', () => {
  const overdue = new Overdue();
  overdue.at(0, [{ ...alive('a1'), hasReportedEnd: true }], false);
  overdue.at(endMsMax, [alive('a1')], false);
  assert.deepEqual(overdue.at(endMsMax, [{ ...alive('a1'), hasReportedEnd: true }], false), []);
});

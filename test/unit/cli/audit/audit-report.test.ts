import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Audit, auditText } from '../../../../agent/cli/audit/audit-report.ts';

const none = { count: 0, list: [] };
const linesOf = (hosts: number, copies: Partial<Audit['copies']>) => {
  const audit = {
    ...{ ok: true, complete: true, known: 0, done: 0, queued: 0, onTheWay: 0, skipped: {} },
    ...{ skippedTotal: 0, failed: 0, serverErrors: 0, hostsUnreachable: 0, unsettled: 0, hosts },
    copies: { wanted: 2, hostsWithFew: 0, ahead: 0, behind: 0, ...copies },
    ...{ agents: [], warnings: none, problems: none, unchecked: {} },
  } as unknown as Audit;
  return auditText(audit)
    .split('\n')
    .filter((line) => /hosts?,|^copies:/.test(line));
};

test('audit: one host and one URL are counted in the singular', () => {
  assert.deepEqual(linesOf(1, {}), ['1 host, complete at 2 agents']);
  assert.deepEqual(linesOf(2, {}), ['2 hosts, each complete at 2 agents']);
  assert.deepEqual(linesOf(1, { hostsWithFew: 1, behind: 1 }), [
    '1 host, not complete at 2 agents',
    'copies: 1 URL behind its owner, 0 ahead',
  ]);
  assert.deepEqual(linesOf(1, { ahead: 2 })[0], '1 host, complete at 2 agents');
  assert.deepEqual(linesOf(3, { hostsWithFew: 1, behind: 2 }), [
    '3 hosts, 2 of them complete at 2 agents',
    'copies: 2 URLs behind their owners, 0 ahead',
  ]);
});

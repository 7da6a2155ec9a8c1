import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outcome } from '../../../agent/core/protocol/outcome.ts';
import { FailureCounts } from '../../../agent/monitor/failure-counts.ts';

test('failures: counts attempts by class; not responses below 400 or withdrawn requests', () => {
  const counts = new FailureCounts();
  const note = (outcome: object) => counts.note(outcome as Outcome);
  note({ kind: 'failure', code: 'dns', cause: 'connection' });
  note({ kind: 'failure', code: 'dns', cause: 'connection' });
  note({ kind: 'failure', code: 'aborted', cause: 'withdrawn' });
  for (const status of [200, 301, 404, 429, 503]) note({ kind: 'response', status });
  assert.deepEqual(counts.byClass(), { dns: 2, '4xx': 2, '5xx': 1 });
});

test('failures: a robots.txt that is out of reach counts as its error or its status', () => {
  const counts = new FailureCounts();
  const note = (answer: object) => counts.note({ kind: 'robots', answer } as Outcome);
  note({ kind: 'rules' });
  note({ kind: 'allowAll', reason: 'status_404' });
  note({ kind: 'unreachable', error: 'tls', status: null });
  note({ kind: 'unreachable', error: null, status: 503 });
  assert.deepEqual(counts.byClass(), { tls: 1, '5xx': 1 });
});

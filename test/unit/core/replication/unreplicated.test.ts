// Fetched pages that are not at their backups yet: which ones count, and which are remembered.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Unreplicated } from '../../../../agent/core/replication/unreplicated.ts';
import { SUSPECT_MS } from '../../../simulation/cluster.ts';

describe('unreplicated pages', () => {
  const LATE_MS = SUSPECT_MS / 4;

  function pages() {
    const marks = new Map<string, number>();
    const unreplicated = new Unreplicated((host, n) => (marks.get(host) ?? 0) >= n);
    return { marks, unreplicated };
  }

  it('count from their fetch until all backups have their records', () => {
    const { marks, unreplicated } = pages();
    unreplicated.fetched('p1', 0);
    unreplicated.fetched('p2', 1);
    unreplicated.settled('p1', 'h', 5);
    unreplicated.settled('p2', 'h', 7);
    assert.equal(unreplicated.count(0), 2);
    marks.set('h', 6);
    unreplicated.progressed('h');
    assert.equal(unreplicated.count(0), 1);
    marks.set('h', 7);
    unreplicated.progressed('h');
    assert.equal(unreplicated.count(0), 0);
  });

  it('no longer count when a backup has been slow with them', () => {
    const { unreplicated } = pages();
    unreplicated.fetched('p1', 0);
    unreplicated.fetched('p2', LATE_MS);
    assert.equal(unreplicated.count(LATE_MS), 1);
  });

  it('no longer count once another agent owns their host', () => {
    const { unreplicated } = pages();
    unreplicated.fetched('p1', 0);
    unreplicated.settled('p1', 'h', 5);
    unreplicated.returned('h');
    assert.equal(unreplicated.count(0), 0);
  });

  it('are not remembered if they are late or forgotten', () => {
    let asked = 0;
    const unreplicated = new Unreplicated(() => {
      asked++;
      return false;
    });
    for (let i = 0; i < 3; i++) {
      unreplicated.fetched(`p${i}`, i);
      unreplicated.settled(`p${i}`, `h${i}`, 5 + i);
    }
    unreplicated.forget('p0');
    assert.equal(unreplicated.count(2), 1);
    unreplicated.settled('p1', 'h1', 9);
    asked = 0;
    unreplicated.viewChanged();
    assert.equal(asked, 1, 'only the page that counts is checked');
  });
});

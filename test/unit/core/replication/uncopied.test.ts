// Pages that were fetched and are not at their backups yet: what counts, and what is kept of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Uncopied } from '../../../../agent/core/replication/uncopied.ts';
import { SUSPECT_MS } from '../../../simulation/cluster.ts';

describe('uncopied pages', () => {
  const LATE_MS = SUSPECT_MS / 4;

  function pages() {
    const marks = new Map<string, number>();
    const uncopied = new Uncopied((host, n) => (marks.get(host) ?? 0) >= n);
    return { marks, uncopied };
  }

  it('wait from their fetch until all backups have their records', () => {
    const { marks, uncopied } = pages();
    uncopied.fetched('p1', 0);
    uncopied.fetched('p2', 1);
    uncopied.settled('p1', 'h', 5);
    uncopied.settled('p2', 'h', 7);
    assert.equal(uncopied.count(0), 2);
    marks.set('h', 6);
    uncopied.progressed('h');
    assert.equal(uncopied.count(0), 1);
    marks.set('h', 7);
    uncopied.progressed('h');
    assert.equal(uncopied.count(0), 0);
  });

  it('do not count any more when a backup has been slow with them', () => {
    const { uncopied } = pages();
    uncopied.fetched('p1', 0);
    uncopied.fetched('p2', LATE_MS);
    assert.equal(uncopied.count(LATE_MS), 1);
  });

  it('are no concern once another owns their host', () => {
    const { uncopied } = pages();
    uncopied.fetched('p1', 0);
    uncopied.settled('p1', 'h', 5);
    uncopied.returned('h');
    assert.equal(uncopied.count(0), 0);
  });

  it('leaves nothing behind of a late page, nor of one that is forgotten', () => {
    let asked = 0;
    const uncopied = new Uncopied(() => {
      asked++;
      return false;
    });
    for (let i = 0; i < 3; i++) {
      uncopied.fetched(`p${i}`, i);
      uncopied.settled(`p${i}`, `h${i}`, 5 + i);
    }
    uncopied.forget('p0');
    assert.equal(uncopied.count(2), 1);
    uncopied.settled('p1', 'h1', 9);
    asked = 0;
    uncopied.viewChanged();
    assert.equal(asked, 1, 'only the page that counts is looked at');
  });
});

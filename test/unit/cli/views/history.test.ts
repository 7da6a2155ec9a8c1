import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { openStateFile } from '../../../../agent/cli/common/query-files.ts';
import { circleAt, historyOf } from '../../../../agent/cli/views/history.ts';
import { crawlOf, damage } from './state-files.ts';

const ids = ['a1', 'a2', 'a3'];

test('history: names each state file that cannot be read, and shows the others', (t) => {
  const { config, fileOf } = crawlOf(t, ids, (store, id) => store.event(1, 'join', { agent: id }));
  assert.deepEqual(historyOf(config).problems, []);
  fs.writeFileSync(fileOf('a2'), 'x'.repeat(9000));
  damage(fileOf('a3'), 'event_rows');
  const { changes, problems } = historyOf(config);
  assert.deepEqual(
    changes.map(({ id }) => id),
    ['a1'],
  );
  assert.deepEqual(
    problems.map(({ text }) => text.replace(/^.*\/(a\d)\/state\.sqlite (is \w+).*$/, '$1 $2')),
    ['a2 is damaged', 'a3 is damaged'],
  );
  for (const { remedy } of problems) assert.match(remedy, /^start the agent: .*; it sets the file/);
});

test('history: the circle of a time needs no samples', (t) => {
  const { config } = crawlOf(t, ids, (store, id) =>
    store.event(id === 'a3' ? 1e6 : 1, 'join', { agent: id }),
  );
  const read: string[] = [];
  const members = (at: number) =>
    circleAt(config, at, (agent, path) => {
      const file = openStateFile(agent, path);
      if (typeof file === 'string') return file;
      const plainRows = (sql: string) => {
        read.push(sql);
        return file.plainRows(sql);
      };
      return { ...file, plainRows };
    }).views.flatMap(({ seenBy }) => seenBy);
  const { span } = historyOf(config);
  assert.deepEqual(members(span!.from), ['a1', 'a2']);
  assert.deepEqual(members(span!.to), ids);
  assert.deepEqual(read, []);
});

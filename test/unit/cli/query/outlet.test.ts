import assert from 'node:assert/strict';
import os from 'node:os';
import { test } from 'node:test';
import { Refusal } from '../../../../agent/cli/common/exit-code.ts';
import { Outlet } from '../../../../agent/cli/query/outlet.ts';

const piece = `${'é'.repeat(70_000)}\n`;
const pieces = Array.from({ length: 5 }, (_, k) => `${k} ${piece}`);
const directory = os.tmpdir();

test('writes directly and in order to a stdout that does not block', async () => {
  const printed: string[] = [];
  const print = async (text: string) => void printed.push(text);
  const outlet = new Outlet({ print, waitMsMax: 60_000, directory });
  for (const text of pieces) await outlet.write(text);
  await outlet.write('the end\n');
  assert.equal(outlet.isSpooling, false);
  await outlet.end();
  assert.equal(printed.join(''), `${pieces.join('')}the end\n`);
});

test('a blocked stdout delays the writer for no longer than the bound', async () => {
  const printed: string[] = [];
  const blocked = Promise.withResolvers<void>();
  const print = async (text: string) => {
    printed.push(text);
    if (printed.length === 1) await blocked.promise;
  };
  const outlet = new Outlet({ print, waitMsMax: 5, directory });
  for (const text of pieces) await outlet.write(text);
  assert.equal(outlet.isSpooling, true);
  assert.equal(printed.length, 1);
  const ended = outlet.end();
  blocked.resolve();
  await ended;
  assert.equal(printed.join(''), pieces.join(''));
});

test('for a terminal, reads everything before it prints the first piece', async () => {
  const printed: string[] = [];
  const print = async (text: string) => void printed.push(text);
  const outlet = new Outlet({ print, waitMsMax: 0, directory });
  for (const text of pieces) await outlet.write(text);
  assert.deepEqual(printed, []);
  await outlet.end();
  assert.equal(printed.join(''), pieces.join(''));
});

test('a directory for temporary files that cannot be used is the end, with the remedy', async () => {
  const outlet = new Outlet({ print: async () => {}, waitMsMax: 0, directory: '/nonexistent' });
  await assert.rejects(outlet.write(pieces[0]!), (error) => {
    assert.ok(error instanceof Refusal && error.code === 4, String(error));
    assert.match(error.message, /^cannot write in .*; name a directory with room in TMPDIR$/);
    return true;
  });
});

// The name identifies a crawl: no command acts on or reads a crawl of another name, neither by its
// endpoints nor in its data directory.

import { test } from 'node:test';
import { commandsOf, stage } from './crawl-names-stage.ts';

test('agents refuse every command of another crawl with the same endpoints', async (context) => {
  const { renamed, gate, untouched, refused, end } = await stage(context, { dataDir: 'own' });
  for (const [command, ...words] of commandsOf(gate.seed)) {
    await refused(command, renamed, ...words);
  }
  await untouched();
  await end();
});

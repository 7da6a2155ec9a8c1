// The name is the identity of a crawl: no command acts on, or reads, another one, be it found by its
// endpoints or in the data directory.

import { test } from 'node:test';
import { commandsOf, stage } from './crawl-names-stage.ts';

test('no command is obeyed by the agents of another crawl at the same endpoints', async (context) => {
  const { renamed, gate, untouched, refused, end } = await stage(context, { dataDir: 'own' });
  for (const [command, ...words] of commandsOf(gate.seed)) {
    await refused(command, renamed, ...words);
  }
  await untouched();
  await end();
});

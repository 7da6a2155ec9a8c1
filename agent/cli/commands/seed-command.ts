// `ubiring seed`: more URLs to begin from while a crawl runs. One agent takes them and sends each to
// the owner of its host, as it would a link; it answers when they are safe there. What is over, or
// does not run, takes none: then the config's seeds are the place.

import { seedReader } from '../../composition/config-parts.ts';
import { askInTurn } from '../common/ask.ts';
import type { ExitCode } from '../common/exit-code.ts';
import {
  asked,
  type CommonFlags,
  launchCommand,
  loadResolved,
  shownPath,
} from '../common/load-config.ts';
import { count, print, printable, say } from '../common/output.ts';
import { readCompletion } from '../state-files/completion-file.ts';

/** URLs of one command: they travel in one message. */
const SEEDS_MAX = 500;

/** What the agent says of one URL. */
type Said =
  | { readonly refused: string }
  /** `owner` null: on its way there, and on the disk of the agent that answered. */
  | { readonly url: string; readonly owner: string | null };

/** Ends with 1 where one was refused; the others are taken all the same. */
export async function seed(
  file: string,
  urls: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  if (urls.length > SEEDS_MAX) {
    say(`${count(urls.length)} URLs are too many at once; ${SEEDS_MAX} at most`);
    return 2;
  }
  const loaded = await loadResolved(file, flags, { allocate: false });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const answer = await askInTurn(asked(config), 'seed', urls);
  if (!answer.ok) {
    const over = readCompletion(config).kind === 'complete';
    // Judged here as an agent would: nothing is to be added to the config that no launch takes.
    const read = seedReader(config);
    const refused = urls.map((text) => [text, read(text)] as const);
    for (const [text, what] of refused) {
      if ('refused' in what) say(`${printable(text)}: ${sentence(what)}`);
    }
    if (refused.every(([, what]) => 'refused' in what)) return 1;
    if (!over) say(answer.failures.join('\n'));
    const launch = launchCommand(config);
    say(
      `${over ? 'the crawl is complete' : 'no agent took them'}: ` +
        `add the ${refused.some(([, what]) => 'refused' in what) ? 'other ' : ''}URLs to the seeds of ${shownPath(config)} and run ${launch}`,
    );
    return 1;
  }
  const said = Object.entries(answer.result as Readonly<Record<string, Said>>);
  if (flags.json) await print(`${JSON.stringify(answer.result)}\n`);
  else await print(said.map(([text, what]) => `${printable(text)}: ${sentence(what)}\n`).join(''));
  return said.some(([, what]) => 'refused' in what) ? 1 : 0;
}

function sentence(what: Said): string {
  if ('refused' in what) return `refused: ${printable(what.refused)}`;
  return what.owner === null ? 'accepted, on its way to its owner' : `accepted by ${what.owner}`;
}

// `ubiring seed`: adds seeds while a crawl runs. One agent accepts the URLs and sends each to the
// owner of its host, as it sends links. If no agent runs, or the crawl is complete, the message
// says to add them to the config.

import { seedReader } from '../../composition/config-parts.ts';
import { askInTurn } from '../common/ask.ts';
import { caller } from '../common/caller.ts';
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
import { refuseOtherCrawl } from '../state-files/other-crawl.ts';

/** Maximum number of URLs of one command: they are sent in one message. */
const SEEDS_MAX = 500;

/** An agent's answer for one URL. */
type Answer =
  | { readonly refused: string }
  /** `owner` is null while the URL is only on the disk of the agent that answered. */
  | { readonly url: string; readonly owner: string | null };

/** Exits with 1 if a URL was refused or no agent accepts any; other URLs are accepted. */
export async function seed(
  file: string,
  urls: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  if (urls.length > SEEDS_MAX) {
    say(`${count(urls.length)} URLs exceed the limit of ${SEEDS_MAX} per command`);
    return 2;
  }
  const loaded = await loadResolved(file, flags, { allocate: false });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  const answer = await askInTurn(asked(config), 'seed', urls);
  if (!answer.ok) {
    refuseOtherCrawl(config);
    const over = readCompletion(config).kind === 'complete';
    // Checked here as an agent would: the config must not get seeds that a launch would refuse.
    const read = seedReader(config);
    const refused = urls.flatMap((text) => {
      const seed = read(text);
      return 'refused' in seed ? [line(text, seed)] : [];
    });
    say(...refused);
    if (refused.length === urls.length) return 1;
    caller().heard.isRefused = over;
    if (!over) say(...answer.failures);
    const other = refused.length > 0 ? 'other ' : '';
    say(
      `${over ? 'the crawl is complete' : 'no agent accepted the URLs'}; ` +
        `add the ${other}URLs to the seeds of ${shownPath(config)} and run ${launchCommand(config)}`,
    );
    return 1;
  }
  const answers = Object.entries(answer.result as Readonly<Record<string, Answer>>);
  if (flags.json) await print(`${JSON.stringify(answer.result)}\n`);
  else await print(answers.map(([text, result]) => `${line(text, result)}\n`).join(''));
  return answers.some(([, result]) => 'refused' in result) ? 1 : 0;
}

function line(text: string, answer: Answer): string {
  const result =
    'refused' in answer
      ? `refused: ${printable(answer.refused)}`
      : answer.owner === null
        ? 'accepted, on its way to its owner'
        : `accepted by ${answer.owner}`;
  return `${printable(text)}: ${result}`;
}

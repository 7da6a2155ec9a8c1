// `ubiring seed`: adds seeds while a crawl runs. One agent accepts the URLs and sends each to the
// owner of its host, as it sends links. If no agent runs, or the crawl is complete, the message
// says to add them to the config.

import { seedReader } from '../../composition/config-parts.ts';
import { URL_CHARS_MAX } from '../../url/crawl-url.ts';
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

const TOO_LONG = { refused: `longer than ${URL_CHARS_MAX} characters; write a shorter URL` };

/** An agent's answer for one URL. */
type Answer =
  | { readonly refused: string }
  /** `owner` is null while the URL is only on the disk of the agent that answered. */
  | { readonly url: string; readonly owner: string | null };

/** By URL as the caller wrote it. */
type Answers = Readonly<Record<string, Answer>>;

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
  // Checked here as an agent would. An agent does not answer a message with a longer text.
  const read = seedReader(config);
  const refusalsOf = (texts: readonly string[]) =>
    Object.fromEntries(
      texts.flatMap((text) => {
        const seed = text.length > URL_CHARS_MAX ? TOO_LONG : read(text);
        return 'refused' in seed ? [[text, seed] as const] : [];
      }),
    );
  const long = refusalsOf(urls.filter((text) => text.length > URL_CHARS_MAX));
  const sent = urls.filter((text) => !Object.hasOwn(long, text));
  const answer = sent.length > 0 ? await askInTurn(asked(config), 'seed', sent) : null;
  if (answer === null || answer.ok) {
    return await tell({ ...(answer?.result as Answers | undefined), ...long }, flags);
  }
  refuseOtherCrawl(config);
  // The config must not get seeds that a launch would refuse.
  const refused = refusalsOf(urls);
  const refusedCount = Object.keys(refused).length;
  if (refusedCount === new Set(urls).size) return await tell(refused, flags);
  say(...Object.entries(refused).map(([text, refusal]) => line(text, refusal)));
  const over = readCompletion(config).kind === 'complete';
  caller().heard.isRefused = over;
  if (!over) say(...answer.failures);
  const other = refusedCount > 0 ? 'other ' : '';
  say(
    `${over ? 'the crawl is complete' : 'no agent accepted the URLs'}; ` +
      `add the ${other}URLs to the seeds of ${shownPath(config)} and run ${launchCommand(config)}`,
  );
  return 1;
}

async function tell(answers: Answers, flags: { readonly json?: boolean }): Promise<ExitCode> {
  const said = Object.entries(answers);
  const code = said.some(([, answer]) => 'refused' in answer) ? 1 : 0;
  if (flags.json) await print(`${JSON.stringify(answers)}\n`, code);
  else await print(said.map(([text, answer]) => `${line(text, answer)}\n`).join(''), code);
  return code;
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

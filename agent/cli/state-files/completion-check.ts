// Whether a crawl that `complete.json` calls complete still is: the state files of the agents that were
// there at its end are present, sound and no less than they were, and no other agent's state beside
// them has anything that they lack. Asked by `launch` and `agent` before they take the record's word.

import fs from 'node:fs';
import path from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { WHOLE_BYTES_MAX } from '../../storage/file/database.ts';
import { examine, sizeOf } from '../../storage/file/examination.ts';
import { messageOf } from '../common/exit-code.ts';
import { openStateFiles } from '../common/query-files.ts';
import { isLocked } from '../common/running.ts';
import { type Completion, type CompletionNote, readCompletion } from './completion-file.ts';
import { compareStates } from './left-out.ts';
import { leftOutText } from './left-out-text.ts';
import { copiesOf, ownersOf } from './query-owners.ts';
import { stateTotals } from './state-totals.ts';

/** An agent without a sound state; `why` is a sentence without its agent. */
export interface Unsound {
  readonly agent: string;
  readonly why: string;
}

export type CheckedCompletion =
  | Completion
  /** It is, but for these states. */
  | {
      readonly kind: 'unsound';
      readonly note: CompletionNote;
      readonly agents: readonly Unsound[];
      /** How many other agents have a copy of what each of them held. */
      readonly copies: number;
    }
  /** It is not any more: states are there that do not belong to that end. */
  | { readonly kind: 'changed'; readonly note: CompletionNote; readonly why: readonly string[] };

/**
 * @param here - agents of this machine: where one of them was there at the end and has no directory
 *   any more, its state is missing, and so is that of an agent that the config does not name. That of
 *   an agent that the config names on another machine is not looked for.
 */
export function checkedCompletion(config: Config, here: readonly string[]): CheckedCompletion {
  const completion = readCompletion(config);
  if (completion.kind !== 'complete') return completion;
  const { note } = completion;
  const { dataDir } = config.agent;
  const elsewhere = membersOf(config).filter(({ id }) => !here.includes(id));
  const members = note.agents.filter((agent) => {
    const isElsewhere = elsewhere.some(({ id }) => id === agent);
    return !isElsewhere || fs.existsSync(path.join(dataDir, agent));
  });
  const agents = members.flatMap((agent) => {
    const why = unsoundness(config, agent);
    return why === null ? [] : [{ agent, why }];
  });
  if (agents.length > 0)
    return { kind: 'unsound', note, agents, copies: copiesAtEnd(config, note) };
  const { leftOut } = compareStates(dataDir, config.name, note.agents);
  const why = [
    ...members.flatMap((agent) => setBack(dataDir, agent, note)),
    ...leftOut.map((one) => `${leftOutText(one)}, which is not of that end`),
  ];
  return why.length > 0 ? { kind: 'changed', note, why } : completion;
}

/** The config may have another number of backups by now, which no agent has crawled with. */
function copiesAtEnd(config: Config, note: CompletionNote): number {
  const { files } = openStateFiles(config.agent.dataDir, []);
  try {
    return copiesOf(ownersOf(files, config).backups, note.agents);
  } finally {
    for (const file of files) file.close();
  }
}

/** What is wrong with the state file of an agent that does not run; null where nothing is. */
function unsoundness(config: Config, agent: string): string | null {
  const directory = path.join(config.agent.dataDir, agent);
  const file = path.join(directory, 'state.sqlite');
  if (isLocked(directory)) return null;
  try {
    const whole = sizeOf(file) <= WHOLE_BYTES_MAX;
    const found = examine(file, { crawl: config.name, agent }, whole);
    if (found.kind === 'absent') return `${file} is missing`;
    return found.kind === 'damaged' ? `${file} ${found.why}` : null;
  } catch (error) {
    return `${file} cannot be read (${messageOf(error)})`;
  }
}

function setBack(dataDir: string, agent: string, { states }: CompletionNote): string[] {
  const [then, now] = [states?.[agent], stateTotals(dataDir, agent)];
  if (then === undefined || now === null) return [];
  if (now.pages >= then.pages && now.queued <= then.queued) return [];
  const text = ({ pages, queued }: typeof then) => `${pages} pages and ${queued} queued URLs`;
  return [`${agent}: its state has ${text(now)}, at the end it had ${text(then)}`];
}

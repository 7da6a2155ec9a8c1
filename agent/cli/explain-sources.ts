// Where `ubiring explain` gets what is known of a URL: from the running agent that owns its host,
// asked by way of any other; where none answers, from the state files of this machine.

import Database from 'better-sqlite3';
import { type AgentEntry, type Config, membersOf } from '../../config/config.ts';
import { type Explanation, explanationOf, readRowOf } from '../explanation.ts';
import type { ReadRow } from '../storage/url-facts.ts';
import { splitIdentity } from '../url/url-key.ts';
import { askInTurn } from './ask.ts';
import { messageOf } from './exit-code.ts';
import { openStateFiles } from './query-files.ts';
import { ownersOf } from './query-owners.ts';

export interface Source {
  /** For people: `agents` or `files`. */
  readonly kind: 'agents' | 'files';
  /** The present owner of the host, as far as the source knows; null where it does not. */
  readonly owner: string | null;
  /** Null where neither the owner nor, from files, anyone else has anything to say. */
  find(identity: string): Promise<Explanation | null>;
  close(): void;
}

/**
 * @param agents - with their endpoints; none where they have none yet
 * @param onProblem - told of each file that cannot be read
 */
export async function sourceFor(
  config: Config,
  agents: readonly AgentEntry[],
  identity: string,
  onProblem: (message: string) => void,
): Promise<Source> {
  const first = await ask(agents, identity);
  if (first?.facts) {
    // Who answered once is asked first from then on: others may be gone.
    const inTurn = agents.toSorted((a, b) => {
      return Number(b.id === first.by) - Number(a.id === first.by);
    });
    return {
      kind: 'agents',
      owner: first.owner,
      find: async (url) => {
        return url === identity ? first.facts : ((await ask(inTurn, url))?.facts ?? null);
      },
      close: () => {},
    };
  }
  return fileSource(config, identity, onProblem);
}

interface Answer {
  /** Who was asked. */
  readonly by: string;
  readonly owner: string;
  /** Null where the owner did not answer in time. */
  readonly facts: Explanation | null;
}

async function ask(agents: readonly AgentEntry[], identity: string): Promise<Answer | null> {
  const answer = await askInTurn(agents, 'explain', [identity]);
  if (!answer.ok) return null;
  const { owner, facts } = answer.result as Omit<Answer, 'by'>;
  return { by: answer.by, owner, facts };
}

function fileSource(
  config: Config,
  identity: string,
  onProblem: (message: string) => void,
): Source {
  const { files, problems } = openStateFiles(config.agent.dataDir, []);
  for (const problem of problems) onProblem(problem);
  const owners = ownersOf(files, config);
  const readers = files.flatMap(({ agent, path }) => readerOf(agent, path));
  for (const file of files) file.close();
  const { userAgent } = config.http;
  const look = (url: string): Explanation | null => {
    const host = splitIdentity(url)?.host ?? '';
    const found: Explanation[] = [];
    for (const { agent, read } of readers) {
      try {
        found.push(explanationOf({ agent, userAgent, read, identity: url }));
      } catch (error) {
        onProblem(`${agent}: ${messageOf(error)}`);
      }
    }
    // The owner's word first, then whose file still claims the host, then copies.
    const rank = ({ agent, host: its }: Explanation) =>
      agent === owners.owner(host) ? 0 : its?.owned ? 1 : 2;
    const byRank = found.toSorted((a, b) => rank(a) - rank(b));
    return byRank.find((one) => one.url !== null || one.inOutbox) ?? byRank[0] ?? null;
  };
  const known = new Set(membersOf(config).map(({ id }) => id));
  const owner = owners.owner(splitIdentity(identity)?.host ?? '');
  return {
    kind: 'files',
    owner: owner !== undefined && known.has(owner) ? owner : null,
    find: async (url) => look(url),
    close: () => {
      for (const { db } of readers) db.close();
    },
  };
}

interface Reader {
  readonly agent: string;
  readonly db: Database.Database;
  readonly read: ReadRow;
}

function readerOf(agent: string, path: string): Reader[] {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  return [{ agent, db, read: readRowOf(db) }];
}

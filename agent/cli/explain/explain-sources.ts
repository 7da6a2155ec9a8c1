// The sources of `ubiring explain` for what is stored about a URL: the running agent that owns its host,
// asked through any other agent; if it does not answer, the state files of this machine.

import { type Config, membersOf } from '../../../config/config.ts';
import { type Explanation, explanationOf } from '../../control/explanation.ts';
import { asForm, type CrawlUrl, type Identity, URL_CHARS_MAX } from '../../url/crawl-url.ts';
import { splitIdentity } from '../../url/url-key.ts';
import { type Asked, askInTurn } from '../common/ask.ts';
import { messageOf } from '../common/exit-code.ts';
import { openFilesOf } from '../state-files/other-crawl.ts';
import { ownersOf } from '../state-files/query-owners.ts';

export interface Source {
  readonly kind: 'agents' | 'files';
  /** The present owner of the host; null if the source does not know it. */
  readonly owner: string | null;
  /** The owner that other agents have asked without an answer; null: it answers, or no agent does. */
  readonly silentOwner: string | null;
  /** What is stored about the URL; null if the owner does not answer or no file can be read. */
  find(identity: Identity): Promise<Explanation | null>;
  close(): void;
}

/**
 * @param whom - the agents that have endpoints
 * @param url - the URL to be explained; if it is unknown, its `fetchUrl` is checked
 * @param onProblem - called for each file that cannot be read
 */
export async function sourceFor(
  config: Config,
  whom: Asked,
  url: Pick<CrawlUrl, 'identity' | 'fetchUrl'>,
  onProblem: (message: string) => void,
): Promise<Source> {
  const { identity } = url;
  const first = await ask(whom, url);
  if (first?.facts) {
    // The agent that has answered is asked first from now on: others may not answer.
    const agents = whom.agents.toSorted((a, b) => {
      return Number(b.id === first.by) - Number(a.id === first.by);
    });
    const inTurn = { ...whom, agents };
    return {
      kind: 'agents',
      owner: first.owner,
      silentOwner: null,
      find: async (other) => {
        if (other === identity) return first.facts;
        const asked = { identity: other, fetchUrl: asForm(other) };
        return (await ask(inTurn, asked))?.facts ?? null;
      },
      close: () => {},
    };
  }
  return fileSource(config, url, first?.owner ?? null, onProblem);
}

interface Answer {
  /** The agent that was asked. */
  readonly by: string;
  /** Null if a look-up has not found it. */
  readonly owner: string | null;
  /** Null if the owner did not answer in time. */
  readonly facts: Explanation | null;
}

async function ask(
  whom: Asked,
  { identity, fetchUrl }: Pick<CrawlUrl, 'identity' | 'fetchUrl'>,
): Promise<Answer | null> {
  // An agent stores no longer URL, and does not answer a message that has one: only the host counts.
  const isLong = Math.max(identity.length, fetchUrl.length) > URL_CHARS_MAX;
  const root = new URL('/', identity).href;
  const asked = isLong ? [root, root] : [identity, fetchUrl];
  const answer = await askInTurn(whom, 'explain', asked);
  if (!answer.ok) return null;
  const { owner, facts } = answer.result as Omit<Answer, 'by'>;
  const unknown = { url: null, robots: null, inOutbox: false, askedFor: null };
  return { by: answer.by, owner, facts: facts && (isLong ? { ...facts, ...unknown } : facts) };
}

function fileSource(
  config: Config,
  asked: Pick<CrawlUrl, 'identity' | 'fetchUrl'>,
  silentOwner: string | null,
  onProblem: (message: string) => void,
): Source {
  const { files, problems } = openFilesOf(config, []);
  for (const problem of problems) onProblem(problem);
  const owners = ownersOf(files, config);
  const { userAgent } = config.http;
  const look = (identity: Identity): Explanation | null => {
    const host = splitIdentity(identity)?.host ?? '';
    const form = identity === asked.identity ? asked.fetchUrl : asForm(identity);
    const found: Explanation[] = [];
    for (const { agent, first } of files) {
      try {
        found.push(explanationOf({ agent, userAgent, read: first, identity, form }));
      } catch (error) {
        onProblem(`${agent}: ${messageOf(error)}`);
      }
    }
    // The owner's file comes first, then files that still claim the host, then copies.
    const rank = ({ agent, host: its }: Explanation) =>
      agent === owners.owner(host) ? 0 : its?.owned ? 1 : 2;
    const byRank = found.toSorted((a, b) => rank(a) - rank(b));
    return byRank.find((one) => one.url !== null || one.inOutbox) ?? byRank[0] ?? null;
  };
  const mayJoin = config.cluster.contacts.length > 0;
  const known = new Set(membersOf(config).map(({ id }) => id));
  const last = owners.owner(splitIdentity(asked.identity)?.host ?? '');
  const owner = last !== undefined && (mayJoin || known.has(last)) ? last : null;
  return {
    kind: 'files',
    owner: silentOwner ?? owner,
    silentOwner,
    find: async (url) => look(url),
    close: () => {
      for (const file of files) file.close();
    },
  };
}

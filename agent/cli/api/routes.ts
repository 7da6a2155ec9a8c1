// The routes of the API: what each needs and returns. The same schemas check the requests and make
// the OpenAPI description (openapi.ts).

import { z } from 'zod';
import type { Elsewhere, SkipReason } from '../../core/protocol/core-store.ts';
import { DIRECTIVES_SHOWN_MAX } from '../../core/protocol/directives.ts';
import { CAPACITY_MAX, ID_CHARS_MAX, THREADS_MAX } from '../../messaging/checks/limits.ts';
import { PAGE_SORTS } from '../../storage/reads/url-lists.ts';
import { causeAndRemedy } from '../common/output.ts';
import { heldIn } from '../common/query-files.ts';
import { API } from '../http/api-prefix.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { Role } from '../http/tokens.ts';
import { viewColumns } from '../state-files/query-views.ts';
import { demandTaker, plannedMovesSchema } from '../views/planned-moves.ts';
import { HOST_SORTS, HOST_STATES, rowsPage } from '../views/query-pages.ts';
import type { Client } from './list-process.ts';
import type { Services } from './services.ts';

const PAGE_LIMIT = 100;
const PAGE_LIMIT_MAX = 1000;
const URL_LENGTH_MAX = 16_384;
const SQL_LENGTH_MAX = 20_000;

const limit = z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT).meta({
  description: 'Rows at most.',
});
/** Holds the longest token, whose URL `url-pages.ts` cuts. */
const after = z.string().max(16_384).optional().meta({
  description: '`next` of the previous answer of the same list, in the same order.',
});
const agentId = z.string().min(1).max(ID_CHARS_MAX).meta({
  description: 'An agent; 400 `agent-unknown` if there is none.',
});
const host = z.string().min(1).max(300).meta({
  description: 'A host as `/hosts` names it, without port.',
});
const hosts = host.meta({
  description: 'A host as `/hosts` names it, without port; `*.host`: its subdomains; `*`: all.',
});
const results = z.record(z.string(), z.string()).meta({
  description: 'By agent: `applied`, `left` (earlier), `unreachable`, or what it said.',
});
const directiveResults = z
  .object({
    stillBlockedBy: z.string().optional().meta({
      description: 'Not an agent: the pattern that still blocks the hosts after `unblock`.',
    }),
    absentAgent: z.string().optional().meta({
      description:
        'Not an agent: the agent of the directive, if it is none of those that answered.',
    }),
  })
  .catchall(z.string())
  .meta({ description: 'By agent: `applied`, `unreachable`, or what it said.' });
const seedResults = z
  .record(
    z.string(),
    z.union([
      z.strictObject({ url: z.string(), owner: z.string().nullable() }),
      z.strictObject({ refused: z.string() }),
    ]),
  )
  .meta({ description: 'By URL; `owner` is null until the owner has it.' });
const scope = z.enum(['cluster', 'machine']).default('cluster').meta({
  description: '`machine`: only the agents whose states are on the machine that is asked.',
});
const anyObject = z.record(z.string(), z.unknown());

export interface Call<Q = unknown, B = unknown> {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  readonly client: Client;
}

export interface Route<Q extends z.ZodType = z.ZodType, B extends z.ZodType = z.ZodType> {
  readonly method: 'GET' | 'POST';
  /** With `{name}` for a part that varies. */
  readonly path: string;
  readonly role: Role;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Q;
  readonly body?: B;
  readonly result: z.ZodType;
  /** Of a result that is not JSON. */
  readonly type?: string;
  /** JSON text, a stream of bytes, a text that is ready in all forms (`Asset`), or a value that becomes JSON. */
  readonly handle: (services: Services, call: Call<z.output<Q>, z.output<B>>) => Promise<unknown>;
}

function route<Q extends z.ZodType, B extends z.ZodType>(one: Route<Q, B>): Route {
  return one as unknown as Route;
}

const hostsQuery = z.strictObject({
  agent: agentId.optional().meta({
    description:
      'Of an agent that does not answer: only the hosts that no other has taken over. ' +
      '400 `agent-unknown` if there is none.',
  }),
  state: z.enum(HOST_STATES).optional(),
  search: z.string().min(1).max(300).optional().meta({ description: 'Part of the host name.' }),
  sort: z.enum(HOST_SORTS).default('host').meta({
    description:
      'By a number, the largest first. A host whose number changes meanwhile may be missed or repeated.',
  }),
  limit,
  after,
  scope,
});
/** As the view names them; a type, so that none is forgotten. */
const SKIP_REASONS: Readonly<Record<Exclude<SkipReason, Elsewhere> | 'elsewhere', true>> = {
  ...{ robots: true, depth: true, pages: true, length: true, scheme: true, blocked: true },
  ...{ trap: true, type: true, scope: true, elsewhere: true },
};
const search = z.string().min(1).max(1000).optional().meta({ description: 'Part of the URL.' });
const urlsQuery = z.strictObject({ host, search, limit, after, scope });
const URL_QUERIES = {
  pages: urlsQuery.extend({
    sort: z.enum(PAGE_SORTS).default('url').meta({
      description:
        '`fetched_at`: the latest first. A page whose time changes meanwhile may be missed.',
    }),
  }),
  frontier: urlsQuery,
  skipped: urlsQuery.extend({
    reason: z.enum(Object.keys(SKIP_REASONS)).optional().meta({ description: 'As in the view.' }),
  }),
} as const;
const DIRECTIVES_LISTED =
  `Not more than ${DIRECTIVES_SHOWN_MAX} directives are listed, first those that are no delay or ` +
  'block. `POST /query` has all in the view `orders`.';
const BY_URL =
  'Sorted by URL: the pages of the list have each row once, also while the crawl runs.';
const scopeQuery = z.strictObject({ scope });
export const NO_QUERY = z.strictObject({});
export const EVENTS_QUERY = z.strictObject({
  after: z.string().optional(),
  state: z.enum(['true', 'false']).optional(),
});
const VIEWS = Object.keys(viewColumns);
const views = z
  .string()
  .max(200)
  .transform((text) => [...new Set(text.split(',').filter((name) => name !== ''))])
  .pipe(z.array(z.enum(VIEWS)))
  .meta({ description: 'Names of views, separated by commas.' });

const OR_DEFAULT = {
  description: '`default`: the directive ends, and the value is that of the config.',
};
const capacity = z
  .union([z.number().positive().max(CAPACITY_MAX), z.literal('default')])
  .meta(OR_DEFAULT);
const threads = z.union([z.int().min(1).max(THREADS_MAX), z.literal('default')]).meta(OR_DEFAULT);
const agentOrAll = agentId.meta({
  description: 'An agent, or `all`: those without a number of threads of their own.',
});
const directive = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['pause', 'resume']) }),
  z.strictObject({ kind: z.enum(['block', 'unblock', 'undelay']), host: hosts }),
  z.strictObject({
    kind: z.literal('delay'),
    host: hosts,
    delayMs: z.int().min(0).max(86_400_000),
  }),
  z.strictObject({ kind: z.enum(['drain', 'undrain']), agent: agentId }),
  z.strictObject({ kind: z.literal('capacity'), agent: agentId, value: capacity }),
  z.strictObject({ kind: z.literal('threads'), agent: agentOrAll, value: threads }),
]);

const READING: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/cluster', role: 'read' },
    summary: 'The status of all agents, and the directives in force (`orders`)',
    description: DIRECTIVES_LISTED,
    result: anyObject,
    handle: ({ watch }) => watch.now(),
  }),
  route({
    ...{ method: 'GET', path: '/agents', role: 'read' },
    summary: 'The status of each agent',
    result: z.array(anyObject),
    handle: async ({ watch }) => (await watch.now()).view.agents,
  }),
  route({
    ...{ method: 'GET', path: '/circle', role: 'read' },
    summary: 'Which agent owns each slice of the space of host keys, for each view of it',
    query: z.strictObject({
      at: z.coerce.number().int().min(0).optional().meta({
        description: 'Unix milliseconds: at this time, according to the events. Default: now.',
      }),
    }),
    result: anyObject,
    handle: ({ circle }, { query, client }) => circle(query.at, client),
  }),
  route({
    ...{ method: 'GET', path: '/history', role: 'read' },
    summary: 'Samples of the agents, and when agents came and went',
    query: scopeQuery,
    result: anyObject,
    handle: ({ lists }, { query, client }) => lists.history(query.scope, client),
  }),
  route({
    ...{ method: 'GET', path: '/hosts', role: 'read' },
    summary: 'Hosts',
    description:
      'Sorted by name: the pages of the list have each host once, also while the crawl runs.',
    query: hostsQuery,
    result: rowsPage,
    handle: ({ lists }, { query: { scope: of, ...query }, client }) =>
      lists.hosts(query, of, client),
  }),
  ...(['pages', 'frontier', 'skipped'] as const).map((view) =>
    route({
      ...{ method: 'GET', path: `/${view}`, role: 'read' },
      summary: `URLs of a host in the view ${view}`,
      description: BY_URL,
      query: URL_QUERIES[view],
      result: rowsPage,
      handle: ({ lists }, { query: { scope: of, ...query }, client }) =>
        lists.urls(view, query, of, client),
    }),
  ),
  route({
    ...{ method: 'GET', path: '/explain', role: 'read' },
    summary: 'Why a URL is crawled or not, and its history',
    query: z.strictObject({ url: z.string().min(1).max(URL_LENGTH_MAX) }),
    result: anyObject,
    handle: ({ run }, { query }) => run({ name: 'explain', args: [query.url] }),
  }),
  route({
    ...{ method: 'GET', path: '/directives', role: 'read' },
    summary: 'The directives in force, with the agents that have each',
    description: DIRECTIVES_LISTED,
    result: z.array(anyObject),
    handle: async ({ watch }) => (await watch.now()).view.orders ?? [],
  }),
  route({
    ...{ method: 'GET', path: '/agents/{id}/moves', role: 'read' },
    summary: 'Which hosts would move, and which copies be made, if an agent left or had a capacity',
    query: z.strictObject({
      capacity: z
        .union([z.literal('default'), z.coerce.number().min(0).max(CAPACITY_MAX)])
        .optional()
        .meta({
          description: '0: it is drained; `default`: as in the config. Absent: it leaves.',
        }),
      of: agentId.optional().meta({
        description: 'Counts only the hosts of this agent; 400 `agent-unknown` if there is none.',
      }),
      scope,
    }),
    result: plannedMovesSchema,
    handle: ({ lists }, { path, query: { capacity = null, of, scope: where }, client }) => {
      return lists.moves({ id: path.id!, capacity, of }, where, client);
    },
  }),
  route({
    ...{ method: 'POST', path: '/query', role: 'read' },
    summary: 'The rows of a read-only SQL statement over the views',
    body: z.strictObject({
      sql: z
        .string()
        .regex(/^[^\0]+$/, 'a statement without NUL')
        .max(SQL_LENGTH_MAX),
    }),
    result: z.object({
      rows: z.array(anyObject).meta({
        description:
          'Integers are exact: a parser must not make those above 2^53 doubles. ' +
          'Infinite reals are the texts `Infinity` and `-Infinity`.',
      }),
      columns: z.array(z.string()).meta({ description: 'In order; empty without rows.' }),
      problems: z.array(z.string()),
    }),
    handle: ({ queries }, { body, client }) => queries.query(body.sql, client.signal),
  }),
];

/** What agents on other machines ask for. Each is about an agent whose state is on this machine. */
const SHARING: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/agents/{id}/events', role: 'read' },
    summary: 'Events of the agent, oldest first',
    query: z.strictObject({
      after: z.coerce.number().int().min(0).optional().meta({
        description: 'The number of an event, to continue after it. Default: the last events.',
      }),
    }),
    result: anyObject.nullable(),
    handle: async ({ events }, { path, query, client }) =>
      events(path.id!, query.after ?? null, client),
  }),
  route({
    ...{ method: 'GET', path: '/agents/{id}/holding', role: 'read' },
    summary: 'Identifies the hosts that the agent owns at present',
    result: anyObject.nullable(),
    handle: async ({ stateOf }, { path }) => heldIn(await stateOf(path.id!)),
  }),
  route({
    ...{ method: 'GET', path: '/agents/{id}/state', role: 'read' },
    summary: 'An SQLite file with the rows of some views of the agent',
    query: z.strictObject({ views }),
    type: 'application/vnd.sqlite3',
    result: z.string().meta({ format: 'binary' }),
    handle: async ({ queries, stateOf }, { path, query, client }) => {
      return queries.extract(await stateOf(path.id!), query.views, client.signal);
    },
  }),
];

const STEERING: readonly Route[] = [
  route({
    ...{ method: 'POST', path: '/directives', role: 'steer' },
    summary: 'Gives a directive to all agents',
    body: directive,
    result: directiveResults,
    handle: ({ run, runFor }, { body }) => {
      switch (body.kind) {
        case 'pause':
        case 'resume':
          return run({ name: body.kind, args: [] });
        case 'delay':
          return run({ name: 'delay', args: [body.host, String(body.delayMs)] });
        case 'block':
          return run({ name: 'block', args: [body.host] });
        case 'drain':
        case 'undrain':
          return runFor(body.agent, 400, { name: body.kind, args: [body.agent] });
        case 'capacity':
        case 'threads': {
          const command = { name: body.kind, args: [body.agent, String(body.value)] };
          const isOfAll = body.kind === 'threads' && body.agent === 'all';
          return isOfAll ? run(command) : runFor(body.agent, 400, command);
        }
        default:
          return run({ name: body.kind.slice(2), options: ['--off'], args: [body.host] });
      }
    },
  }),
  route({
    ...{ method: 'POST', path: '/seeds', role: 'steer' },
    summary: 'Adds seeds; 400 `seeds-refused` if all are refused',
    body: z.strictObject({ urls: z.array(z.string().min(1).max(URL_LENGTH_MAX)).min(1).max(500) }),
    result: seedResults,
    handle: async ({ run }, { body }) => {
      return acceptedSeeds(await run({ name: 'seed', args: body.urls }));
    },
  }),
  route({
    ...{ method: 'POST', path: '/agents/{id}/leave', role: 'admin' },
    summary: 'The agent hands over its hosts and exits',
    result: results,
    handle: async ({ runFor, watch }, { path }) => {
      demandTaker((await watch.now()).view.agents, path.id!);
      return runFor(path.id!, 404, { name: 'stop', args: [path.id!] });
    },
  }),
  route({
    ...{ method: 'POST', path: '/stop', role: 'admin' },
    summary: 'All agents settle their pages and exit; a later launch continues',
    result: results,
    handle: ({ run }) => run({ name: 'stop', args: [] }),
  }),
];

/** Reasons that a problem names; the others are alike. */
const REASONS_MAX = 10;

/** @throws HttpProblem with the reasons if all seeds are refused */
function acceptedSeeds(answer: unknown): unknown {
  const said = Object.entries(answer as z.output<typeof seedResults>);
  const refused = said.flatMap(([url, one]) => ('refused' in one ? { url, why: one.refused } : []));
  if (refused.length < said.length) return answer;
  const parts = refused.map(({ url, why }) => ({ url, ...causeAndRemedy([why]) }));
  const remedies = new Set(parts.map(({ remedy }) => remedy));
  const [shared = ''] = remedies.size === 1 ? remedies : [];
  const texts = parts.slice(0, REASONS_MAX).map(({ url, cause, remedy }) => {
    const own = remedy !== shared ? ` (${remedy})` : '';
    return `${JSON.stringify(url.slice(0, 200))}: ${cause}${own}`;
  });
  const others = refused.length - texts.length;
  const detail = [...texts, ...(others > 0 ? [`and ${others} others`] : [])].join('; ');
  const help = `GET ${API}/explain?url=URL names the rule`;
  throw new HttpProblem(400, 'seeds-refused', detail, shared || help);
}

export const ROUTES: readonly Route[] = [...READING, ...SHARING, ...STEERING];

export interface FoundRoute {
  readonly route: Route;
  readonly path: Readonly<Record<string, string>>;
}

interface PathPart {
  readonly text: string;
  /** The name of a parameter; undefined: the part is fixed. */
  readonly name: string | undefined;
}

const PATHS = ROUTES.map((one) => {
  const texts = `${API}${one.path}`.split('/');
  const parts = texts.map((text): PathPart => ({ text, name: /^\{(\w+)\}$/.exec(text)?.[1] }));
  return { route: one, parts };
});

/** @returns the route; null: none has the path; otherwise the methods of the routes with the path */
export function routeOf(method: string, pathname: string): FoundRoute | readonly string[] | null {
  const given = pathname.split('/');
  const methods: string[] = [];
  for (const { route: one, parts } of PATHS) {
    const path = matched(parts, given);
    if (!path) continue;
    if (one.method === method) return { route: one, path };
    methods.push(one.method);
  }
  return methods.length > 0 ? methods : null;
}

function matched(
  parts: readonly PathPart[],
  given: readonly string[],
): Record<string, string> | null {
  if (parts.length !== given.length) return null;
  const values: Record<string, string> = {};
  for (const [i, { text, name }] of parts.entries()) {
    if (name === undefined) {
      if (text !== given[i]) return null;
    } else {
      const value = decoded(given[i]!);
      if (value === null || value === '' || value.length > ID_CHARS_MAX) return null;
      values[name] = value;
    }
  }
  return values;
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

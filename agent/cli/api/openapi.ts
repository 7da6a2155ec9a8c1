// The OpenAPI 3.1 description of the API, from the schemas that check the requests.

import { z } from 'zod';
import { API } from '../http/api-prefix.ts';
import type { Role } from '../http/tokens.ts';
import { ROUTES, type Route } from './routes.ts';

type Json = Readonly<Record<string, unknown>>;

const PROBLEM: Json = {
  type: 'object',
  properties: Object.fromEntries(
    ['type', 'title', 'detail', 'code', 'remedy'].map((name) => [name, { type: 'string' }]),
  ),
  description: 'RFC 9457, with `code` for programs and `remedy` for people.',
};

/** @param version - of ubiring */
export function openApi(version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of ROUTES) {
    const path = `${API}${route.path}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  paths[`${API}/events`] = { get: EVENTS };
  Object.assign(paths, PLAIN);
  return {
    openapi: '3.1.0',
    info: { title: 'ubiring', version, description: 'Reads and steers a crawl through any agent.' },
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: SCHEMES,
    },
  };
}

function operationOf(route: Route): Json {
  const { path, role, summary, description = '', query, body, result, type } = route;
  const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
    description: 'An agent; 404 `agent-unknown` or `state-elsewhere` if there is none.',
  }));
  return {
    summary,
    description: `${description} Needs the role ${role}.`.trim(),
    security: securityOf(role),
    parameters: [...parts, ...(query ? parametersOf(query) : [])],
    ...(body && { requestBody: { required: true, content: contentOf(schemaOf(body, 'input')) } }),
    responses: {
      200: { description: 'OK', content: contentOf(schemaOf(result, 'output'), type) },
      default: PROBLEM_RESPONSE,
    },
  };
}

const PROBLEM_RESPONSE: Json = {
  description: 'What is wrong, and the remedy',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

const SCHEMES: Json = {
  token: {
    ...{ type: 'http', scheme: 'bearer' },
    description: 'A token with the role that is named, or with a later one of read, steer, admin.',
  },
  dashboard: {
    ...{ type: 'apiKey', in: 'header', name: 'Origin' },
    description:
      'The URL of this server without a path. Suffices on the same machine without tokens.',
  },
};

/** A client on the same machine needs no token to read. */
function securityOf(role: Role): readonly Json[] {
  return role === 'read' ? [{}, { token: [role] }] : [{ token: [role] }, { dashboard: [role] }];
}

const LAST_ID = {
  type: 'string',
  description: 'The `id` of the last event, to continue after it.',
};
const EVENTS: Json = {
  summary: 'Events of all agents, as server-sent events',
  description:
    'Without an identifier, from the last 100 events of each agent on. Needs the role read. An invalid identifier is refused: 400 `event-id-invalid`.',
  security: securityOf('read'),
  parameters: [
    { name: 'Last-Event-ID', in: 'header', schema: LAST_ID },
    { name: 'after', in: 'query', schema: LAST_ID, description: 'In place of the header.' },
    {
      ...{ name: 'state', in: 'query', schema: { type: 'string', enum: ['true', 'false'] } },
      description:
        'true: the answers of /cluster and /circle are sent as well, as events with these names, ' +
        'when they change, at most once a second, and as `unread` the reasons why events of some ' +
        'agents cannot be read.',
    },
  ],
  responses: {
    200: { description: 'OK', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    default: PROBLEM_RESPONSE,
  },
};

const TEXT: Json = { 'text/plain': { schema: { type: 'string' } } };

function probeOf(summary: string, description: string): Json {
  const responses = { 200: { description: 'ok', content: TEXT } };
  const failed = { 503: { description: 'The agents that do not', content: TEXT } };
  return { get: { summary, description, security: [{}], responses: { ...responses, ...failed } } };
}

/** Outside the API. */
const PLAIN: Json = {
  '/metrics': {
    get: {
      summary: 'Metrics of the agents of this process, for Prometheus',
      description: 'Needs the role read.',
      security: securityOf('read'),
      responses: { 200: { description: 'OK', content: TEXT }, default: PROBLEM_RESPONSE },
    },
  },
  '/healthz': probeOf(
    'Whether all agents of this process report',
    'Fails if one has reported no status for 10 s.',
  ),
  '/readyz': probeOf(
    'Whether all agents of this process have joined',
    'Fails also without agents: until the first report, and always in a replay.',
  ),
};

function contentOf(schema: Json, type = 'application/json'): Json {
  return { [type]: { schema } };
}

function schemaOf(type: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io, unrepresentable: 'any' });
  return schema;
}

function parametersOf(query: z.ZodType): Json[] {
  const { properties = {}, required = [] } = schemaOf(query, 'input') as {
    properties?: Readonly<Record<string, Json>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema };
  });
}

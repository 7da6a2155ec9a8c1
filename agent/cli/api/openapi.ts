// The OpenAPI 3.1 description of the API, from the schemas that check the requests.

import { z } from 'zod';
import { API } from '../http/api-prefix.ts';
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
  return {
    openapi: '3.1.0',
    info: { title: 'ubiring', version, description: 'Reads and steers a crawl through any agent.' },
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operationOf(route: Route): Json {
  const { path, role, summary, description = '', query, body, result, type } = route;
  const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }));
  return {
    summary,
    description: `${description} Needs the role ${role}.`.trim(),
    // A client on the same machine needs no token to read.
    security: role === 'read' ? [{}, { token: [] }] : [{ token: [] }],
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

const EVENTS: Json = {
  summary: 'Events of all agents, as server-sent events',
  description: 'Needs the role read. With Last-Event-ID, the stream continues after that event.',
  security: [{}, { token: [] }],
  responses: {
    200: { description: 'OK', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    default: PROBLEM_RESPONSE,
  },
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

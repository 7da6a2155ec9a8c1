// Paths and methods of the API, and its description.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openApi } from '../../../../agent/cli/api/openapi.ts';
import { ROUTES, routeOf } from '../../../../agent/cli/api/routes.ts';

it('a path with a part that varies is found, and the part is decoded', () => {
  const found = routeOf('POST', '/api/v1/agents/a%201/leave');
  assert.ok(found && 'route' in found);
  assert.equal(found.route.role, 'admin');
  assert.deepEqual(found.path, { id: 'a 1' });
});

it('the longest identifier of an agent that a config permits is found', () => {
  const id = '𠀀'.repeat(63);
  const found = routeOf('GET', `/api/v1/agents/${encodeURIComponent(id)}/moves`);
  assert.ok(found && 'route' in found);
  assert.equal(found.path.id, id);
});

it('a view that is named twice is read once', () => {
  const found = routeOf('GET', '/api/v1/agents/a1/state');
  assert.ok(found && 'route' in found);
  const query = found.route.query?.parse({ views: 'pages,hosts,pages,' });
  assert.deepEqual(query, { views: ['pages', 'hosts'] });
});

it('an unknown path is not found, and a wrong method names the right ones', () => {
  for (const path of [
    '/api/v1',
    '/api/v1/',
    '/api/v2/hosts',
    '/api/v1/agents//leave',
    '/api/v1/agents/%E0/leave',
  ]) {
    assert.equal(routeOf('GET', path), null, path);
  }
  assert.equal(routeOf('POST', `/api/v1/agents/${'x'.repeat(129)}/leave`), null);
  assert.deepEqual(routeOf('POST', '/api/v1/hosts'), ['GET']);
  assert.deepEqual(routeOf('GET', '/api/v1/stop'), ['POST']);
});

it('every route that changes something needs more than the role read', () => {
  for (const { method, path, role } of ROUTES) {
    if (method === 'POST' && path !== '/query') assert.notEqual(role, 'read', path);
  }
});

it('the description has every route, with the limits that are checked', () => {
  const { openapi, paths } = openApi('1.2.3') as {
    openapi: string;
    paths: Record<
      string,
      Record<
        string,
        {
          parameters: { name: string; schema: Record<string, unknown> }[];
          security: unknown;
          description?: string;
        }
      >
    >;
  };
  assert.equal(openapi, '3.1.0');
  for (const { method, path } of ROUTES)
    assert.ok(paths[`/api/v1${path}`]?.[method.toLowerCase()], path);
  for (const path of ['/metrics', '/healthz', '/readyz', '/api/v1/events'])
    assert.ok(paths[path]?.get, path);
  const roles = (path: string, method = 'get') => paths[path]?.[method]?.security;
  assert.deepEqual(roles('/api/v1/hosts'), [{}, { token: ['read'] }]);
  assert.deepEqual(roles('/api/v1/stop', 'post'), [{ token: ['admin'] }, { dashboard: ['admin'] }]);
  assert.deepEqual(roles('/healthz'), [{}]);
  const listed = paths['/api/v1/directives']?.get?.description;
  assert.match(String(listed), /^Not more than 100 directives are listed, /);
  const events = paths['/api/v1/events']?.get?.parameters.map(({ name }) => name);
  assert.deepEqual(events, ['Last-Event-ID', 'after', 'state']);
  const limit = paths['/api/v1/hosts']?.get?.parameters.find(({ name }) => name === 'limit');
  assert.deepEqual(
    [limit?.schema.minimum, limit?.schema.maximum, limit?.schema.default],
    [1, 1000, 100],
  );
});

it('the reason of a skipped URL is one of those that exist', () => {
  const found = routeOf('GET', '/api/v1/skipped');
  assert.ok(found && 'route' in found);
  const parsed = (reason: string) => found.route.query?.safeParse({ host: 'a.test', reason });
  for (const reason of ['robots', 'scope', 'elsewhere']) assert.ok(parsed(reason)?.success, reason);
  const wrong = parsed('nonsense');
  assert.equal(wrong?.success, false);
  assert.match(String(wrong?.error), /robots.*depth.*trap/s);
});

// Requests to the HTTP server of a launch or an agent, and what the tests expect of each answer.

import assert from 'node:assert/strict';
import http from 'node:http';

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

interface Options {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: unknown;
}

/** Unlike `fetch`, it sends any header. */
export function ask(
  url: string,
  { method = 'GET', headers = {}, body }: Options = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const request = http.request(url, { method, headers: { ...type, ...headers }, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
  });
}

export async function json<T>(url: string, options?: Options): Promise<T> {
  const { status, text } = await ask(url, options);
  assert.equal(status, 200, text);
  return JSON.parse(text) as T;
}

export async function refusal(
  url: string,
  options: Options,
  status: number,
  code: string,
): Promise<void> {
  const answer = await ask(url, options);
  assert.equal(answer.status, status, answer.text);
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json/);
  const problem = JSON.parse(answer.text) as Record<string, unknown>;
  assert.deepEqual([problem.code, problem.status], [code, status], answer.text);
  assert.ok(String(problem.remedy).length > 0);
}

/** An event of the stream. */
export interface Received {
  readonly id: string;
  readonly data: Readonly<Record<'kind' | 'agent' | 'text', string>>;
}

/** Reads the stream until `isEnough`. */
export function readEvents(
  url: string,
  headers: http.OutgoingHttpHeaders,
  isEnough: (events: readonly Received[]) => boolean,
): Promise<Received[]> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        const blocks = text.split('\n\n').slice(0, -1);
        const events = blocks.flatMap((block) => {
          const [, id, data] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
          return id === undefined ? [] : [{ id, data: JSON.parse(data!) as Received['data'] }];
        });
        if (!isEnough(events)) return;
        request.destroy();
        resolve(events);
      });
    });
    request.on('error', reject);
  });
}

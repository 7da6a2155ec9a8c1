// The events of the agents of this machine as server-sent events. The identifier of each event names
// the last event of every agent, so a client that returns misses none.

import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { monotonicMs } from '../../runtime/clock.ts';
import { EVENTS_AFTER, LAST_EVENT } from '../../storage/reads/monitor-queries.ts';
import { foundAgents, openStateFile } from '../common/query-files.ts';
import { HttpProblem } from '../http/http-problem.ts';

const POLL_MS = 1000;
/** So that proxies keep the connection open. */
const SILENT_MS_MAX = 15_000;
const CLIENTS_MAX = 200;
/** Events of one agent in one poll; the next poll continues. */
const EVENTS_MAX = 500;
/** Events that a new client gets of each agent. */
const EARLIER = 50;
/** A client that reads no more is disconnected. */
const UNREAD_BYTES_MAX = 1024 ** 2;

/** By agent: the number of its last event that the client has. */
type Position = Map<string, number>;

interface Client {
  readonly response: ServerResponse;
  readonly position: Position;
  writtenAt: number;
}

interface FoundEvent {
  readonly agent: string;
  readonly number: number;
  readonly at: number;
  readonly kind: string;
  readonly detail: string;
}

export class EventStream {
  readonly #dataDir: string;
  readonly #clients = new Set<Client>();
  #timer: NodeJS.Timeout | null = null;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** @param lastId - the identifier of the last event that the client has; null: it has none */
  add(response: ServerResponse, lastId: string | null): void {
    if (this.#clients.size >= CLIENTS_MAX) {
      const detail = `${CLIENTS_MAX} clients read the events already`;
      throw new HttpProblem(503, 'clients-busy', detail, 'close other dashboards');
    }
    const client = { response, position: positionOf(lastId), writtenAt: monotonicMs() };
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
    });
    response.write('retry: 2000\n\n');
    response.once('close', () => this.#clients.delete(client));
    this.#clients.add(client);
    this.#poll([client]);
    this.#timer ??= setInterval(() => this.#tick(), POLL_MS);
  }

  #tick(): void {
    if (this.#clients.size === 0) {
      clearInterval(this.#timer ?? undefined);
      this.#timer = null;
      return;
    }
    this.#poll([...this.#clients]);
    for (const client of this.#clients) {
      if (client.response.writableLength > UNREAD_BYTES_MAX) client.response.destroy();
      else if (monotonicMs() - client.writtenAt >= SILENT_MS_MAX) write(client, ': none\n\n');
    }
  }

  #poll(clients: readonly Client[]): void {
    for (const agent of foundAgents(this.#dataDir)) this.#pollOne(agent, clients);
  }

  /** Reads the file once, from the earliest position of the clients. */
  #pollOne(agent: string, clients: readonly Client[]): void {
    const file = openStateFile(agent, path.join(this.#dataDir, agent, 'state.sqlite'));
    if (typeof file === 'string') return;
    try {
      const last = Number(file.first(LAST_EVENT)?.last ?? 0);
      const earlier = Math.max(last - EARLIER, 0);
      for (const { position } of clients) {
        // A position beyond the last event is of a state that was deleted since.
        if ((position.get(agent) ?? Infinity) > last) position.set(agent, earlier);
      }
      const from = Math.min(...clients.map(({ position }) => position.get(agent)!));
      const events = [...file.rows(EVENTS_AFTER, from, EVENTS_MAX)].map((row) =>
        eventOf(agent, row),
      );
      for (const client of clients) {
        const passed = client.position.get(agent)!;
        for (const event of events) {
          if (event.number <= passed) continue;
          client.position.set(agent, event.number);
          write(client, textOf(event, client.position));
        }
      }
    } catch {
      // The file is being replaced; the next poll reads it.
    } finally {
      file.close();
    }
  }
}

function eventOf(agent: string, [number, at, kind, detail]: readonly unknown[]): FoundEvent {
  return {
    ...{ agent, number: Number(number), at: Number(at) },
    ...{ kind: String(kind), detail: String(detail) },
  };
}

function write(client: Client, text: string): void {
  client.writtenAt = monotonicMs();
  client.response.write(text);
}

function textOf({ agent, at, kind, detail }: FoundEvent, position: Position): string {
  const id = [...position].map(([name, number]) => `${name}.${number}`).join(',');
  return `id: ${id}\ndata: ${JSON.stringify({ agent, at, kind, detail: detailOf(detail) })}\n\n`;
}

function detailOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

/** Parts that are not valid are ignored: the client then gets some events again. */
function positionOf(id: string | null): Position {
  const parts = (id ?? '').split(',').map((part) => /^([^,]{1,64})\.(\d{1,15})$/.exec(part));
  return new Map(parts.flatMap((part) => (part ? [[part[1]!, Number(part[2])] as const] : [])));
}

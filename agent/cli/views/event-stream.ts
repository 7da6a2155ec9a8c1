// The events of all agents as server-sent events. The identifier of each event names the last event of
// every agent and the state that it is of, so a client that returns misses none. Clients may be sent
// the state of the cluster, too.

import type { ServerResponse } from 'node:http';
import type { EventDetail, EventKind } from '../../core/protocol/event-log.ts';
import { isRecord } from '../../messaging/checks/shape.ts';
import { monotonicMs } from '../../runtime/clock.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { eventText } from '../status/status-events.ts';
import { type AgentEvents, EVENTS_MAX } from './agent-events.ts';
import { type StateSource, StateStream } from './state-stream.ts';
import { StreamClient, type StreamOptions, sharedMessage } from './stream-client.ts';

const POLL_MS = 1000;
/** So that proxies keep the connection open. */
const SILENT_MS_MAX = 15_000;
const CLIENTS_MAX = 200;
/** Clients that are at most so many events behind share one read of an agent in each poll. */
const NEAR = EVENTS_MAX / 2;
/** Clients that are further behind and get a part of the events in each poll; they take turns. */
const TURNS_MAX = 4;
/** A client that reads no more is disconnected. */
const UNREAD_BYTES_MAX = 1024 ** 2;

export interface EventSource {
  readonly agent: string;
  /** Of its status at most a second ago; absent: not known. */
  readonly now?:
    | undefined
    | {
        /** The number of its last event. */
        readonly last: number;
        /** A later process of the agent may have another state. */
        readonly incarnation: number;
      };
  /** See `eventsOf`. Null: the agent cannot be read at present. */
  read(after: number | null): Promise<AgentEvents | null>;
}

/** The last event of an agent that a client has. */
interface Place {
  readonly number: number;
  /** See `AgentEvents`; empty: of any state. */
  readonly mark: string;
}

type Position = Map<string, Place>;

interface Client {
  readonly stream: StreamClient;
  readonly position: Position;
  /** Later clients have higher numbers. */
  readonly number: number;
}

export class EventStream {
  readonly #sources: () => Promise<readonly EventSource[]>;
  readonly #states: StateStream;
  readonly #clients = new Set<Client>();
  /** By agent: its last event, and the incarnation that it had before that was read. */
  readonly #ends = new Map<string, Place & { readonly incarnation?: number | undefined }>();
  /** The agents whose events are being read. */
  readonly #reading = new Set<string>();
  /** By agent: the number of the client that had the last turn. */
  readonly #turns = new Map<string, number>();
  #number = 0;
  #timer: NodeJS.Timeout | null = null;
  #isListing = false;

  constructor(sources: () => Promise<readonly EventSource[]>, states: readonly StateSource[] = []) {
    this.#sources = sources;
    this.#states = new StateStream(states);
  }

  /**
   * @param lastId - the identifier of the last event that the client has; null: it has none
   * @throws HttpProblem if it is no identifier, or too many clients read
   */
  add(response: ServerResponse, lastId: string | null, options: StreamOptions = {}): void {
    if (this.#clients.size >= CLIENTS_MAX) {
      const detail = `${CLIENTS_MAX} clients read the events already`;
      throw new HttpProblem(503, 'clients-busy', detail, 'close other dashboards');
    }
    const number = ++this.#number;
    const position = positionOf(lastId);
    const client = { stream: new StreamClient(response, options), position, number };
    client.stream.write('retry: 2000\n\n');
    response.once('close', () => this.#clients.delete(client));
    this.#clients.add(client);
    this.#timer ??= setInterval(() => this.#tick(), POLL_MS);
    this.#look();
  }

  /** Whether a client is sent the state of the cluster. */
  get hasReaders(): boolean {
    return [...this.#clients].some(({ stream }) => stream.hasState);
  }

  /**
   * Ends the streams with a last state. Resolves once all clients were sent it.
   *
   * @param cluster - JSON
   */
  async end(cluster: Buffer): Promise<void> {
    const message = await sharedMessage('cluster', cluster);
    const readers = [...this.#clients].filter(({ stream }) => stream.hasState);
    await Promise.all(readers.map(({ stream }) => stream.end(message)));
  }

  #tick(): void {
    if (this.#clients.size === 0) {
      clearInterval(this.#timer ?? undefined);
      this.#timer = null;
      return;
    }
    this.#look();
    for (const { stream } of this.#clients) {
      if (stream.unreadEventBytes > UNREAD_BYTES_MAX) stream.destroy();
      else if (monotonicMs() - stream.writtenAt >= SILENT_MS_MAX) stream.write(': none\n\n');
    }
  }

  #look(): void {
    const streams = [...this.#clients].map(({ stream }) => stream);
    if (streams.some(({ hasState }) => hasState)) this.#states.look(streams);
    void this.#poll();
  }

  async #poll(): Promise<void> {
    if (this.#isListing) return;
    this.#isListing = true;
    try {
      for (const source of await this.#sources()) void this.#read(source);
    } catch {
      // No agent can be asked now; the next poll asks again.
    } finally {
      this.#isListing = false;
    }
  }

  /** Each agent by itself: one on another machine may take longer than the time between two polls. */
  async #read(source: EventSource): Promise<void> {
    const { agent } = source;
    if (this.#reading.has(agent)) return;
    this.#reading.add(agent);
    try {
      await this.#pollOne(source);
    } catch {
      // It is read again in the next poll.
    } finally {
      this.#reading.delete(agent);
    }
  }

  /**
   * Reads once for the clients that are near the end, once for new ones, and then for some of those
   * that are far behind: a long history delays no others.
   */
  async #pollOne(source: EventSource): Promise<void> {
    const { agent } = source;
    const clients = [...this.#clients];
    if (clients.every(({ position }) => this.#isLast(source, position.get(agent)))) return;
    const near = (this.#ends.get(agent)?.number ?? 0) - NEAR;
    const of = ({ position }: Client) => position.get(agent)?.number;
    const live = clients.filter((client) => (of(client) ?? -Infinity) >= near);
    const fresh = clients.filter((client) => of(client) === undefined);
    const behind = clients.filter((client) => (of(client) ?? Infinity) < near);
    if (live.length > 0) {
      const from = Math.min(...live.map((client) => of(client)!));
      if (!this.#pass(source, await source.read(from), live)) return;
    }
    if (fresh.length > 0 && !this.#pass(source, await source.read(null), fresh)) return;
    const last = this.#turns.get(agent) ?? 0;
    const isNext = ({ number }: Client) => number > last;
    const turns = [...behind.filter(isNext), ...behind.filter((client) => !isNext(client))];
    for (const client of turns.slice(0, TURNS_MAX)) {
      this.#turns.set(agent, client.number);
      const from = of(client)!;
      const same = turns.filter((one) => of(one) === from);
      if (!this.#pass(source, await source.read(from), same)) return;
    }
  }

  /** Whether the agent has no event after the place of a client. Reading the events costs more. */
  #isLast({ agent, now }: EventSource, place: Place | undefined): boolean {
    const end = this.#ends.get(agent);
    if (!now || !place || !end || end.incarnation !== now.incarnation) return false;
    return place.number === now.last && end.number === now.last && place.mark === end.mark;
  }

  /** False: the agent has not answered, and is not asked again in this poll. */
  #pass(
    { agent, now }: EventSource,
    read: AgentEvents | null,
    clients: readonly Client[],
  ): boolean {
    if (!read) return false;
    const { last, mark, events } = read;
    this.#ends.set(agent, { number: last, mark, incarnation: now?.incarnation });
    for (const client of clients) {
      // It may have gone while the agent was read.
      if (!this.#clients.has(client)) continue;
      const place = client.position.get(agent) ?? { number: 0, mark };
      const passed = place.number;
      // The events that it has are of a state that was deleted since. It gets all of the present one.
      if (passed > last || (place.mark !== '' && mark !== '' && place.mark !== mark)) {
        client.position.set(agent, { number: 0, mark });
        continue;
      }
      const before = (events[0]?.number ?? last + 1) - 1;
      client.position.set(agent, { number: Math.max(passed, before), mark });
      for (const event of events) {
        if (event.number <= passed) continue;
        client.position.set(agent, { number: event.number, mark });
        const text = textOf(agent, event, client.position);
        if (text !== null) client.stream.write(text);
      }
    }
    return true;
  }
}

/** Null: no agent writes such an event. */
function textOf(
  agent: string,
  { at, kind, detail: json }: AgentEvents['events'][number],
  position: Position,
): string | null {
  const id = [...position].map(textOfPart).join(',');
  try {
    const detail = detailOf(json);
    const text = eventText(agent, { kind: kind as EventKind, detail });
    return `id: ${id}\ndata: ${JSON.stringify({ agent, at, kind, text, detail })}\n\n`;
  } catch {
    // Some JSON does not have what the text of its kind needs.
    return null;
  }
}

function detailOf(json: string): EventDetail {
  try {
    const detail: unknown = JSON.parse(json);
    return isRecord(detail) ? detail : {};
  } catch {
    return {};
  }
}

/** In ASCII: a client returns it in a header, which has no other letters. */
function textOfPart([agent, { number, mark }]: readonly [string, Place]): string {
  return `${encodeURIComponent(agent)}.${mark === '' ? number : `${number}@${mark}`}`;
}

/** An identifier of an agent has up to 255 bytes, each of which may be written as `%xx`. */
const PLACE = /^((?:%[\dA-F]{2}|[^,%]){1,255})\.(\d{1,15})(?:@(\w{1,4}))?$/i;

/** Identifiers of an earlier version have no marks. */
function partOf(text: string): readonly [string, Place] | null {
  const found = PLACE.exec(text);
  if (!found) return null;
  const place = { number: Number(found[2]), mark: found[3] ?? '' };
  try {
    return [decodeURIComponent(found[1]!), place];
  } catch {
    // The bytes are not UTF-8.
    return null;
  }
}

/**
 * @throws HttpProblem if a part is not valid: the client would get all events again
 */
function positionOf(id: string | null): Position {
  const parts = id ? id.split(',') : [];
  return new Map(
    parts.map((part) => {
      const found = partOf(part);
      if (found) return found;
      const detail = `${JSON.stringify(part.slice(0, 100))} is not a part of the identifier of an event`;
      const remedy = 'send the id of the last event unchanged, or none';
      throw new HttpProblem(400, 'event-id-invalid', detail, remedy);
    }),
  );
}

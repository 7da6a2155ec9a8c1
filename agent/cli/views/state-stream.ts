// The state of the cluster for the clients of the event stream. Each second it is asked for once, made
// a message once, and sent to all. So an open dashboard sends no requests.

import { type SharedMessage, type StreamClient, sharedMessage } from './stream-client.ts';

export interface StateSource {
  /** Names its messages. */
  readonly event: 'cluster' | 'circle' | 'unread';
  ask(): Promise<{
    /** The same one until the state changes. */
    readonly key: object;
    json(): Buffer;
  }>;
}

export class StateStream {
  readonly #sources: readonly StateSource[];
  readonly #last = new Map<
    StateSource,
    { readonly key: object; readonly message: SharedMessage }
  >();
  readonly #asking = new Set<StateSource>();

  constructor(sources: readonly StateSource[]) {
    this.#sources = sources;
  }

  /** Each source is asked by itself: one may wait for agents that do not answer. */
  look(clients: Iterable<StreamClient>): void {
    for (const source of this.#sources)
      if (!this.#asking.has(source)) void this.#ask(source, clients);
  }

  async #ask(source: StateSource, clients: Iterable<StreamClient>): Promise<void> {
    this.#asking.add(source);
    try {
      const { key, json } = await source.ask();
      let last = this.#last.get(source);
      if (last?.key !== key) {
        last = { key, message: await sharedMessage(source.event, json()) };
        this.#last.set(source, last);
      }
      for (const client of clients) if (client.hasState) client.offer(source.event, last.message);
    } catch {
      // A client that is sent nothing asks by a request, and its answer says what is wrong.
    } finally {
      this.#asking.delete(source);
    }
  }
}

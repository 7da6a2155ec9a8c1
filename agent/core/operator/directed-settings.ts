// The settings of the config, as the operator's directives change them while the agent runs. Parts
// that read a setting when they need it follow a directive at once. The capacity is the one of this
// incarnation: other agents count on it (`own-capacity.ts`).

import type { Directives } from '../protocol/directives.ts';
import type { CoreSettings } from '../protocol/settings.ts';

export class DirectedSettings {
  #current: number;
  readonly settings: CoreSettings;
  readonly #given: CoreSettings;
  readonly #directives: Pick<Directives, 'threads' | 'capacity' | 'drains'>;

  constructor(
    settings: CoreSettings,
    directives: Pick<Directives, 'threads' | 'capacity' | 'drains'>,
  ) {
    this.#given = settings;
    this.#directives = directives;
    this.#current = this.directed;
    this.settings = this.#live(settings);
  }

  /** The capacity of this incarnation. */
  get current(): number {
    return this.#current;
  }

  /** The capacity that this agent must have; 0: it is drained. */
  get directed(): number {
    const { id, capacity } = this.#given;
    if (this.#directives.drains(id)) return 0;
    return this.#directives.capacity ?? capacity;
  }

  /** A new incarnation begins. */
  adopt(): void {
    this.#current = this.directed;
  }

  #live(settings: CoreSettings): CoreSettings {
    const { bounds } = settings;
    const directives = this.#directives;
    const current = () => this.current;
    return {
      ...settings,
      get capacity() {
        return current();
      },
      bounds: {
        ...bounds,
        get unreplicated() {
          return directives.threads ?? bounds.unreplicated;
        },
      },
    };
  }
}

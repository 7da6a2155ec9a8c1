// The settings of the config, as the operator's directives change them while the agent runs. Parts
// that read a setting when they need it follow a directive at once. The capacity is the one of this
// incarnation: other agents count on it (`own-capacity.ts`).

import type { Directives } from '../protocol/directives.ts';
import type { CoreSettings } from '../protocol/settings.ts';

export class DirectedSettings {
  /** The capacity of this incarnation. */
  current: number;
  readonly settings: CoreSettings;
  readonly #configured: number;
  readonly #directives: Pick<Directives, 'threads' | 'capacity'>;

  constructor(settings: CoreSettings, directives: Pick<Directives, 'threads' | 'capacity'>) {
    this.#configured = settings.capacity;
    this.#directives = directives;
    this.current = this.directed;
    this.settings = this.#live(settings);
  }

  /** The capacity that this agent must have. */
  get directed(): number {
    return this.#directives.capacity ?? this.#configured;
  }

  /** A new incarnation begins. */
  adopt(): void {
    this.current = this.directed;
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

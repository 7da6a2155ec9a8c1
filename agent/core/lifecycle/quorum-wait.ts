// Warns while no host may be requested: all agents in view are drained, or this agent has no
// majority (`cluster.quorum: majority`). Names the agents that it waits for. They may have completed
// the crawl and exited. No agent can know that, so it waits until some of them are started again.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { FetchRight } from '../hand-off/fetch-right.ts';
import type { View } from '../membership/view.ts';
import type { Effects } from '../protocol/effects.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Shutdown } from './shutdown.ts';
import { WaitWarning } from './wait-warning.ts';

interface QuorumWaitParts {
  readonly settings: Pick<CoreSettings, 'id' | 'quorum' | 'configured' | 'suspectAfterMs'>;
  readonly view: Pick<View, 'get' | 'hasOwners' | 'joined'>;
  readonly right: Pick<FetchRight, 'leased'>;
  readonly effects: Effects;
  readonly shutdown: Pick<Shutdown, 'state'>;
}

export class QuorumWait implements Part {
  readonly #p: QuorumWaitParts;
  readonly #warning: WaitWarning;
  #waits = false;

  constructor(parts: QuorumWaitParts) {
    this.#p = parts;
    this.#warning = new WaitWarning(parts.effects, parts.settings.suspectAfterMs);
  }

  get reason(): string | null {
    return this.#warning.reason;
  }

  pump(now: Instant): void {
    const reason = this.#p.shutdown.state === 'crawling' ? this.#reasonAt(now) : null;
    const isWaiting = reason !== null;
    if (isWaiting && !this.#waits) this.#warning.begin(now.mono);
    this.#waits = isWaiting;
    if (isWaiting) this.#warning.goesOn(reason, now.mono);
    else this.#warning.end();
  }

  #reasonAt(now: Instant): string | null {
    const { settings, view, right } = this.#p;
    if (view.joined && !view.hasOwners) {
      return (
        'sends no requests: all agents in view are drained; bring one back ' +
        '(ubiring undrain CONFIG ID), or start one that is not drained'
      );
    }
    if (settings.quorum !== 'majority' || right.leased('', now)) return null;
    return this.#quorumReason();
  }

  #quorumReason(): string {
    const { settings, view } = this.#p;
    const ids = settings.configured.map(({ id }) => id);
    const isHeard = (id: string) => id === settings.id || view.get(id)?.silent === false;
    const missing = ids.filter((id) => !isHeard(id));
    const heard = ids.length - missing.length;
    const needed = Math.max(1, Math.floor(ids.length / 2) + 1 - heard);
    return (
      `has no majority: ${heard} of ${ids.length} agents ${heard === 1 ? 'is' : 'are'} connected; start at least ${needed} ` +
      `of ${missing.join(', ')} (ubiring launch CONFIG on each machine), even if they have ` +
      'completed the crawl: they report its end'
    );
  }
}

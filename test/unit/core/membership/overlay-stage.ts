// A view with members, and an overlay whose answers a case chooses; it records what is sent.

import assert from 'node:assert/strict';
import { Outbound } from '../../../../agent/core/membership/outbound.ts';
import { FullView, type Overlay } from '../../../../agent/core/membership/overlay.ts';
import { type Member, View } from '../../../../agent/core/membership/view.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';

export const NOW = { mono: 1000, wall: 1000 };

/** The overlay of a partial view, with these answers. */
export function partialView(answers: Partial<Overlay> = {}): Overlay {
  return Object.assign(new FullView(), { isPartial: true, ...answers });
}

export function viewStage(
  ids: readonly string[],
  more: Partial<CoreSettings> = {},
  overlay: Pick<Overlay, 'via'> = new FullView(),
) {
  const settings = {
    ...{ id: 'me', capacity: 1, address: 'tcp://me', digest: (text: string) => text },
    ...{
      configured: [],
      fingerprintHash: 'same',
      quorum: 'none',
      bounds: { news: 2, hostsPerTurn: 100 },
    },
    ...{ heartbeatMs: 100, suspectAfterMs: 1000, ...more },
  } as unknown as CoreSettings;
  const view = new View({ ...settings, build: () => assert.fail('nothing is placed') });
  const members = ids.map((id): Member => {
    const news = { id, inc: 1, capacity: 1, address: `tcp://${id}`, counter: 1 };
    return view.add({ ...news, joined: true, direct: true }, NOW.mono);
  });
  const effects = new Effects();
  const outbound = new Outbound(settings, effects, view, overlay);
  /** What was sent since the last call: to whom, at which address, and the message. */
  const sent = () =>
    effects.take().flatMap((effect): [string, Message][] => {
      if (effect.type !== 'send') return [];
      return [[`${effect.to.id} ${effect.to.address}`, effect.envelope.message]];
    });
  return { settings, view, members, outbound, sent };
}

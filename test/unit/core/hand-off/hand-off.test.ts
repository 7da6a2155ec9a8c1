// How long an agent remembers the lists of other agents.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HandOff } from '../../../../agent/core/hand-off/hand-off.ts';
import type { Outbound } from '../../../../agent/core/membership/outbound.ts';
import type { RefusedClaims } from '../../../../agent/core/membership/refused-claims.ts';
import type { Member, View } from '../../../../agent/core/membership/view.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';

type YieldableHosts = Parameters<HandOff['advance']>[0];
type YieldCopies = Parameters<HandOff['onYield']>[2];

const now = { mono: 0, wall: 0 };
const member = (id: string) => ({ card: { id, inc: 1 } }) as Member;
/** With so many hosts, `status` does not check each one, but shows the remembered count. */
const HOSTS = Array.from({ length: 1001 }, (_, k) => `h${k}.test`);

describe('hosts that others have listed', () => {
  it('are forgotten when one lister was removed and the other has yielded them', () => {
    const outbound = { toMember: () => {} } as unknown as Outbound;
    const view = { owns: () => true, has: () => true } as unknown as View;
    const settings = { id: 'me', bounds: BOUNDS, heartbeatMs: 100 } as CoreSettings;
    const handOff = new HandOff(settings, view, outbound, {} as RefusedClaims);
    const list = { type: 'LIST', list: 1, part: 0, hosts: HOSTS, last: true, leavers: [] } as const;
    const [dead, alive] = [member('dead'), member('alive')];
    for (const lister of [dead, alive]) handOff.onList(lister, list, now);
    assert.equal(handOff.counts().awaited, HOSTS.length);
    handOff.forget('dead');
    for (let turn = 0; turn < 3; turn++) handOff.advance({} as YieldableHosts, now);
    assert.equal(handOff.counts().awaited, HOSTS.length);
    const copies = { invalidate: () => {}, lastNumber: () => 1 } as unknown as YieldCopies;
    const items = HOSTS.map((host) => ({ host, waitMs: 0 }));
    const message: Extract<Message, { type: 'YIELD' }> = { type: 'YIELD', list: 1, items };
    assert.equal(handOff.onYield(alive, message, copies).length, HOSTS.length);
    assert.equal(handOff.counts().awaited, 0);
  });
});

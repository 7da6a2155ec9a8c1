// Lets agents with different settings tell each other what differs. The gate refuses the PING of an
// agent with other settings. A PING that is a question is answered with a PING without
// digest of the settings, because agents with that digest are trusted. The sender then sends HELLO,
// and gets REFUSED, which names the setting.

import type { Envelope } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Membership } from './membership.ts';
import type { Outbound } from './outbound.ts';
import type { Overlay } from './overlay.ts';
import type { View } from './view.ts';

interface OtherSettingsParts {
  readonly settings: Pick<CoreSettings, 'id' | 'capacity' | 'address'>;
  readonly view: Pick<View, 'joined'>;
  readonly overlay: Pick<Overlay, 'entries'>;
  readonly outbound: Pick<Outbound, 'toAddress'>;
  readonly membership: Pick<Membership, 'greetOne'>;
}

export class OtherSettings {
  readonly #p: OtherSettingsParts;

  constructor(parts: OtherSettingsParts) {
    this.#p = parts;
  }

  /** The gate has refused the message. */
  refused({ from, message }: Envelope): void {
    const { settings, view, overlay, outbound, membership } = this.#p;
    if (message.type !== 'PING') return;
    const peer = { id: from.id, address: message.address };
    if (!message.answer) {
      const { capacity, address } = settings;
      const me = { capacity, address, fingerprintHash: '' };
      const answer = { type: 'PING', ...me, answer: true } as const;
      outbound.toAddress({ ...peer, inc: from.inc }, answer);
    } else if (!view.joined && overlay.entries.contacts.includes(peer.address)) {
      // A REFUSED ends this agent, so only contacts of the config are greeted: another crawl may
      // use an address of an earlier agent by now.
      if (from.id === settings.id) overlay.entries.noteNamesake(peer.address);
      else membership.greetOne(peer);
    }
  }
}

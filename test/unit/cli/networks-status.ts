// The status of the networks of an agent that has done nothing, for tests that set some of its counts.

import type { NetworksStatus } from '../../../agent/core/crawl/networks-port.ts';

export function networksStatus(part: Partial<NetworksStatus>): NetworksStatus {
  return {
    network: 'berlin',
    submitter: {
      ...{ frames: 0, verdicts: 0, latencyMs: 0, partial: 0, elsewhere: 0, urls: 0, errors: 0 },
    },
    reporter: { unreported: 0, isFilling: false, errors: 0 },
    centre: null,
    leases: { held: 0, waiting: 0, lost: 0, errors: 0 },
    awaited: [],
    failures: [],
    warnings: [],
    onTimeout: 'proceed',
    ...part,
  };
}

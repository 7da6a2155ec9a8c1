// The settings of the config, as the operator's directives change them while the agent runs. Parts
// that read a setting when they need it follow a directive at once.

import type { Directives } from '../protocol/directives.ts';
import type { CoreSettings } from '../protocol/settings.ts';

export function directedSettings(
  settings: CoreSettings,
  directives: Pick<Directives, 'threads'>,
): CoreSettings {
  const { bounds } = settings;
  return {
    ...settings,
    bounds: {
      ...bounds,
      get unreplicated() {
        return directives.threads ?? bounds.unreplicated;
      },
    },
  };
}

// Says which hosts a leave or another capacity would move, and which copies it needs, before it is
// ordered.

import { html, useEffect, useRef } from '/lib/htm.js';
import { byName, count, some } from './format.js';
import { Failure, useAnswer } from './tables.js';

function byAgent(counts, word) {
  const ids = Object.keys(counts).sort(byName);
  return ids.map((id) => `${count(counts[id])} ${word} ${id}`).join(', ');
}

function Plan({ plan }) {
  const { hosts, from, to, copiesAfterwards: copies, incompleteMeanwhile, incompleteNow } = plan;
  const about = plan.isEstimate ? 'About ' : '';
  const isGiven = Object.keys(from).length === 1 && from[plan.agent] !== undefined;
  return html`<dl class="plan">
    <dt>Hosts</dt>
    <dd><strong>${about}${some(hosts, 'host moves', 'hosts move')}</strong>${hosts > 0 && `: ${isGiven ? byAgent(to, 'to') : byAgent(from, 'from')}`}.
      ${plan.uncounted.length > 0 && ` Hosts of ${plan.uncounted.join(', ')} are not counted: their state is on another machine.`}</dd>
    <dt>Copies</dt>
    <dd>${
      incompleteMeanwhile === 0
        ? html`<strong>No copy is missing</strong> meanwhile.`
        : html`<strong>${about}${some(incompleteMeanwhile, 'host lacks a copy', 'hosts lack a copy')}</strong> until it is made: ${byAgent(plan.copiesTo, 'at')}.`
    }
      ${incompleteNow > 0 && ` The copies of ${some(incompleteNow, 'host of it is', 'hosts of it are')} incomplete now.`}
      ${` Afterwards each host has ${some(copies, 'copy', 'copies')} at other agents.`}</dd>
  </dl>`;
}

/**
 * @param {{ id: string, title: string, capacity?: number | 'default', button: string }} props -
 *   without a capacity, the agent leaves; `onSure` orders it; `children` follow the plan
 */
export function MovesDialog({ id, title, capacity, button, isDone, onSure, onClose, children }) {
  const dialog = useRef(null);
  const { found: plan, error } = useAnswer(`/agents/${encodeURIComponent(id)}/moves`, { capacity });
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="moves-title">
    <h2 id="moves-title">${title}</h2>
    <div aria-live="polite" aria-busy=${!plan && !error}>
      ${!plan && !error && html`<p class="quiet">Counting the hosts…</p>`}
      <${Failure} error=${error} />
      ${plan && html`<${Plan} plan=${plan} /><p class="quiet">Nothing is lost or fetched twice.</p>`}
    </div>
    ${children}
    <div class="row">
      <button type="button" class=${capacity === undefined ? 'danger' : 'main'} disabled=${isDone} onClick=${onSure}>${button}</button>
      <button type="button" onClick=${() => dialog.current.close()}>${isDone ? 'Close' : 'Cancel'}</button>
    </div>
  </dialog>`;
}

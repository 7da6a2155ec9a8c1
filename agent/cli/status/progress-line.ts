// The progress of a crawl as one line, for `launch` and `top` without a terminal.

import { count, cut, durationText, printable } from '../common/output.ts';
import type { Progress } from './crawl-progress.ts';
import { failureParts } from './status-networks.ts';

/** The problem that the line of a paused crawl has said already. */
export const PAUSED = 'the crawl is paused';

/** Characters of the reason why hosts or networks wait, so that the line stays short. */
const reasonLengthMax = 60;

/** @param problems - follow on the same line */
export function progressLine(progress: Progress, problems: readonly string[] = []): string {
  const { alive, total, hosts, pages, queued, etaMs, paused, shared } = progress;
  const why = progress.hostsAwaitingRobots > 0 ? ` (${waitsText(progress)})` : '';
  const left = etaMs === null ? '' : `, about ${durationText(etaMs)} left`;
  const eta = paused ? ', paused, until `ubiring resume CONFIG`' : left;
  const heldUp = heldUpBy(progress).map((text) => `, ${text}`);
  const end = `${printable(heldUp.join(''))}${eta}`;
  const more = problems.filter((text) => !paused || text !== PAUSED).map((text) => `; ${text}`);
  const network = shared ? `network ${printable(shared.network)}, ` : '';
  return (
    `${network}agents ${alive}/${total}, hosts ${count(hosts)}${why}, pages ${count(pages)} ` +
    `(${progress.pagesPerSecond.toFixed(1)}/s), queue ${count(queued)}${end}${more.join('')}`
  );
}

/** Why the networks that share the crawl hold it up. */
export function heldUpBy({ shared }: Progress): string[] {
  const { awaited = [], lost = new Map<string, string>() } = shared ?? {};
  return [
    ...(awaited.length > 0 ? [`complete, waits for ${awaited.join(', ')}`] : []),
    ...[...lost].map(([network, message]) => `Redis of ${network}: ${causeIn(message)}`),
  ];
}

/** Without network and server, which `status` shows, and without the remedy. */
function causeIn(message: string): string {
  const cause = failureParts(message).text.replace(/^network [^ ]+: (Redis at [^ ]+: )?/, '');
  return cut(cause, reasonLengthMax);
}

/** Shows the reason of one host; if DNS or the network fails, all hosts have the same reason. */
function waitsText({ hostsAwaitingRobots: waits, robotsWaitReason: why }: Progress): string {
  if (why === 'dns') return `${count(waits)} waiting for robots.txt: dns, no address for the name`;
  const reason = why === undefined ? '' : `: ${cut(printable(why), reasonLengthMax)}`;
  return `${count(waits)} waiting for robots.txt${reason}`;
}

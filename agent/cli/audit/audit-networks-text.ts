// The output of `ubiring audit A B` for people: the audit of each network, then the sum over all.

import { count, printable } from '../common/output.ts';
import type { NetworksAudit, UrlCount } from './audit-networks.ts';
import { auditText } from './audit-report.ts';

const examplesShownMax = 5;
/** Why several networks fetch a URL, which is no error. */
const unanswered = ', which is no error: a network or its Redis had not answered';

const unfollowed = 'links that only another one follows may be missing';

export function networksText({ ok, networks, all }: NetworksAudit): string {
  const { known, done, queued, skipped, failed, outside, missing } = all;
  const each = Object.entries(networks).map(([name, audit]) => {
    return `network ${name}\n${auditText(audit)}`;
  });
  const by = Object.entries(all.fetchedBy).map(([name, urls]) => `${name} ${count(urls)}`);
  const left = Object.entries(all.leftOutside).map(([name, urls]) => `${name} ${count(urls)}`);
  const { absent, differing, unlike } = all;
  const which = absent.length > 0 ? 'these networks' : 'all networks';
  const lost = all.lost.count > 0 ? `${count(all.lost.count)} of them lost` : '';
  const rows: [string, number, string][] = [
    ['known', known, ''],
    ['  = done', done, ''],
    ['  + queued', queued, all.open > 0 ? `${count(all.open)} awaited from another network` : ''],
    ['  + skipped', skipped, ''],
    ['  + failed', failed, ''],
    [
      '  + outside',
      outside,
      outside > 0 ? `left to networks without config: ${left.join(', ')}` : '',
    ],
    ['  + missing', missing.count, lost],
  ];
  const width = Math.max(...rows.map(([, value]) => count(value).length));
  const lines = rows.map(([title, value, note]) => {
    return `${title.padEnd(16)}${count(value).padStart(width)}  ${note}`.trimEnd();
  });
  return [
    ...each,
    which,
    ...lines,
    `fetched by: ${by.join(', ')}`,
    `fetched by several: ${count(all.overlap.count)}${all.overlap.count > 0 ? unanswered : ''}`,
    ...examples(all.overlap),
    ...(missing.count > 0 ? ['left to another network, which does not have it:'] : []),
    ...examples(all.lost.count > 0 ? all.lost : missing),
    ...(absent.length > 0 ? [`without ${absent.join(', ')}: add the configs of all networks`] : []),
    ...(differing.length > 0
      ? [`the configs differ in ${differing.join(' and ')}, which must be the same in all`]
      : []),
    ...(unlike.length > 0
      ? [
          `the configs differ in ${unlike.join(' and ')}: a page is read by one network, so ${unfollowed}`,
        ]
      : []),
    ok ? `the numbers of ${which} agree` : `the numbers of ${which} do NOT agree`,
    '',
  ].join('\n');
}

function examples({ count: urls, examples: known }: UrlCount): string[] {
  const shown = known.slice(0, examplesShownMax);
  const more = urls - shown.length;
  return [
    ...shown.map((url) => printable(`  ${url}`)),
    ...(more > 0 ? [`  and ${count(more)} more`] : []),
  ];
}

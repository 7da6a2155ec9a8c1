// Ports that the crawler refuses. Browsers refuse the same ports (Fetch Standard, "port
// blocking"), because they serve other protocols (mail, file sharing, IRC, telephony) that may
// take lines of an HTTP request for commands. This is not an allow-list, because web sites on
// unusual ports are common. A crawl that allows private addresses trusts its pages and may use
// every port.

import type { RequestForm } from './crawl-url.ts';

/** Fetch Standard, section "bad port". */
const REFUSED: ReadonlySet<string> = new Set(
  (
    '1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 ' +
    '113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 ' +
    '548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 ' +
    '6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  ).split(' '),
);

const PORT = /^https?:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/;

/**
 * @param url - http or https, as the URL parser writes it, without userinfo
 * @returns the port if it is refused, or null
 */
export function refusedPortOf(url: RequestForm): number | null {
  const port = PORT.exec(url)?.[1];
  return port !== undefined && (REFUSED.has(port) || port === '0') ? Number(port) : null;
}

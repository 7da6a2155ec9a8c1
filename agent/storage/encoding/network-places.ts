// The `not_before` of queued URLs that may not be requested because of other networks
// (docs/NETWORKS.md). Each is more than any time in milliseconds.

/** The URL waits for a verdict. */
export const ASKING = 1e14;
/** Another network has claimed the URL, and not finished the page. */
export const CLAIMED_ELSEWHERE = ASKING + 1;
/** A copy of another agent's URL, whose verdict is not known here. */
export const COPIED = ASKING + 2;

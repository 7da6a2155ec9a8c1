// The error codes of pages that failed because of their host, not by themselves: it could not be
// reached, or it was given up with the rest of its queue. `launch` and `audit` count such hosts.

/** As in `pages.error`; a host without any response counts as unreachable with other codes, too. */
export const HOST_ERRORS: readonly string[] = [
  'dns',
  'connect_refused',
  'connect_timeout',
  'connect_failed',
  'tls',
  'host_busy',
  'host_silent',
  'host_failing',
  'robots_unreachable',
];

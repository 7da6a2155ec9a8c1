// The error codes of pages that failed because their host could not be reached or was abandoned
// with its queue.

/** Values of `pages.error`. A host without any response counts as unreachable with any code. */
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

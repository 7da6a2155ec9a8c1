/**
 * Translates the errors of Node and got into the stable codes of the fetch port.
 */

import { DialError } from '../address/dial.ts';
import type { FetchFailureCode } from '../fetch.ts';
import { CallError } from './call.ts';

/**
 * @param error the error that ended the request; got keeps the original error as its cause.
 * @param where `body` if the response header had arrived.
 */
export function failureCode(error: Error, where: 'request' | 'body'): FetchFailureCode {
  for (const named of [error, error.cause]) {
    if (named instanceof DialError || named instanceof CallError) return named.code;
  }
  const cause = error.cause ?? error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code.startsWith('HPE_')) return 'http_syntax';
  switch (code) {
    case 'ERR_HTTP_CONTENT_LENGTH_MISMATCH':
      return 'truncated_body';
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ECONNABORTED':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
      // The header had arrived, and the connection ended without a reset, but too early.
      return where === 'body' && !isReset(cause) ? 'truncated_body' : 'reset';
    default:
      return /^ERR_(?:SSL|TLS|OSSL)/.test(code) || code === 'EPROTO' ? 'tls' : 'unexpected';
  }
}

/** Whether the operating system reported the error. If not, Node noticed an early end. */
export function isReset(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;
}

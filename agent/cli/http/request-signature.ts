// Signatures of requests between agents. HTTP is not encrypted, and another program may take the port
// of an agent that has ended. So an agent that asks another one does not send its token: it signs the
// request with it. The signature covers everything that a request without a body says, the server
// that is asked, and the time.

import { createHmac } from 'node:crypto';

/** No other use of a token has the same first line. */
const LABEL = 'ubiring-request-1';
const HEADER = /^Ubiring +t=(\d{1,12}),s=([\w-]{43})$/i;

export interface SignedRequest {
  readonly method: string;
  /** The Host header. */
  readonly host: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** Unix seconds. */
  readonly at: number;
}

export interface RequestSignature {
  /** Unix seconds. */
  readonly at: number;
  readonly bytes: Buffer;
}

/** @param key - digest of the token */
export function signatureOf(key: Buffer, { method, host, target, at }: SignedRequest): Buffer {
  const lines = [LABEL, method, host, target, at];
  return createHmac('sha256', key).update(lines.join('\n')).digest();
}

/** @returns the Authorization header */
export function signed(key: Buffer, request: SignedRequest): string {
  return `Ubiring t=${request.at},s=${signatureOf(key, request).toString('base64url')}`;
}

/** @param header - Authorization; null: it is no signature */
export function parseSignature(header: string): RequestSignature | null {
  const [, at, bytes] = HEADER.exec(header) ?? [];
  if (bytes === undefined) return null;
  return { at: Number(at), bytes: Buffer.from(bytes, 'base64url') };
}

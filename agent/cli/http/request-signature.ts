// Signatures of requests between agents. HTTP is not encrypted, and another program may take the port
// of an agent that has ended. So an agent that asks another one does not send its tokens: it signs the
// request with each of them, because it does not know which of them the other one has. A signature
// covers everything that a request without a body says, the server that is asked, and the time.

import { createHmac } from 'node:crypto';

/** No other use of a token has the same first line. */
const LABEL = 'ubiring-request-1';
/** At most 100 signatures, as many as there may be tokens: with 46 bytes each, headers have room. */
const HEADER = /^Ubiring +t=(\d{1,12})((?:,s=[\w-]{43}){1,100})$/i;

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
  readonly signatures: readonly Buffer[];
}

/** @param key - digest of the token */
export function signatureOf(key: Buffer, { method, host, target, at }: SignedRequest): Buffer {
  const lines = [LABEL, method, host, target, at];
  return createHmac('sha256', key).update(lines.join('\n')).digest();
}

/** @returns the Authorization header */
export function signed(keys: readonly Buffer[], request: SignedRequest): string {
  const signatures = keys.map((key) => `,s=${signatureOf(key, request).toString('base64url')}`);
  return `Ubiring t=${request.at}${signatures.join('')}`;
}

/** @param header - Authorization; null: it is no signature */
export function parseSignature(header: string): RequestSignature | null {
  const [, at, list] = HEADER.exec(header) ?? [];
  if (list === undefined) return null;
  const signatures = list.split(/,s=/i).slice(1);
  return { at: Number(at), signatures: signatures.map((one) => Buffer.from(one, 'base64url')) };
}

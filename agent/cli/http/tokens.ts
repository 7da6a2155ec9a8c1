// Tokens of the HTTP server, with their roles. Only digests of the tokens are kept.

import { hash, timingSafeEqual } from 'node:crypto';
import { type RequestSignature, type SignedRequest, signatureOf } from './request-signature.ts';

export const ROLES = ['read', 'steer', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Shorter tokens could be guessed. */
const TOKEN_LENGTH_MIN = 16;
const TOKENS_MAX = 100;
/** Others would be changed on their way: HTTP has no coding for the text of a header. */
const TOKEN_TEXT = /^[\x21-\x7e]+$/;
const TOKEN_LINE = /^(\S+)\s+(\S+)$/;

interface Token {
  readonly role: Role;
  /** The key of its signatures, too. */
  readonly digest: Buffer;
}

export class Tokens {
  readonly #tokens: readonly Token[];
  /** For the signatures of requests to agents on other machines: each digest once. */
  readonly keys: readonly Buffer[];

  private constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
    const digests = tokens.map(({ digest }) => [digest.toString('hex'), digest] as const);
    this.keys = [...new Map(digests).values()];
  }

  static readonly none = new Tokens([]);

  /**
   * @param text - lines with a role and a token; `#` begins a comment
   * @returns what is wrong with the text, without the tokens, if anything is
   */
  static parse(text: string): Tokens | string {
    const tokens: Token[] = [];
    for (const [index, line] of text.split('\n').entries()) {
      const trimmed = line.trim();
      if (trimmed === '' || trimmed.startsWith('#')) continue;
      const at = `line ${index + 1}`;
      const [, role, token] = TOKEN_LINE.exec(trimmed) ?? [];
      if (!isRole(role) || token === undefined) {
        return `${at} is not "ROLE TOKEN"; write read, steer or admin, a space and the token`;
      }
      if (token.length < TOKEN_LENGTH_MIN) {
        return `${at}: the token has fewer than ${TOKEN_LENGTH_MIN} characters; write a longer one`;
      }
      if (!TOKEN_TEXT.test(token)) {
        return `${at}: the token has characters other than letters, digits and signs of ASCII; write one without them`;
      }
      tokens.push({ role, digest: digestOf(token) });
    }
    if (tokens.length > TOKENS_MAX) return `there are more than ${TOKENS_MAX} tokens; remove some`;
    return new Tokens(tokens);
  }

  get size(): number {
    return this.#tokens.length;
  }

  /** The time does not depend on how much of the token is right. */
  roleOf(token: string): Role | null {
    const digest = digestOf(token);
    let role: Role | null = null;
    for (const known of this.#tokens) {
      if (!timingSafeEqual(known.digest, digest)) continue;
      if (role === null || ROLES.indexOf(known.role) > ROLES.indexOf(role)) role = known.role;
    }
    return role;
  }

  /** The time does not depend on how much of a signature is right, nor on which token it fits. */
  haveSigned(request: SignedRequest, { signatures }: RequestSignature): boolean {
    let isKnown = false;
    for (const key of this.keys) {
      const right = signatureOf(key, request);
      for (const bytes of signatures) if (timingSafeEqual(right, bytes)) isKnown = true;
    }
    return isKnown;
  }
}

function isRole(text: string | undefined): text is Role {
  return ROLES.some((role) => role === text);
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

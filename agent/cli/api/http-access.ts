// Decides who may do what over HTTP. A bearer token has a role. An agent on another machine signs its
// requests and may read. A client on the same machine needs no token to read; to steer, its browser
// must say that the request comes from the dashboard itself. So a page of another site can neither
// read nor steer, although it runs in a browser on this machine, and neither can one whose name was
// changed to a loopback address (DNS rebinding).

import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from '../../../config/values/listen-address.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { parseSignature, type RequestSignature } from '../http/request-signature.ts';
import { SHARED_TOKEN_REMEDY } from '../http/token-source.ts';
import { ROLES, type Role, type Tokens } from '../http/tokens.ts';

/** Seconds by which the clocks of two machines may differ. A signature is good for as long. */
const CLOCKS_DIFFER_MAX = 300;

export interface Asker {
  readonly method: string;
  /** Path and query, as received. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Address of the client's end of the connection. */
  readonly remoteAddress: string | undefined;
  /** Port of the server's end. */
  readonly localPort: number | undefined;
}

/**
 * @param now - Unix milliseconds
 * @returns the role of the client
 * @throws HttpProblem if it has none
 */
export function roleOf(asker: Asker, tokens: Tokens, now: number): Role {
  const { headers, remoteAddress } = asker;
  const remedy = tokens.size === 0 ? NO_TOKENS_REMEDY : TOKEN_REMEDY;
  const { authorization } = headers;
  if (authorization !== undefined) {
    const signature = parseSignature(authorization);
    if (signature) return roleOfSigner(asker, signature, tokens, Math.floor(now / 1000));
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const role = token === undefined ? null : tokens.roleOf(token);
    if (role !== null) return role;
    throw new HttpProblem(401, 'token-unknown', 'the token is not known', remedy);
  }
  if (!isLoopback(remoteAddress ?? '') || isForwarded(headers)) {
    const detail = 'a client on another machine needs a token';
    throw new HttpProblem(401, 'token-missing', detail, remedy);
  }
  if (!isNumberOrLocal(hostOf(headers.host))) {
    const detail = `the Host header ${JSON.stringify(headers.host ?? '')} is a name other than localhost`;
    const open = 'open the dashboard as http://127.0.0.1:PORT/, or send a token';
    throw new HttpProblem(403, 'host-refused', detail, open);
  }
  const site = headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') {
    const detail = 'the request comes from a page of another site';
    throw new HttpProblem(403, 'other-site', detail, 'open the address itself in the browser');
  }
  // With tokens there may be a proxy, through which everybody seems to be on this machine.
  return tokens.size === 0 && isOwnPage(headers) ? 'admin' : 'read';
}

const TOKEN_REMEDY =
  'send "Authorization: Bearer TOKEN" with a token of the file that monitor.tokens names, or of MONITOR_TOKENS';
const NO_TOKENS_REMEDY =
  'let monitor.tokens in the config name a file with lines such as "steer TOKEN", start the agents ' +
  'again, and send "Authorization: Bearer TOKEN"';

/** @param now - Unix seconds */
function roleOfSigner(
  { method, target, headers: { host = '' }, localPort }: Asker,
  signature: RequestSignature,
  tokens: Tokens,
  now: number,
): Role {
  const refused = (code: string, detail: string, remedy: string) =>
    new HttpProblem(401, `signature-${code}`, detail, remedy);
  // The signature does not cover a body.
  if (method !== 'GET') throw refused('method', 'only a GET request may be signed', TOKEN_REMEDY);
  // A program at another port may have been sent the request and pass it on.
  if (portOf(host) !== localPort) {
    const detail = `the request is signed for ${JSON.stringify(host)}, and came to port ${localPort}`;
    throw refused('port', detail, 'ask the agent at the port where it listens');
  }
  const { at } = signature;
  if (!tokens.haveSigned({ method, host, target, at }, signature)) {
    const detail = 'the request is signed with no token that the agent knows';
    throw refused('unknown', detail, SHARED_TOKEN_REMEDY);
  }
  const seconds = Math.abs(now - at);
  if (seconds > CLOCKS_DIFFER_MAX) {
    const side = at < now ? 'behind' : 'ahead of';
    const detail = `the clock of the machine that asks is ${seconds} s ${side} that of the machine asked`;
    throw refused('time', detail, 'set the clocks of both machines');
  }
  return 'read';
}

/** A proxy on this machine forwards requests of others. */
function isForwarded(headers: IncomingHttpHeaders): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => name in headers);
}

/** Browsers set these headers, and pages cannot change them. */
function isOwnPage(headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined) return headers.origin === `http://${headers.host}`;
  return headers['sec-fetch-site'] === 'same-origin';
}

const HOST = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/;

/** Without port and brackets. */
function hostOf(header: string | undefined): string {
  const [, bracketed, plain] = HOST.exec(header ?? '') ?? [];
  return bracketed ?? plain ?? '';
}

/** Clients leave out the default. */
function portOf(header: string): number | null {
  const [found, , , port] = HOST.exec(header) ?? [];
  return found === undefined ? null : Number(port ?? 80);
}

/** No name server can answer for these. */
function isNumberOrLocal(host: string): boolean {
  return host === 'localhost' || isIP(host) !== 0;
}

/** @throws HttpProblem if the role does not suffice */
export function demand(needed: Role, role: Role, tokens: Tokens): void {
  if (ROLES.indexOf(role) >= ROLES.indexOf(needed)) return;
  const detail = `this needs the role ${needed}, and the request has the role ${role}`;
  const own = 'use the dashboard, send "Origin: http://HOST:PORT" of this server, or ';
  const remedy =
    tokens.size === 0 ? `${own}${NO_TOKENS_REMEDY}` : `send a token with the role ${needed}`;
  throw new HttpProblem(403, 'role-too-low', detail, remedy);
}

// Builds the records of one capture: metadata, request, then response or revisit, linked by
// WARC-Concurrent-To. The response is last, so that its index line, which is written after it,
// shows that the whole group exists. A response whose payload this agent has archived before
// becomes a revisit, with the new header and a reference to the payload. A 304 response becomes one
// as well if the archived payload of the page is known. The file of that payload must exist.

import type { Capture, Original } from './capture.ts';
import type { IndexEntry } from './cdxj.ts';
import { sha1Base32 } from './digest.ts';
import { type Fields, fieldLines, warcRecord } from './record.ts';
import type { SeenPayloads } from './seen-payloads.ts';

const PROFILES = 'http://netpreserve.org/warc/1.1/revisit';
const IDENTICAL = `${PROFILES}/identical-payload-digest`;
/** The server answered 304, without a payload. */
const NOT_MODIFIED = `${PROFILES}/server-not-modified`;

interface CaptureRecords {
  readonly metadata: Buffer<ArrayBuffer>;
  readonly request: Buffer<ArrayBuffer>;
  /** A response or a revisit. */
  readonly response: Buffer<ArrayBuffer>;
  readonly indexed: Omit<IndexEntry, 'length' | 'offset' | 'filename'>;
  /** Digest of the payload; absent if it is empty or incomplete. */
  readonly payload?: string;
}

interface RecordContext {
  /** Identifier of the warcinfo record of the file, in angle brackets. */
  readonly warcinfoId: string;
  /** The file that the records go to. */
  readonly file: string;
  readonly seen: SeenPayloads;
  newId(): string;
  /** Whether a file of the archive exists. */
  isKept(file: string): boolean;
}

/** @param body - as received, without transfer coding, but still with its content coding */
export function captureRecords(
  capture: Capture,
  body: Uint8Array,
  context: RecordContext,
): CaptureRecords {
  const { url, ip, contentType, status, truncated } = capture;
  const responseId = recordId(context);
  const date = warcDate(capture.startedAt);
  const payload = payloadOf(capture, body, context, date);
  const { digest, profile, original } = payload;
  const common: Fields = [
    ['WARC-Target-URI', url],
    ['WARC-Date', date],
    ['WARC-Warcinfo-ID', context.warcinfoId],
  ];
  const address: Fields = ip === null ? [] : [['WARC-IP-Address', plainAddress(ip)]];
  const linked: Fields = [
    ['WARC-Record-ID', recordId(context)],
    ['WARC-Concurrent-To', responseId],
    ...common,
  ];
  const metadata = warcRecord(
    'metadata',
    [...linked, ['Content-Type', 'application/warc-fields']],
    [Buffer.from(fieldLines(capture.metadata))],
  );
  const requestFields: Fields = [
    ['WARC-Record-ID', recordId(context)],
    ...linked.slice(1),
    ...address,
    ['Content-Type', 'application/http; msgtype=request'],
  ];
  const head = Buffer.from(capture.requestHead, 'latin1');
  const responseFields: Fields = [
    ['WARC-Record-ID', responseId],
    ...common,
    ...address,
    ['Content-Type', 'application/http; msgtype=response'],
    ['WARC-Payload-Digest', `sha1:${digest}`],
    ...(truncated === null ? [] : ([['WARC-Truncated', truncated]] as Fields)),
  ];
  return {
    metadata,
    request: warcRecord('request', requestFields, [head]),
    response: responseOf(capture, body, responseFields, payload),
    indexed: { url, date, mime: mimeOf(contentType, profile), status, digest },
    ...(original && { payload: digest }),
  };
}

function responseOf(
  { responseHead }: Capture,
  body: Uint8Array,
  fields: Fields,
  { original, profile }: Payload,
): Buffer<ArrayBuffer> {
  const head = Buffer.from(responseHead, 'latin1');
  if (original === null || profile === null) return warcRecord('response', fields, [head, body]);
  const revisited: Fields = [
    ...fields,
    ['WARC-Profile', profile],
    ['WARC-Refers-To-Target-URI', original.url],
    ['WARC-Refers-To-Date', original.date],
    // Not of the standard, which lets readers ignore it. The next round looks for this file.
    ['WARC-Refers-To-Filename', original.file],
  ];
  return warcRecord('revisit', revisited, [head]);
}

interface Payload {
  readonly digest: string;
  /** Profile of a revisit; null if this record has the payload. */
  readonly profile: string | null;
  /** The payload's first record, this or an earlier one; null if it is empty or incomplete. */
  readonly original: Original | null;
}

function payloadOf(
  { truncated, url, status, previous }: Capture,
  body: Uint8Array,
  { seen, file, isKept }: RecordContext,
  date: string,
): Payload {
  // Its file may have been deleted since the request.
  const known = previous && isKept(previous.file) ? previous : null;
  if (status === 304 && known) {
    return { digest: known.payload, profile: NOT_MODIFIED, original: known };
  }
  const digest = sha1Base32(body);
  // A revisit of an empty payload saves no space, and a prefix does not identify the rest.
  if (body.byteLength === 0 || truncated !== null) return { digest, profile: null, original: null };
  const same = known?.payload === digest ? known : seen.find(digest, isKept);
  if (same) return { digest, profile: IDENTICAL, original: same };
  const original = { url, date, file };
  seen.add(digest, original);
  return { digest, profile: null, original };
}

function recordId(context: RecordContext): string {
  return `<urn:uuid:${context.newId()}>`;
}

/** In whole seconds, as in an index: a revisit refers to its original by date. */
export function warcDate(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 19)}Z`;
}

function mimeOf(contentType: string | null, profile: string | null): string | null {
  if (profile !== null) return 'warc/revisit';
  const type = contentType === null ? '' : contentType.split(';', 1)[0]!.trim();
  return type === '' ? null : type;
}

/** A dual-stack socket gives IPv4 addresses in IPv6 form. */
function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/, '');
}

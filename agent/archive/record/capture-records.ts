// The records of one capture: metadata, request, then response or revisit, tied together by
// WARC-Concurrent-To. The response is last, so that its line in the index, which is written after
// it, tells that the whole group is there. A payload that this agent has archived before becomes
// a revisit: the header as it came this time, and where the payload is. So does a 304, of which the
// page's row knows what it stands for. Called by warc-writer.ts.

import type { ArchivedPayload, Capture } from './capture.ts';
import type { IndexEntry } from './cdxj.ts';
import { sha1Base32 } from './digest.ts';
import { type Fields, fieldLines, warcRecord } from './record.ts';
import type { Original, SeenPayloads } from './seen-payloads.ts';

const PROFILES = 'http://netpreserve.org/warc/1.1/revisit';
const IDENTICAL = `${PROFILES}/identical-payload-digest`;
/** The server said so itself, and sent nothing. */
const NOT_MODIFIED = `${PROFILES}/server-not-modified`;

export interface CaptureRecords {
  readonly metadata: Buffer<ArrayBuffer>;
  readonly request: Buffer<ArrayBuffer>;
  /** A response or a revisit. */
  readonly response: Buffer<ArrayBuffer>;
  readonly indexed: Omit<IndexEntry, 'length' | 'offset' | 'filename'>;
  readonly original?: ArchivedPayload;
}

export interface RecordContext {
  /** Identifier of the file's warcinfo record, in angle brackets. */
  readonly warcinfoId: string;
  readonly seen: SeenPayloads;
  newId(): string;
}

/** @param body as received, after the framing of the transfer and before its content coding. */
export function captureRecords(
  capture: Capture,
  body: Uint8Array,
  context: RecordContext,
): CaptureRecords {
  const { url, ip, contentType, status, truncated } = capture;
  const responseId = recordId(context);
  const date = warcDate(capture.startedAt);
  const { digest, profile, original } = payloadOf(capture, body, context.seen, date);
  const common: Fields = [
    ['WARC-Target-URI', url],
    ['WARC-Date', date],
    ['WARC-Warcinfo-ID', context.warcinfoId],
  ];
  const address: Fields = ip === null ? [] : [['WARC-IP-Address', plainAddress(ip)]];
  const beside: Fields = [
    ['WARC-Record-ID', recordId(context)],
    ['WARC-Concurrent-To', responseId],
    ...common,
  ];
  const metadata = warcRecord(
    'metadata',
    [...beside, ['Content-Type', 'application/warc-fields']],
    [Buffer.from(fieldLines(capture.metadata))],
  );
  const requestFields: Fields = [
    ['WARC-Record-ID', recordId(context)],
    ...beside.slice(1),
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
    response: responseOf(capture, body, responseFields, original, profile),
    indexed: { url, date, mime: mimeOf(contentType, profile), status, digest },
    ...(original && { original: told(original, digest) }),
  };
}

function responseOf(
  { responseHead }: Capture,
  body: Uint8Array,
  fields: Fields,
  original: Original | null | undefined,
  profile: string | null,
): Buffer<ArrayBuffer> {
  const head = Buffer.from(responseHead, 'latin1');
  if (!original || profile === null) return warcRecord('response', fields, [head, body]);
  const revisited: Fields = [
    ...fields,
    ['WARC-Profile', profile],
    ['WARC-Refers-To-Target-URI', original.url],
    ['WARC-Refers-To-Date', original.date],
  ];
  return warcRecord('revisit', revisited, [head]);
}

interface Payload {
  readonly digest: string;
  /** Of a revisit; null: the payload is here. */
  readonly profile: string | null;
  /** Its first record, this one or an earlier; null where it is no whole payload. */
  readonly original: Original | null;
}

function payloadOf(
  { truncated, url, status, former }: Capture,
  body: Uint8Array,
  seen: SeenPayloads,
  date: string,
): Payload {
  const known = former && { url: former.url, date: warcDate(former.at * 1000) };
  if (status === 304 && known) {
    return { digest: former.payload, profile: NOT_MODIFIED, original: known };
  }
  const digest = sha1Base32(body);
  // Of nothing there is nothing to save, and a prefix says nothing of the rest.
  if (body.byteLength === 0 || truncated !== null) return { digest, profile: null, original: null };
  const same = known && former.payload === digest ? known : seen.find(digest);
  if (same) return { digest, profile: IDENTICAL, original: same };
  seen.add(digest, { url, date });
  return { digest, profile: null, original: { url, date } };
}

function told({ url, date }: Original, payload: string): ArchivedPayload {
  return { payload, url, at: Date.parse(date) / 1000 };
}

function recordId(context: RecordContext): string {
  return `<urn:uuid:${context.newId()}>`;
}

/** Whole seconds: an index has no more, and a revisit names the date of its original. */
export function warcDate(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 19)}Z`;
}

function mimeOf(contentType: string | null, profile: string | null): string | null {
  if (profile !== null) return 'warc/revisit';
  const type = contentType === null ? '' : contentType.split(';', 1)[0]!.trim();
  return type === '' ? null : type;
}

/** A dual-stack socket names IPv4 peers in IPv6 form. */
function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/, '');
}

// The records of one capture: metadata, request, then response or revisit, tied together by
// WARC-Concurrent-To. The response is last, so that its line in the index, which is written after
// it, tells that the whole group is there. A payload that this agent has archived before becomes
// a revisit: the header as it came this time, and where the payload is. Called by warc-writer.ts.

import type { Capture } from './capture.ts';
import type { IndexEntry } from './cdxj.ts';
import { sha1Base32 } from './digest.ts';
import { type Fields, fieldLines, warcRecord } from './record.ts';
import type { Original, SeenPayloads } from './seen-payloads.ts';

const REVISIT_PROFILE = 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest';

export interface CaptureRecords {
  readonly metadata: Buffer<ArrayBuffer>;
  readonly request: Buffer<ArrayBuffer>;
  /** A response or a revisit. */
  readonly response: Buffer<ArrayBuffer>;
  readonly indexed: Omit<IndexEntry, 'length' | 'offset' | 'filename'>;
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
  const digest = sha1Base32(body);
  const original = originalOf(capture, digest, body, context.seen, date);
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
    response: responseOf(capture, body, responseFields, original),
    indexed: { url, date, mime: mimeOf(contentType, original), status, digest },
  };
}

function responseOf(
  { responseHead }: Capture,
  body: Uint8Array,
  fields: Fields,
  original: Original | undefined,
): Buffer<ArrayBuffer> {
  const head = Buffer.from(responseHead, 'latin1');
  if (original === undefined) return warcRecord('response', fields, [head, body]);
  const revisited: Fields = [
    ...fields,
    ['WARC-Profile', REVISIT_PROFILE],
    ['WARC-Refers-To-Target-URI', original.url],
    ['WARC-Refers-To-Date', original.date],
  ];
  return warcRecord('revisit', revisited, [head]);
}

/** The record with the same payload, if there is one; else this one is that for later ones. */
function originalOf(
  { truncated, url }: Capture,
  digest: string,
  body: Uint8Array,
  seen: SeenPayloads,
  date: string,
): Original | undefined {
  // Of nothing there is nothing to save, and a prefix says nothing of the rest.
  if (body.byteLength === 0 || truncated !== null) return undefined;
  const original = seen.find(digest);
  if (original === undefined) seen.add(digest, { url, date });
  return original;
}

function recordId(context: RecordContext): string {
  return `<urn:uuid:${context.newId()}>`;
}

/** Whole seconds: an index has no more, and a revisit names the date of its original. */
export function warcDate(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 19)}Z`;
}

function mimeOf(contentType: string | null, original: Original | undefined): string | null {
  if (original !== undefined) return 'warc/revisit';
  const type = contentType === null ? '' : contentType.split(';', 1)[0]!.trim();
  return type === '' ? null : type;
}

/** A dual-stack socket names IPv4 peers in IPv6 form. */
function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/, '');
}

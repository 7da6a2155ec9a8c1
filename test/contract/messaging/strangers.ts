// Scripts of bytes that strangers and broken peers send to the port of an agent, based on the ZMTP
// 3.1, 2.0 and 1.0 specifications (rfc.zeromq.org 23, 15, 13) and on experience with open ports.
// `reaches` is the refusal that the transport must count; it is absent if libzmq stops the script.

import type { RefusalCode } from '../../../agent/messaging/refusals.ts';
import type { Step } from './kit.ts';
import { sealed } from './sealed.ts';

export interface Stranger {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly reaches?: RefusalCode;
}

const SETTLE: Step = { waitMs: 50 };
const MORE = 0x01;
const LONG = 0x02;
const COMMAND = 0x04;

function text(words: string): Step {
  return { hex: Buffer.from(words, 'latin1').toString('hex') };
}

function bytes(...parts: (Buffer | readonly number[])[]): Step {
  return { hex: Buffer.concat(parts.map((part) => Buffer.from(part))).toString('hex') };
}

function greeting(mechanism = 'NULL', major = 3): Step {
  const name = Buffer.alloc(20);
  name.write(mechanism);
  const signature = [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f];
  return bytes(signature, [major, 1], name, Buffer.alloc(32));
}

function ready(socketType: string): Step {
  const property = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([0, 0, 0, value.length]),
      Buffer.from(value),
    ]);
  const body = Buffer.concat([
    Buffer.from([5]),
    Buffer.from('READY'),
    property('Socket-Type', socketType),
    property('Identity', ''),
  ]);
  return bytes([COMMAND, body.length], body);
}

function frame(flags: number, body: Buffer | string): Step {
  const content = Buffer.from(body);
  if (content.length < 256) return bytes([flags, content.length], content);
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(content.length));
  return bytes([flags | LONG], size, content);
}

const asDealer: readonly Step[] = [greeting(), SETTLE, ready('DEALER'), SETTLE];
const mebibyte = 1024 * 1024;

export const strangers: readonly Stranger[] = [
  { name: 'a browser', steps: [text('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), SETTLE] },
  { name: 'a TLS client', steps: [text('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'), SETTLE] },
  { name: 'an SSH client', steps: [text('SSH-2.0-OpenSSH_9.6\r\n'), SETTLE] },
  { name: 'an endless line of text', steps: [{ repeatHex: '41', times: mebibyte }, SETTLE] },
  { name: 'a connection that sends nothing', steps: [{ waitMs: 300 }] },
  { name: 'one byte of a greeting', steps: [text('\xff'), { waitMs: 300 }] },
  {
    name: 'half a greeting and a close',
    steps: [text('\xff\0\0\0\0\0\0\0\x01\x7f\x03'), SETTLE],
  },
  { name: 'a mechanism that does not exist', steps: [greeting('SECRET'), SETTLE] },
  { name: 'a PUB socket', steps: [greeting(), SETTLE, ready('PUB'), SETTLE, frame(0, 'x')] },
  { name: 'frames before the handshake', steps: [greeting(), frame(0, 'hello'), SETTLE] },
  { name: 'text in a frame', steps: [...asDealer, frame(0, 'hello')], reaches: 'bad_magic' },
  { name: 'an empty frame', steps: [...asDealer, frame(0, '')], reaches: 'bad_magic' },
  {
    name: 'a delimiter and a frame from a REQ socket',
    steps: [greeting(), SETTLE, ready('REQ'), SETTLE, frame(MORE, ''), frame(0, 'hello')],
    reaches: 'bad_parts',
  },
  {
    name: 'a thousand parts',
    steps: [...asDealer, { repeatHex: '010141', times: 1000 }, frame(0, 'end')],
    reaches: 'bad_parts',
  },
  { name: 'endless parts', steps: [...asDealer, { repeatHex: '010141', times: 50_000 }] },
  {
    name: 'eight parts of a mebibyte',
    steps: [
      ...asDealer,
      ...Array.from({ length: 8 }, () => frame(MORE, Buffer.alloc(mebibyte, 0x41))),
      frame(0, 'end'),
    ],
    reaches: 'bad_parts',
  },
  {
    name: 'a frame of the maximum size that is not a message',
    steps: [...asDealer, frame(0, Buffer.alloc(mebibyte, 0x41))],
    reaches: 'bad_magic',
  },
  {
    name: 'a frame above the maximum size',
    steps: [...asDealer, frame(0, Buffer.alloc(mebibyte + 1))],
  },
  {
    name: 'a frame that announces 2^63 bytes',
    steps: [...asDealer, bytes([LONG, 0x80, 0, 0, 0, 0, 0, 0, 0]), SETTLE],
  },
  { name: 'an unknown command', steps: [...asDealer, frame(COMMAND, '\x04WHAT'), SETTLE] },
  {
    name: 'a ZMTP 1.0 message',
    steps: [text('\x01\x00'), SETTLE, text('\x06\x00hello')],
    reaches: 'bad_magic',
  },
  {
    name: 'a frame of another wire version',
    steps: [...asDealer, frame(0, sealed('{}', 0, 1))],
    reaches: 'wrong_version',
  },
  {
    name: 'a damaged frame',
    steps: [...asDealer, frame(0, Buffer.concat([sealed('{}'), Buffer.from(' ')]))],
    reaches: 'bad_checksum',
  },
  {
    name: 'a message without a sender',
    steps: [...asDealer, frame(0, sealed('{"message":{"type":"LEAVE"}}'))],
    reaches: 'bad_shape',
  },
  {
    name: 'a message that tries to pollute the prototype',
    steps: [...asDealer, frame(0, sealed('{"__proto__":{"polluted":1}}'))],
    reaches: 'bad_shape',
  },
];

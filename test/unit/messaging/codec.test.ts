import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import type { Envelope, MessageType } from '../../../agent/core/protocol/messages.ts';
import {
  FRAME_BYTES_MAX,
  PAYLOAD_BYTES_MAX,
  WIRE_VERSION,
} from '../../../agent/messaging/checks/limits.ts';
import { decodeFrame, encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { ROBOTS_BYTES_MAX } from '../../../agent/robots/robots-txt.ts';
import { sealed } from '../../contract/messaging/sealed.ts';
import { anyEnvelope, plainTypes } from './arbitrary-messages.ts';

const PLAIN = 0;
const DEFLATED = 1;

function frame(payload: string | Uint8Array, encoding = PLAIN, version = WIRE_VERSION): Buffer {
  const body = Buffer.from(payload);
  return sealed(encoding === DEFLATED ? deflateRawSync(body) : body, encoding, version);
}

function codeOf(bytes: Uint8Array): string {
  const decoded = decodeFrame(bytes);
  return decoded.ok ? 'ok' : decoded.code;
}

function heartbeatLike(extra: object): Envelope {
  const message = { type: 'CONTROL_ACK', request: 1, ok: true, result: extra } as const;
  return { from: { id: 'a1', inc: 1 }, to: { id: 'a2', inc: 2 }, message };
}

describe('codec: round trip', () => {
  const types: MessageType[] = [...plainTypes, 'RELAY'];
  for (const type of types) {
    it(`codec: a ${type} is decoded as it was sent`, () => {
      const property = fc.property(anyEnvelope(type), (envelope) => {
        const encoded = encodeEnvelope(envelope);
        assert.ok(encoded.ok);
        const decoded = decodeFrame(encoded.frame);
        assert.ok(decoded.ok, decoded.ok ? '' : decoded.detail);
        const sent = JSON.parse(JSON.stringify(envelope));
        assert.deepEqual(decoded.envelope, sent);
      });
      fc.assert(property, { numRuns: 60 });
    });
  }

  it('codec: long messages are deflated, short ones are sent plain', () => {
    const short = encodeEnvelope(heartbeatLike({}));
    const long = encodeEnvelope(heartbeatLike({ text: 'abc'.repeat(2000) }));
    assert.ok(short.ok && long.ok);
    assert.equal(short.frame[3], PLAIN);
    assert.equal(long.frame[3], DEFLATED);
    assert.ok(long.frame.length < 1000);
  });

  it('codec: news of members are deflated above a larger size', () => {
    const told = (count: number) => {
      const agents = Array.from({ length: count }, (_, n) => {
        return { id: `a${n}`, inc: 0, capacity: 1, address: `tcp://10.0.0.5:${n}` };
      });
      const message = { type: 'REGION_TOLD', key: '0'.repeat(40), length: 0, agents, empty: '' };
      const encoded = encodeEnvelope({ ...heartbeatLike({}), message } as Envelope);
      assert.ok(encoded.ok);
      return encoded.frame[3];
    };
    assert.deepEqual([told(100), told(400)], [PLAIN, DEFLATED]);
  });

  it('codec: the largest robots.txt fits into a row, even if it does not compress', () => {
    const body = randomBytes(ROBOTS_BYTES_MAX).toString('base64');
    const about = { kind: 'robots', n: 1, origin: 'http://h.test', ageMs: 0, reason: '' } as const;
    const host = { host: 'h.test', version: 1, backoffMs: 0, delayMs: 0, from: 0, to: 1 };
    const items = [{ ...host, events: [{ ...about, answer: 'rules' as const, body }] }];
    const envelope: Envelope = {
      ...heartbeatLike({}),
      message: { type: 'ROWS', number: 1, items },
    };
    const encoded = encodeEnvelope(envelope);
    assert.ok(encoded.ok);
    const decoded = decodeFrame(encoded.frame);
    assert.deepEqual(decoded.ok && decoded.envelope, envelope);
  });

  it('codec: a frame may lie anywhere in a larger buffer', () => {
    const encoded = encodeEnvelope(heartbeatLike({ a: 1 }));
    assert.ok(encoded.ok);
    const around = Buffer.concat([Buffer.from('xyz'), encoded.frame, Buffer.from('tail')]);
    assert.equal(codeOf(around.subarray(3, 3 + encoded.frame.length)), 'ok');
  });
});

describe('codec: size', () => {
  it('codec: a message above the payload maximum is not encoded, and its size is reported', () => {
    const encoded = encodeEnvelope(heartbeatLike({ text: 'a'.repeat(PAYLOAD_BYTES_MAX) }));
    assert.ok(!encoded.ok);
    assert.equal(encoded.code, 'too_large');
    assert.ok(encoded.bytes > PAYLOAD_BYTES_MAX);
  });

  it('codec: the size of a message is measured in bytes, not characters', () => {
    const encoded = encodeEnvelope(heartbeatLike({ text: '代'.repeat(PAYLOAD_BYTES_MAX / 2) }));
    assert.ok(!encoded.ok);
  });

  it('codec: a message that does not compress into a frame is not encoded', () => {
    let state = 1;
    const noise = Array.from({ length: 2 * FRAME_BYTES_MAX }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return String.fromCharCode(0x30 + (state >>> 26));
    }).join('');
    const encoded = encodeEnvelope(heartbeatLike({ noise }));
    assert.ok(!encoded.ok);
    assert.ok(encoded.bytes > FRAME_BYTES_MAX && encoded.bytes < PAYLOAD_BYTES_MAX);
  });

  it('codec: a frame above the maximum size is refused without decoding', () => {
    assert.equal(codeOf(Buffer.alloc(FRAME_BYTES_MAX + 1)), 'too_large');
  });

  it('codec: a small frame that inflates to a hundred megabytes is refused', () => {
    const bomb = frame(Buffer.alloc(100 * 1024 * 1024), DEFLATED);
    assert.ok(bomb.length < FRAME_BYTES_MAX);
    assert.equal(codeOf(bomb), 'too_large');
  });
});

describe('codec: garbage', () => {
  const refused: [string, Uint8Array, string][] = [
    ['nothing', new Uint8Array(), 'bad_magic'],
    ['three bytes', Buffer.from('UB\u0001'), 'bad_magic'],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'bad_magic'],
    ['an unknown encoding', frame('{}', 7), 'bad_encoding'],
    ['no checksum', Buffer.from([0x55, 0x42, WIRE_VERSION, PLAIN]), 'bad_checksum'],
    [
      'bytes after the sealed payload',
      Buffer.concat([frame('{}'), Buffer.from(' ')]),
      'bad_checksum',
    ],
    ['broken deflate', sealed('xx', DEFLATED), 'bad_encoding'],
    ['no payload', frame(''), 'bad_json'],
    ['half an object', frame('{"from":'), 'bad_json'],
    ['NaN', frame('{"from":NaN}'), 'bad_json'],
    ['Infinity', frame('[Infinity]'), 'bad_json'],
    ['a byte that is not UTF-8', frame(Buffer.from([0x22, 0xff, 0x22])), 'bad_json'],
    ['a number', frame('1'), 'bad_shape'],
    ['null', frame('null'), 'bad_shape'],
    ['an array', frame('[]'), 'bad_shape'],
  ];
  for (const [name, bytes, code] of refused) {
    it(`codec: ${name} is refused as ${code}`, () => assert.equal(codeOf(bytes), code));
  }

  it('codec: another wire version is reported by its number', () => {
    const decoded = decodeFrame(frame('{}', PLAIN, WIRE_VERSION + 1));
    assert.ok(!decoded.ok);
    assert.equal(decoded.code, 'wrong_version');
    assert.equal(decoded.version, WIRE_VERSION + 1);
  });

  const levels = 500_000;
  const bombs: [string, string][] = [
    ['arrays in arrays', '['.repeat(levels) + ']'.repeat(levels)],
    ['objects in objects', `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`],
    ['brackets never closed', '['.repeat(levels)],
    ['a million empty objects', `[${'{},'.repeat(levels)}{}]`],
  ];
  for (const [name, json] of bombs) {
    it(`codec: ${name} are refused before they are parsed`, () => {
      const decoded = decodeFrame(frame(json, DEFLATED));
      assert.ok(!decoded.ok);
      assert.equal(decoded.code, 'bad_json');
      assert.match(decoded.detail, /nested/);
    });
  }

  it('codec: brackets and quotes within strings do not count as nesting', () => {
    const encoded = encodeEnvelope(heartbeatLike({ text: '[{"\\'.repeat(5000) }));
    assert.ok(encoded.ok);
    assert.equal(codeOf(encoded.frame), 'ok');
  });

  it('codec: random bytes never throw and never become a message', () => {
    const header = fc.constantFrom(
      [],
      [0x55, 0x42, WIRE_VERSION, PLAIN],
      [0x55, 0x42, WIRE_VERSION, DEFLATED],
    );
    const property = fc.property(header, fc.uint8Array({ maxLength: 600 }), (head, bytes) => {
      assert.notEqual(codeOf(Buffer.concat([Buffer.from(head), bytes])), 'ok');
      assert.notEqual(codeOf(frame(bytes)), 'ok');
    });
    fc.assert(property, { numRuns: 2000 });
  });

  it('codec: random JSON never throws and never becomes a message', () => {
    const property = fc.property(fc.json(), (json) => {
      assert.notEqual(codeOf(frame(json)), 'ok');
    });
    fc.assert(property, { numRuns: 1000 });
  });

  it('codec: a frame with a flipped bit is never accepted', () => {
    const encoded = encodeEnvelope(heartbeatLike({ text: 'abc'.repeat(2000) }));
    assert.ok(encoded.ok);
    for (let bit = 0; bit < encoded.frame.length * 8; bit += 1) {
      const bytes = Uint8Array.from(encoded.frame);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.notEqual(codeOf(bytes), 'ok');
    }
  });
});

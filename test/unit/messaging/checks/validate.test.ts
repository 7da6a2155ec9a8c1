import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { MessageType } from '../../../../agent/core/protocol/messages.ts';
import {
  CAPACITY_MAX,
  HOPS_MAX,
  HOST_CHARS_MAX,
  HOSTS_MAX,
  ID_CHARS_MAX,
  KNOWN_CHARS_MAX,
  MEMBERS_MAX,
  ROBOTS_CHARS_MAX,
  URL_CHARS_MAX,
  URLS_MAX,
} from '../../../../agent/messaging/checks/limits.ts';
import { validateEnvelope } from '../../../../agent/messaging/checks/validate.ts';
import { ROBOTS_BYTES_MAX } from '../../../../agent/robots/robots-txt.ts';
import { anyEnvelope, plainTypes } from '../arbitrary-messages.ts';

type Json = Record<string, unknown>;

/** The length of the largest robots.txt that is read, in base64. */
const LARGEST_CHARS = 4 * Math.ceil(ROBOTS_BYTES_MAX / 3);

const from = { id: 'a1', inc: 10 };
const to = { id: 'a2', inc: 20 };
const card = { id: 'a3', inc: 30, capacity: 1, address: 'tcp://127.0.0.1:7103' };
const news = { ...card, counter: 5, joined: true, direct: true };
const heartbeat: Json = {
  type: 'HEARTBEAT',
  counter: 1,
  joined: true,
  capacity: 1,
  address: 'tcp://127.0.0.1:7101',
  fingerprintHash: 'f00d',
  news: [news],
  gone: [from],
  suspects: [],
  idle: false,
  idleSince: 0,
  viewHash: 'beef',
  gen: 0,
  orders: '',
};
const known = (hashes: string): Json => ({ type: 'KNOWN', key: 7, urls: hashes });
const urls = (items: unknown): Json => ({ type: 'URLS', batch: 7, urls: items });
const url = { url: 'http://h.test/', depth: 0 };

const ends = { origin: 'http://h.test', asker: 'https://g.test:8443' };
const robotsAsk: Json = { type: 'ROBOTS_ASK', ...ends, waitedMs: 0 };
const treeTold = {
  ...{ type: 'TREE_TOLD', key: '0'.repeat(40), length: 1 },
  ...{ idle: true, wave: '', sum: '0'.repeat(16) },
};
const robotsReported: Json = {
  ...{ type: 'ROBOTS_TOLD', ...ends, answer: 'rules', reason: '', body: null, to: null, hops: 0 },
};

function detailOf(message: unknown, ends: Json = { from, to }): string {
  const checked = validateEnvelope(JSON.parse(JSON.stringify({ ...ends, message })));
  return checked.ok ? 'ok' : checked.detail;
}

describe('validate: bounds', () => {
  const cases: [string, unknown, RegExp][] = [
    ['a heartbeat', heartbeat, /^ok$/],
    ['known URLs', known('AAECAwQFBgc='), /^ok$/],
    ['known URLs of the maximum length', known('A'.repeat(KNOWN_CHARS_MAX)), /^ok$/],
    ['known URLs, too many', known('A'.repeat(KNOWN_CHARS_MAX + 4)), /\.urls/],
    ['known URLs, not base64', known('AAEC!'), /\.urls.*base64/],
    [
      'a host of the maximum length',
      {
        type: 'LIST',
        list: 0,
        part: 0,
        hosts: ['h'.repeat(HOST_CHARS_MAX)],
        last: true,
        leavers: [],
      },
      /^ok$/,
    ],
    [
      'a host too long',
      {
        type: 'LIST',
        list: 0,
        part: 0,
        hosts: ['h'.repeat(HOST_CHARS_MAX + 1)],
        last: true,
        leavers: [],
      },
      /hosts\[0\]: longer/,
    ],
    [
      'an empty host',
      { type: 'LIST', list: 0, part: 0, hosts: [''], last: true, leavers: [] },
      /empty/,
    ],
    [
      'too many hosts',
      {
        type: 'LIST',
        list: 0,
        part: 0,
        hosts: Array(HOSTS_MAX + 1).fill('h'),
        last: true,
        leavers: [],
      },
      /hosts: more than/,
    ],
    ['a verdict', { type: 'COMPLETE', covers: { idleSince: 3, wave: 'a1.5/2' } }, /^ok$/],
    ['the members at the end', { type: 'COMPLETE', members: ['a1', 'a2'], orders: '' }, /^ok$/],
    ['a member without a name', { type: 'COMPLETE', members: [''] }, /members\[0\]: empty/],
    [
      'a verdict without a period',
      { type: 'COMPLETE', covers: { wave: 'a1.5/2' } },
      /covers\.idleSince/,
    ],
    ['as many URLs as allowed', urls(Array(URLS_MAX).fill(url)), /^ok$/],
    ['too many URLs', urls(Array(URLS_MAX + 1).fill(url)), /urls: more than/],
    [
      'a URL too long',
      urls([url, { ...url, url: 'u'.repeat(URL_CHARS_MAX + 1) }]),
      /urls\[1\]\.url: longer/,
    ],
    ['a depth below 0', urls([{ ...url, depth: -1 }]), /depth: not a whole/],
    ['a fractional depth', urls([{ ...url, depth: 0.5 }]), /depth/],
    ['a depth beyond exact numbers', urls([{ ...url, depth: 2 ** 53 }]), /depth/],
    ['a depth that is text', urls([{ ...url, depth: '1' }]), /depth/],
    ['an optional key that is null', urls([{ ...url, referrer: null }]), /referrer/],
    ['an unknown key in a URL', urls([{ ...url, priority: 1 }]), /urls\[0\]: unknown key/],
    ['URLs that are an object', urls({ length: 1, 0: url }), /urls: not an array/],
    ['a missing field', { type: 'LIST_ACK', list: 1 }, /part: missing/],
    ['an unknown key', { type: 'LEAVE', why: 'x' }, /unknown key/],
    ['an unknown type', { type: 'ROWZ' }, /type: unknown/],
    ['a type of Object.prototype', { type: 'constructor' }, /type: unknown/],
    ['no type', {}, /type: unknown/],
    ['a message that is text', 'LEAVE', /not an object/],
    ['too many members', { ...heartbeat, news: Array(MEMBERS_MAX + 1).fill(news) }, /news: more/],
    ['a capacity below 0', { ...heartbeat, capacity: -1 }, /capacity/],
    [
      'a capacity that would fill the ring',
      { ...heartbeat, capacity: CAPACITY_MAX + 1 },
      /capacity/,
    ],
    ['an address that is not an endpoint', { ...heartbeat, address: 'http://h/' }, /address/],
    ['an address that binds its source', { ...heartbeat, address: 'tcp://a:1;b:2' }, /address/],
    ['an unknown verb', { type: 'CONTROL', request: 1, verb: 'format', args: [] }, /verb/],
    [
      'a wait that is negative',
      { type: 'YIELD', list: 1, items: [{ host: 'h', waitMs: -1 }] },
      /waitMs/,
    ],
    [
      'an index beyond a batch',
      { type: 'URLS_ACK', batch: 1, notMine: [URLS_MAX] },
      /notMine\[0\]/,
    ],
    ['a request for robots.txt', robotsAsk, /^ok$/],
    ['a request with a path', { ...robotsAsk, origin: 'http://h.test/x' }, /origin: not an origin/],
    ['a request with an unknown scheme', { ...robotsAsk, asker: 'file://h.test' }, /asker: not/],
    [
      'a request with a host too long',
      { ...robotsAsk, origin: `http://${'h'.repeat(400)}` },
      /longer/,
    ],
    ['the largest robots.txt', { ...robotsReported, body: 'x'.repeat(LARGEST_CHARS) }, /^ok$/],
    [
      'a robots.txt too large',
      { ...robotsReported, body: 'x'.repeat(ROBOTS_CHARS_MAX + 1) },
      /longer/,
    ],
    ['an unknown answer', { ...robotsReported, answer: 'perhaps' }, /answer: unknown/],
    ['hops below 0', { ...robotsReported, hops: -1 }, /hops: not a whole/],
    ['a chain that is too long', { ...robotsReported, hops: HOPS_MAX + 1 }, /hops: not a whole/],
    ['too many pages', { ...treeTold, pages: 2 ** 40 + 1 }, /pages: not a whole/],
    ['too many pages before', { ...treeTold, base: -(2 ** 40) - 1 }, /base: too large/],
    ['as many pages', { ...treeTold, pages: 2 ** 40, base: -(2 ** 40) }, /^ok$/],
    ['no result', { type: 'CONTROL_ACK', request: 1, ok: true }, /result: missing/],
  ];
  for (const [name, message, wanted] of cases) {
    it(`validate: ${name} gives ${wanted.source}`, () => assert.match(detailOf(message), wanted));
  }

  it('validate: results nested too deep are refused', () => {
    let result: unknown = 1;
    for (let level = 0; level < 40; level += 1) result = [result];
    assert.match(detailOf({ type: 'CONTROL_ACK', request: 1, ok: true, result }), /too deep/);
  });
});

describe('validate: ends', () => {
  const leave = { type: 'LEAVE' };
  const control = { type: 'CONTROL', request: 1, verb: 'status', args: [] };
  const nobody = { id: '', inc: 0 };
  const ping = {
    type: 'PING',
    capacity: 1,
    address: 'tcp://h:1',
    fingerprintHash: 'f',
    answer: false,
  };
  const cases: [string, unknown, Json, RegExp][] = [
    [
      'an identifier too long',
      leave,
      { from: { id: 'x'.repeat(ID_CHARS_MAX + 1), inc: 1 }, to },
      /longer/,
    ],
    ['an identifier with a line break', leave, { from: { id: 'a\nb', inc: 1 }, to }, /identifier/],
    ['an identifier that is a number', leave, { from: { id: 1, inc: 1 }, to }, /from\.id/],
    ['toString as identifier', leave, { from: { id: 'toString', inc: 1 }, to }, /^ok$/],
    ['no receiver', leave, { from }, /to: not an object/],
    ['a key beside the message', leave, { from, to, by: 'x' }, /unknown key/],
    [
      'an anonymous sender with another message than a command',
      leave,
      { from: nobody, to },
      /from\.id: empty/,
    ],
    ['a PING to an unknown agent', ping, { from, to: nobody }, /^ok$/],
    ['another message to an unknown agent', leave, { from, to: nobody }, /to\.id: empty/],
    ['a PING of an anonymous sender', ping, { from: nobody, to }, /from\.id: empty/],
    ['a command of an anonymous sender', control, { from: nobody, to: nobody }, /^ok$/],
    ['an anonymous sender with an incarnation', control, { from: { id: '', inc: 5 }, to }, /from/],
    [
      'an answer to an anonymous sender',
      { type: 'CONTROL_ACK', request: 1, ok: true, result: null },
      { from, to: nobody },
      /^ok$/,
    ],
  ];
  for (const [name, message, ends, wanted] of cases) {
    it(`validate: ${name} gives ${wanted.source}`, () => {
      assert.match(detailOf(message, ends), wanted);
    });
  }

  it('validate: the largest integer is refused as an incarnation', () => {
    const inc = Number.MAX_SAFE_INTEGER;
    assert.match(detailOf(leave, { from: { id: 'a1', inc }, to }), /from\.inc/);
    assert.match(detailOf({ ...heartbeat, news: [{ ...news, inc }] }), /news\[0\]\.inc/);
    assert.match(detailOf({ ...heartbeat, gone: [{ id: 'a3', inc }] }), /gone\[0\]\.inc/);
  });

  it('validate: an incarnation above the maximum is accepted once the maximum has advanced', () => {
    const envelope = (inc: number) => ({ from: { id: 'a1', inc }, to, message: leave });
    assert.ok(validateEnvelope(envelope(1000), 1000).ok);
    assert.ok(!validateEnvelope(envelope(1001), 1000).ok);
    assert.ok(validateEnvelope(envelope(1001), 1001).ok);
  });
});

describe('validate: relays', () => {
  const inner = { from: { id: 'o', inc: 1 }, to: { id: 'd', inc: 2 }, message: { type: 'LEAVE' } };

  it('validate: a relay names the sender and receiver of its content', () => {
    const relay = { type: 'RELAY', origin: 'o', to: 'd', envelope: inner };
    assert.equal(detailOf(relay), 'ok');
    assert.match(detailOf({ ...relay, origin: 'x' }), /other ends/);
    assert.match(detailOf({ ...relay, to: 'x' }), /other ends/);
    const sender = { capacity: 1, address: 'tcp://10.0.0.5:1' };
    assert.equal(detailOf({ ...relay, sender }), 'ok');
    assert.match(detailOf({ ...relay, sender: { capacity: 1 } }), /sender/);
  });

  it('validate: a relay within a relay is refused', () => {
    const once = { ...inner, message: { type: 'RELAY', origin: 'o', to: 'd', envelope: inner } };
    assert.match(detailOf({ type: 'RELAY', origin: 'o', to: 'd', envelope: once }), /within/);
  });

  it('validate: the content of a relay is validated', () => {
    const envelope = { ...inner, message: { type: 'LEAVE', x: 1 } };
    assert.match(detailOf({ type: 'RELAY', origin: 'o', to: 'd', envelope }), /unknown key/);
  });
});

describe('validate: refused batches', () => {
  it('validate: an invalid batch with a readable number and sender can be answered', () => {
    const checked = validateEnvelope({ from, to, message: urls([{ ...url, depth: -1 }]) });
    assert.ok(!checked.ok);
    assert.deepEqual({ ...checked, detail: '' }, { ok: false, detail: '', from, to, batch: 7 });
  });

  it('validate: a batch without a readable number or sender cannot be answered', () => {
    const noNumber = validateEnvelope({ from, to, message: { ...urls([1]), batch: -1 } });
    const noSender = validateEnvelope({ from: { id: 5 }, to, message: urls([1]) });
    assert.ok(!noNumber.ok && !noSender.ok);
    assert.equal(noNumber.batch, undefined);
    assert.equal(noSender.batch, undefined);
  });

  it('validate: only batches have a batch number', () => {
    const checked = validateEnvelope({ from, to, message: { type: 'URLS_ACK', batch: 7, x: 1 } });
    assert.ok(!checked.ok);
    assert.equal(checked.batch, undefined);
  });
});

describe('validate: prototypes', () => {
  it('validate: __proto__ and constructor keys are unknown keys and pollute nothing', () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      const json = `{"from":{"id":"a1","inc":1},"to":{"id":"a2","inc":1},
        "message":{"type":"LEAVE","${key}":{"polluted":1}}}`;
      assert.ok(!validateEnvelope(JSON.parse(json)).ok);
    }
    assert.equal(({} as Json).polluted, undefined);
  });

  it('validate: a field that only a __proto__ key supplies is missing', () => {
    const json = `{"from":{"id":"a1","inc":1},"to":{"id":"a2","inc":1},
      "message":{"type":"LIST_ACK","list":1,"__proto__":{"part":1}}}`;
    assert.ok(!validateEnvelope(JSON.parse(json)).ok);
  });
});

describe('validate: every type', () => {
  const types: MessageType[] = [...plainTypes, 'RELAY'];
  for (const type of types) {
    it(`validate: a ${type} with a missing or additional field is refused`, () => {
      const property = fc.property(anyEnvelope(type), fc.nat(), (envelope, pick) => {
        const keys = Object.keys(envelope.message);
        const { [keys[pick % keys.length] ?? '']: _, ...less } = { ...envelope.message } as Json;
        assert.ok(!validateEnvelope({ ...envelope, message: less }).ok);
        const more = { ...envelope.message, extra: 1 };
        assert.ok(!validateEnvelope({ ...envelope, message: more }).ok);
      });
      fc.assert(property, { numRuns: 30 });
    });
  }
});

// Creates a certificate for any list of IPv4 addresses: a crawl over TLS uses dozens of loopback
// addresses, and the certificate must name each. It is self-signed and its own authority, so
// clients must be given it to trust. It is encoded in DER here, because Node.js reads certificates
// but cannot create them.
import { generateKeyPairSync, sign } from 'node:crypto';

export interface Credentials {
  /** PEM. Clients must trust it. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

/** Each takes some 7 bytes, and clients read at most 100 KiB of certificates. */
const addressesMax = 10_000;

const tag = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, time: 0x18 };
const sequenceTag = 0x30;
const setTag = 0x31;
/** Context-specific tags: version, extensions, and an address among the names of a subject. */
const context = { version: 0xa0, extensions: 0xa3, address: 0x87 };

/** Encoded identifiers of RFC 5480 and RFC 5280. */
const oid = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
};

/** Throws a RangeError for more addresses than a client would read. */
export function credentialsFor(addresses: readonly string[]): Credentials {
  if (addresses.length > addressesMax) throw new RangeError(`at most ${addressesMax} addresses`);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(der(tag.oid, hex(oid.ecdsaWithSha256)));
  const attribute = sequence(
    der(tag.oid, hex(oid.commonName)),
    der(tag.utf8, Buffer.from('synthetic web')),
  );
  const name = sequence(der(setTag, attribute));
  const body = sequence(
    der(context.version, der(tag.integer, hex('02'))),
    der(tag.integer, hex('01')),
    algorithm,
    name,
    // A validity period that holds on any machine with a correct clock.
    sequence(time('20200101000000Z'), time('21200101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(context.extensions, sequence(authority(), namesOf(addresses))),
  );
  const signature = der(tag.bits, hex('00'), sign('sha256', body, privateKey));
  const whole = sequence(body, algorithm, signature);
  const lines = whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/** `CA:TRUE`, in DER. */
function authority(): Buffer {
  const isAuthority = sequence(hex('0101ff'));
  return sequence(der(tag.oid, hex(oid.basicConstraints)), der(tag.octets, isAuthority));
}

function namesOf(addresses: readonly string[]): Buffer {
  const names = addresses.map((address) => {
    return der(context.address, Buffer.from(address.split('.').map(Number)));
  });
  return sequence(der(tag.oid, hex(oid.subjectAltName)), der(tag.octets, sequence(...names)));
}

function time(text: string): Buffer {
  return der(tag.time, Buffer.from(text));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(sequenceTag, ...parts);
}

/** Tag, length and content (X.690, section 8.1). */
function der(tagByte: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tagByte, length]), content]);
  const bytes = hex(
    length.toString(16).padStart(2 * Math.ceil(length.toString(16).length / 2), '0'),
  );
  return Buffer.concat([Buffer.from([tagByte, 0x80 | bytes.length]), bytes, content]);
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

import { credentialKinds, type CredentialKind } from '../../domain/credentials.ts'
import type { Random } from './random.ts'

/** The values that a history uses: few of each, so that calls meet. */
export interface Pools {
  readonly clientIds: readonly string[]
  readonly resellerIds: readonly string[]
  readonly subjects: readonly string[]
  readonly codes: readonly Uint8Array[]
  readonly secrets: readonly Uint8Array[]
  readonly credentialIds: readonly string[]
  readonly licenseKeys: readonly string[]
  readonly idempotencyKeys: readonly Uint8Array[]
  readonly times: readonly number[]
  readonly kinds: readonly CredentialKind[]
}

const long = 'x'.repeat(254)

/** Identifiers that some software has mistaken for one another before. */
export const identifiers: readonly string[] = [
  'a',
  'A',
  'a ',
  ' a',
  'a_',
  'a%',
  "a'",
  'a\\',
  'a:',
  '0',
  '00',
  '1e1',
  '10',
  `${long}y`,
  `${long}z`,
]
const licenseKeys = [
  'LIC-a',
  'LIC-A',
  'LIC-a ',
  ' LIC-a',
  'LIC-\u00e4',
  'LIC-a\u0308',
  'LIC-\u00df',
  'LIC-ss',
  'LIC-%',
  'LIC-',
  'LIC-\u{1F600}',
  'LIC-\u{1F601}',
  `LIC-${'k'.repeat(123)}1`,
  `LIC-${'k'.repeat(123)}2`,
]
export const texts: readonly string[] = [
  '',
  ' ',
  'a',
  'A',
  'a ',
  '\ta',
  '\u00e9',
  'e\u0301',
  '0',
  '1e3',
  'null',
  "O'Brien\\",
  '\u{1F600}'.repeat(255),
]
const times = [0, 1, 2, 999, 1000, 1001, 2 ** 31, 2 ** 32 + 1, 1_800_000_000_123, 2 ** 53 - 2, 2 ** 53 - 1]
export const scopes: readonly string[] = ['', 'dns:check', 'a b', 'A B', 's'.repeat(1024)]
export const uris: readonly string[] = [
  'https://app.example/',
  'https://app.example',
  `https://app.example/${'p'.repeat(2028)}`,
]
const awkward = [0x00, 0xff, 0x27, 0x5c, 0x0a, 0x1a, 0x80, 0x25]

/** Returns hashes of this seed's own, each of which differs from a common base in its first or last octet. */
function hashes(random: Random, count: number): Uint8Array[] {
  const base = Uint8Array.from({ length: 32 }, () =>
    random.chance(40) ? random.pick(awkward) : random.integer(256),
  )
  return Array.from({ length: count }, (_, index) => {
    const hash = Uint8Array.from(base)
    const position = random.pick([0, 31])
    hash[position] = (hash[position] ?? 0) + index
    return hash
  })
}

export function makePools(random: Random): Pools {
  return {
    clientIds: random.some(identifiers, 4),
    resellerIds: random.some(identifiers, 4),
    subjects: random.some(identifiers, 3),
    codes: hashes(random, 60),
    secrets: hashes(random, 60),
    credentialIds: random
      .some(identifiers, 6)
      .flatMap((id) => Array.from({ length: 8 }, (_, index) => `${index}${id.slice(-250)}`)),
    licenseKeys: random.some(licenseKeys, 7),
    idempotencyKeys: hashes(random, 4),
    times: random.some(times, 6),
    kinds: credentialKinds,
  }
}

/** Returns values that no earlier burst had. */
export function makeBurstPools(random: Random): Pools {
  const own = random.integer(2 ** 31)
  const some = (count: number): string[] =>
    random.some(identifiers, count).map((each) => `${each.slice(-200)}${own}`)
  return {
    clientIds: some(1),
    resellerIds: some(2),
    subjects: some(1),
    codes: hashes(random, 2),
    secrets: hashes(random, 3),
    credentialIds: some(3),
    licenseKeys: random.some(licenseKeys, 2).map((key) => `${key.slice(-100)}${own}`),
    idempotencyKeys: hashes(random, 1),
    times: [5, 999, 1000, 5000],
    // Only one kind, because several rows with one hash are revoked one by one, in no promised order.
    kinds: [random.pick(['access_token', 'api_key'])],
  }
}

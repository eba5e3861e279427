import { pick, type Random } from './random.ts'

/** Octets that end, begin, escape or count something in one of the formats. */
const meaningful: Buffer = Buffer.from(
  '000109 0a0d20 222325 262b2c 2d2e2f 30393a 3c3d3f 415a5b 5c5d5f 7b7d7f 80bfc0 c3e2f0 fafeff'.replaceAll(
    ' ',
    '',
  ),
  'hex',
)
const longest = 8192

type Mutation = (bytes: Buffer, random: Random, corpus: readonly Buffer[]) => Buffer

const mutations: readonly Mutation[] = [
  (bytes, random) => withOctet(bytes, random, (octet) => octet ^ (1 << random(8))),
  (bytes, random) => withOctet(bytes, random, () => random(256)),
  (bytes, random) => withOctet(bytes, random, () => pick(random, [...meaningful])),
  (bytes, random) => withOctet(bytes, random, (octet) => octet + random(9) - 4),
  (bytes, random) => insert(bytes, random, Buffer.of(pick(random, [...meaningful]))),
  (bytes, random) => insert(bytes, random, Buffer.alloc(random(300), random(256))),
  // Twice the same, or the same elsewhere.
  (bytes, random) => insert(bytes, random, slice(bytes, random)),
  (bytes, random, corpus) => insert(bytes, random, slice(pick(random, corpus), random)),
  (bytes, random) => bytes.subarray(0, random(bytes.length + 1)),
  (bytes, random) => {
    const start = random(bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + random(8))])
  },
]

/** One of the corpus with one to eight things changed; now and then as it is. */
export function mutated(random: Random, corpus: readonly Buffer[]): Buffer {
  let bytes = Buffer.from(pick(random, corpus))
  for (let left = random(9); left > 0; left -= 1) {
    bytes = Buffer.from(pick(random, mutations)(bytes, random, corpus).subarray(0, longest))
  }
  return bytes
}

function withOctet(bytes: Buffer, random: Random, change: (octet: number) => number): Buffer {
  const at = random(bytes.length)
  if (at < bytes.length) bytes[at] = change(bytes[at] ?? 0)
  return bytes
}

function insert(bytes: Buffer, random: Random, part: Buffer): Buffer {
  const at = random(bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)])
}

function slice(bytes: Buffer, random: Random): Buffer {
  const start = random(bytes.length + 1)
  return bytes.subarray(start, start + random(64))
}

/** The same bytes in pieces, cut anywhere. */
export function cut(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const size = 1 + random(random(4) === 0 ? bytes.length : 9)
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

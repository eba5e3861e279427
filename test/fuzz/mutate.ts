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
/** What every object has, although nobody sent it. */
export const inherited: readonly string[] = Object.getOwnPropertyNames(Object.prototype)

type Mutation = (bytes: Buffer, random: Random, corpus: readonly Buffer[]) => Buffer

const mutations: readonly Mutation[] = [
  (bytes, random) => withOctet(bytes, random, (octet) => octet ^ (1 << random(8))),
  (bytes, random) => withOctet(bytes, random, () => random(256)),
  (bytes, random) => withOctet(bytes, random, () => pick(random, [...meaningful])),
  (bytes, random) => withOctet(bytes, random, (octet) => octet + random(9) - 4),
  (bytes, random) => insert(bytes, random, Buffer.of(pick(random, [...meaningful]))),
  (bytes, random) => insert(bytes, random, Buffer.alloc(random(pick(random, [9, 300, 5000])), random(256))),
  (bytes, random) => {
    const start = random(bytes.length + 1)
    const part = bytes.subarray(start, start + random(pick(random, [4, 64])))
    const more = Array<Buffer>(1 + random(pick(random, [1, 40]))).fill(part)
    return Buffer.concat([bytes.subarray(0, start), ...more, bytes.subarray(start)])
  },
  (bytes, random, corpus) => insert(bytes, random, slice(pick(random, corpus), random)),
  (bytes, random) => withWord(bytes, random, pick(random, inherited)),
  (bytes, random) => bytes.subarray(0, random(bytes.length + 1)),
  (bytes, random) => {
    const start = random(bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + random(8))])
  },
]

/** What was compared with each other lately, and texts that the parsers know: an input with them may get further. */
export interface Operands {
  readonly pairs: (readonly [number, number] | readonly [string, string] | undefined)[]
  readonly literals: string[]
}

/** An input with up to eight things changed; now and then as it is. */
export function mutated(random: Random, input: Buffer, corpus: readonly Buffer[], known?: Operands): Buffer {
  let bytes = Buffer.from(input)
  for (let left = random(9); left > 0; left -= 1) {
    const next =
      known === undefined || random(4) > 0
        ? pick(random, mutations)(bytes, random, corpus)
        : withOperand(bytes, random, known)
    bytes = Buffer.from(next.subarray(0, longest))
  }
  return bytes
}

/** One operand in place of the other, wherever that comes from; or a known text anywhere, or in place of a word. */
function withOperand(bytes: Buffer, random: Random, { pairs, literals }: Operands): Buffer {
  const pair = pick(random, pairs)
  if (pair === undefined || random(4) === 0) {
    const known = pick(random, literals) ?? ''
    return random(2) === 0 ? insert(bytes, random, Buffer.from(known)) : withWord(bytes, random, known)
  }
  const inDecimal = random(2) === 0
  const [one, other] = pair.map((each) => octetsOf(each, inDecimal)) as [Buffer, Buffer]
  const at = bytes.indexOf(one, random(bytes.length + 1))
  if (at < 0) return insert(bytes, random, other)
  return Buffer.concat([bytes.subarray(0, at), other, bytes.subarray(at + one.length)])
}

function octetsOf(operand: number | string, inDecimal: boolean): Buffer {
  if (typeof operand === 'string' || inDecimal) return Buffer.from(String(operand))
  return operand > 0xff ? Buffer.of(operand >> 8, operand) : Buffer.of(operand)
}

function withOctet(bytes: Buffer, random: Random, change: (octet: number) => number): Buffer {
  const at = random(bytes.length)
  if (at < bytes.length) bytes[at] = change(bytes[at] ?? 0)
  return bytes
}

function withWord(bytes: Buffer, random: Random, word: string): Buffer {
  const next = random(2) === 0 ? /\b\w+|$/g : /[^\s"&=:,;/?]+|$/g
  next.lastIndex = random(bytes.length + 1)
  const { 0: old, index } = next.exec(bytes.toString('latin1')) as RegExpExecArray
  return Buffer.concat([bytes.subarray(0, index), Buffer.from(word), bytes.subarray(index + old.length)])
}

function insert(bytes: Buffer, random: Random, part: Buffer): Buffer {
  const at = random(4) === 0 ? bytes.length : random(bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)])
}

function slice(bytes: Buffer, random: Random): Buffer {
  const start = random(bytes.length + 1)
  return bytes.subarray(start, start + random(pick(random, [4, 64])))
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

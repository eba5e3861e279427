/** Alters statements as somebody would who has no key: octets of any part, whole claims, headers and signatures. */
export interface Mutants {
  /** Returns a statement whose signing input or decoded signature is another than the original's. */
  next(): string
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * @param statement - the one to alter
 * @param others - genuine statements of the same key, whose parts are tried in its place
 */
export function mutantsOf(statement: string, others: readonly string[], seed = 1): Mutants {
  const random = randomBelow(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!
  const [header = '', payload = '', signature = ''] = statement.split('.')
  const genuine = new Set([statement, ...others].map(meaning))
  const headers = [{ alg: 'none' }, { alg: 'HS256' }, { typ: 'JWT' }, { kid: 'x' }, { crit: ['exp'] }]
  const claims = [
    { status: 'valid' },
    { exp: 4_102_444_800 },
    { domain_or_ip: 'thief.example' },
    { sub: 'LIC-' },
  ]
  const zeros = 'A'.repeat(signature.length)
  const ways: (() => string)[] = [
    () => withOther(statement, random(statement.length), pick([...alphabet, '.', '=', '+', ' '])),
    () => withOther(statement, statement.length - 1 - random(signature.length), pick([...alphabet])),
    () => bitFlipped(statement, random),
    () => statement.slice(0, random(statement.length)),
    () => inserted(statement, random(statement.length + 1), pick([...alphabet, '.', '=', '\n'])),
    () => inserted(statement, random(statement.length + 1), ''.padEnd(1 + random(3), '=')),
    () => [header, payload, pick(others).split('.')[2]].join('.'),
    () => [header, pick(others).split('.')[1], signature].join('.'),
    () => [encoded(header, pick(headers)), payload, pick([signature, '', zeros])].join('.'),
    () => [header, encoded(payload, pick(claims)), pick([signature, '', zeros])].join('.'),
    () => [header, encoded(payload, { jti: random(1_000_000_000) }), signature].join('.'),
  ]
  return {
    next() {
      for (;;) {
        const mutant = pick(ways)()
        if (!genuine.has(meaning(mutant))) return mutant
      }
    },
  }
}

/**
 * What a signature covers, and the signature's octets. Base64url has several texts for the same octets, and some decoders
 * take the other alphabet or leave out what is in neither.
 */
function meaning(text: string): string {
  const end = text.lastIndexOf('.')
  const signature = text
    .slice(end + 1)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll(/[^\w-]/g, '')
  return `${text.slice(0, end)}.${Buffer.from(signature, 'base64url').toString('hex')}`
}

function withOther(text: string, index: number, character: string): string {
  return text.slice(0, index) + character + text.slice(index + 1)
}

function inserted(text: string, index: number, characters: string): string {
  return text.slice(0, index) + characters + text.slice(index)
}

/** Flips one bit of one decoded part, which changes one or two characters. */
function bitFlipped(statement: string, random: (below: number) => number): string {
  const parts = statement.split('.')
  const index = random(parts.length)
  const octets = Buffer.from(parts[index] ?? '', 'base64url')
  const at = random(octets.length)
  octets[at] = (octets[at] ?? 0) ^ (1 << random(8))
  return parts.with(index, octets.toString('base64url')).join('.')
}

function encoded(part: string, changes: object): string {
  const members = JSON.parse(Buffer.from(part, 'base64url').toString()) as object
  return Buffer.from(JSON.stringify({ ...members, ...changes })).toString('base64url')
}

/** Numbers that are the same for the same seed (mulberry32). */
function randomBelow(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

import type { RecordType } from '../../../src/domain/dns-record.ts'
import { typeNumbers } from '../../../src/dns/wire/constants.ts'
import { dig } from '../support/nsd.ts'

/** A record as dig prints it: owner, TTL, and its data in octets. */
export interface DigRecord {
  readonly owner: string
  readonly ttl: number
  readonly type: number
  readonly hex: string
}

/** What dig says of an answer. */
export interface DigAnswer {
  readonly status: string
  readonly flags: ReadonlySet<string>
  readonly answer: readonly DigRecord[]
  readonly authority: readonly DigRecord[]
  /** The codes of extended errors. */
  readonly ede: readonly number[]
  readonly overTcp: boolean
}

const options = [
  '+noall',
  '+answer',
  '+authority',
  '+comments',
  '+stats',
  '+unknownformat',
  '+nosplit',
  '+onesoa',
  '+noidnin',
  '+noidnout',
  '+nocookie',
  '+time=2',
  '+tries=2',
]
const recordLine = /^(\S+)\s+(\d+)\s+CLASS1\s+TYPE(\d+)\s+\\#\s+\d+\s*([0-9A-F ]*)$/

/** Asks as our client does: with EDNS, and without where that is a format error. */
export async function askDig(
  { ip, port }: { readonly ip: string; readonly port: number },
  name: string,
  type: RecordType,
  edns = '+bufsize=1232',
): Promise<DigAnswer> {
  const args = [...options, edns, '-q', name, '-t', `TYPE${typeNumbers[type]}`]
  // It fails if there is no answer.
  const { stdout } = await dig(ip, port, args).catch((error: { stdout: string }) => error)
  const answer = parse(stdout)
  return answer.status === 'FORMERR' && edns !== '+noedns'
    ? askDig({ ip, port }, name, type, '+noedns')
    : answer
}

function parse(text: string): DigAnswer {
  const sections: Record<'ANSWER' | 'AUTHORITY', DigRecord[]> = { ANSWER: [], AUTHORITY: [] }
  let section: keyof typeof sections = 'ANSWER'
  for (const line of text.split('\n')) {
    const [, begins] = /^;; (ANSWER|AUTHORITY) SECTION:/.exec(line) ?? []
    if (begins === 'ANSWER' || begins === 'AUTHORITY') section = begins
    if (line === '' || line.startsWith(';')) continue
    const [, owner, ttl, type, hex] = recordLine.exec(line) ?? []
    if (owner === undefined) throw new Error(`dig said: ${line}`)
    const data = (hex ?? '').replaceAll(' ', '')
    sections[section].push({ owner: wireName(owner), ttl: Number(ttl), type: Number(type), hex: data })
  }
  const [, status] = /status: (\w+)/.exec(text) ?? []
  const [, flags = ''] = /^;; flags: ([a-z ]*);/m.exec(text) ?? []
  return {
    status: status ?? 'TIMEOUT',
    flags: new Set(flags.split(' ')),
    answer: sections.ANSWER,
    authority: sections.AUTHORITY,
    ede: [...text.matchAll(/^; EDE: (\d+)/gm)].map(([, code]) => Number(code)),
    overTcp: /^;; SERVER: .*\(TCP\)$/m.test(text),
  }
}

/** The octets of a name, in lower case and as hexadecimal digits, from presentation form with or without a final dot. */
export function wireName(text: string): string {
  const octets: number[] = []
  let label: number[] = []
  for (const [, decimal, escaped, plain] of text.matchAll(/\\(\d{3})|\\(.)|(.)/gs)) {
    if (plain === '.') {
      if (label.length > 0) octets.push(label.length, ...label)
      label = []
    } else label.push(decimal === undefined ? (escaped ?? plain ?? '').charCodeAt(0) : Number(decimal))
  }
  if (label.length > 0) octets.push(label.length, ...label)
  const whole = Buffer.from([...octets, 0]).toString('latin1')
  return Buffer.from(
    whole.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    'latin1',
  ).toString('hex')
}

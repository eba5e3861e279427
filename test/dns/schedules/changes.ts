import type { DnsRecord, RecordType } from '../../../src/domain/dns-record.ts'
import type { Apex, ChangingZone } from './changing-zone.ts'

/** A change of one name, and what to expect of it. */
export interface Change {
  readonly kind: string
  /** The name that is checked. */
  readonly name: string
  readonly type: RecordType
  readonly expected: readonly string[]
  /** The longest time for which the old contents may be kept, in seconds. */
  readonly ttl: number
  /**
   * Whether that time is all that decides, and whoever was told of the change says so. Of an alias and its target only one
   * has changed, and a resolver may be told of the new one while it keeps the old.
   */
  readonly isExact: boolean
  /** The name whose records change. */
  readonly changedName: string
  before(zone: ChangingZone): void
  make(zone: ChangingZone): void
}

type Maker = (name: string, ttl: number, negativeTtl: number) => Omit<Change, 'kind' | 'name'>

const a = (host: string, ttl: number, last: number): DnsRecord => ({
  type: 'A',
  host,
  ttl,
  ip: `192.0.2.${last}`,
})
const text = (host: string, ttl: number, txt: string): DnsRecord => ({
  type: 'TXT',
  host,
  ttl,
  txt,
  entries: [txt],
})
const mail = (host: string, ttl: number, target: string): DnsRecord => ({
  type: 'MX',
  host,
  ttl,
  pri: 10,
  target,
})

/** A change of what the name itself has; null is a name that does not exist. */
function own(
  type: RecordType,
  expected: readonly string[],
  old: (name: string, ttl: number) => readonly DnsRecord[] | null,
  changed: (name: string, ttl: number) => readonly DnsRecord[] | null,
): Maker {
  return (name, ttl, negativeTtl) => ({
    type,
    expected,
    ttl: old(name, ttl)?.some((record) => record.type === type) === true ? ttl : negativeTtl,
    isExact: true,
    changedName: name,
    before: (zone) => zone.set(name, old(name, ttl)),
    make: (zone) => zone.change(name, name, changed(name, ttl)),
  })
}

const other = (name: string, ttl: number): DnsRecord => text(name, ttl, 'something else')

const makers: Readonly<Record<string, Maker>> = {
  'an address moves': own(
    'A',
    ['192.0.2.80'],
    (name, ttl) => [a(name, ttl, 7)],
    (name, ttl) => [a(name, ttl, 80)],
  ),
  'one of two addresses is replaced': own(
    'A',
    ['192.0.2.80', '192.0.2.1'],
    (name, ttl) => [a(name, ttl, 1), a(name, ttl, 7)],
    (name, ttl) => [a(name, ttl, 1), a(name, ttl, 80)],
  ),
  'an address is added': own(
    'A',
    ['192.0.2.1', '192.0.2.80'],
    (name, ttl) => [a(name, ttl, 1)],
    (name, ttl) => [a(name, ttl, 1), a(name, ttl, 80)],
  ),
  'a name appears': own(
    'A',
    ['192.0.2.80'],
    () => null,
    (name, ttl) => [a(name, ttl, 80)],
  ),
  'a type appears': own(
    'A',
    ['192.0.2.80'],
    (name, ttl) => [other(name, ttl)],
    (name, ttl) => [other(name, ttl), a(name, ttl, 80)],
  ),
  'a name disappears': own(
    'A',
    [],
    (name, ttl) => [a(name, ttl, 7)],
    () => null,
  ),
  'a type disappears': own(
    'A',
    [],
    (name, ttl) => [other(name, ttl), a(name, ttl, 7)],
    (name, ttl) => [other(name, ttl)],
  ),
  'a text changes': own(
    'TXT',
    ['"v=spf1 -all"'],
    (name, ttl) => [text(name, ttl, 'v=spf1 ~all')],
    (name, ttl) => [text(name, ttl, 'v=spf1 -all')],
  ),
  'mail moves': own(
    'MX',
    ['10 new.example.net'],
    (name, ttl) => [mail(name, ttl, 'old.example.net')],
    (name, ttl) => [mail(name, ttl, 'new.example.net')],
  ),
  'an alias moves': (name, ttl) => ({
    type: 'A',
    expected: ['192.0.2.80'],
    ttl,
    isExact: false,
    changedName: name,
    before(zone) {
      zone.set(`old.${name}`, [a(`old.${name}`, 1, 7)])
      zone.set(`new.${name}`, [a(`new.${name}`, 1, 80)])
      zone.set(name, [{ type: 'CNAME', host: name, ttl, target: `old.${name}` }])
    },
    make: (zone) => zone.change(name, name, [{ type: 'CNAME', host: name, ttl, target: `new.${name}` }]),
  }),
  'the target of an alias moves': (name, ttl) => ({
    type: 'A',
    expected: ['192.0.2.80'],
    ttl,
    isExact: false,
    changedName: `at.${name}`,
    before(zone) {
      zone.set(`at.${name}`, [a(`at.${name}`, ttl, 7)])
      zone.set(name, [{ type: 'CNAME', host: name, ttl: 1, target: `at.${name}` }])
    },
    make: (zone) => zone.change(`at.${name}`, `at.${name}`, [a(`at.${name}`, ttl, 80)]),
  }),
}

const negativeTtls: readonly Omit<Apex, 'name'>[] = [
  { soaTtl: 60, minimum: 1 },
  { soaTtl: 2, minimum: 60 },
  { soaTtl: 60, minimum: 3 },
  { soaTtl: 4, minimum: 4 },
]

/**
 * Returns so many changes: each kind in turn, with TTLs of 1 to 5 seconds. Each has a zone of its own, because some resolvers
 * keep one SOA record for all names of a zone, and show with each "no" how long that one is kept.
 */
export function changes(count: number): Change[] {
  const kinds = Object.entries(makers)
  return Array.from({ length: count }, (_, at) => {
    const [kind, maker] = kinds[at % kinds.length] as (typeof kinds)[number]
    const ttls = negativeTtls[
      Math.floor(at / kinds.length) % negativeTtls.length
    ] as (typeof negativeTtls)[number]
    const apex = { name: `zone${at}.example`, ...ttls }
    const name = `www.${apex.name}`
    const change = maker(name, 1 + (at % 5), Math.min(apex.soaTtl, apex.minimum))
    const before = (zone: ChangingZone): void => {
      zone.add(apex)
      change.before(zone)
    }
    return { ...change, kind, name, before }
  })
}

import type { DnsRecord } from '../../../src/domain/dns-record.ts'
import { encodeName, words } from '../../../src/testing/dns-encoding.ts'
import { fakeDnsServer, type FakeDnsQuery, type FakeDnsServer } from '../../../src/testing/dns-server.ts'
import { rawRecord, rawReply } from '../support/messages.ts'

/** The records of a name, of all types. */
export type Contents = readonly DnsRecord[]

/** A zone whose SOA record says for how long a "no" may be kept: the smaller of these two, which is sent (RFC 2308 section 3). */
export interface Apex {
  readonly name: string
  readonly soaTtl: number
  readonly minimum: number
}

/** The name above all zones. It is a zone as well, so that resolvers can be asked whether they are there. */
export const aboveAll: Apex = { name: 'example', soaTtl: 60, minimum: 60 }

/** Zones that change, and when each resolver has fetched something since. */
export class ChangingZone {
  /** By name; a name that is not there does not exist. */
  readonly #names = new Map<string, Contents>()
  readonly #apexes = new Map<string, Apex>([[aboveAll.name, aboveAll]])
  readonly #changed = new Set<string>()
  /** When each resolver was first given the new contents, by name. */
  readonly #fetched = new Map<string, Map<string, number>>()

  /** Adds a zone, two labels long. */
  add(apex: Apex): void {
    this.#apexes.set(apex.name, apex)
  }

  set(name: string, contents: Contents | null): void {
    if (contents === null) this.#names.delete(name)
    else this.#names.set(name, contents)
  }

  /** Changes what a name has. From now on, what resolvers are told is the truth that they are expected to tell. */
  change(name: string, at: string, contents: Contents | null): void {
    this.set(at, contents)
    this.#changed.add(name)
  }

  /** When each resolver was first told of the change, as `performance.now()` has it. */
  fetchedBy(name: string): ReadonlyMap<string, number> {
    return this.#fetched.get(name) ?? new Map()
  }

  /** What is known of a name now, and that a resolver was told so. */
  look(resolver: string, { name, type }: Pick<FakeDnsQuery, 'name' | 'type'>): Answer {
    const records: DnsRecord[] = []
    let host = name
    for (let hops = 0; hops < 4; hops += 1) {
      this.#note(resolver, host)
      const here = this.#names.get(host)
      const alias = here?.find((record) => record.type === 'CNAME')
      if (alias?.type !== 'CNAME' || type === 'CNAME') {
        records.push(...(here ?? []).filter((record) => record.type === type))
        const apex = this.#apexes.get(host.split('.').slice(-2).join('.'))
        return { records, exists: here !== undefined || host === apex?.name, apex }
      }
      records.push(alias)
      host = alias.target
    }
    return { records, exists: true, apex: undefined }
  }

  #note(resolver: string, name: string): void {
    if (!this.#changed.has(name)) return
    const fetched = this.#fetched.get(name) ?? new Map<string, number>()
    if (!fetched.has(resolver)) fetched.set(resolver, performance.now())
    this.#fetched.set(name, fetched)
  }
}

export interface Answer {
  readonly records: readonly DnsRecord[]
  readonly exists: boolean
  readonly apex: Apex | undefined
}

/** The server that one resolver asks, so that it is known who was told what. */
export function startZoneServer(zone: ChangingZone, resolver: string): Promise<FakeDnsServer> {
  return fakeDnsServer({ reply: (query) => encodeAnswer(query, zone.look(resolver, query)) })
}

/** Encodes an answer; one without records of the type has the zone's SOA record, with a TTL that may have been counted down. */
export function encodeAnswer(query: FakeDnsQuery, answer: Answer, negativeTtl?: number): Uint8Array {
  const { records, exists, apex } = answer
  if (apex === undefined) return query.answer({ rcode: 'REFUSED' })
  const isApex = query.name === apex.name && query.type === 'SOA'
  const soa = soaOf(apex, negativeTtl ?? Math.min(apex.soaTtl, apex.minimum))
  if (isApex) return rawReply(query, { answers: [soa] })
  if (records.some(({ type }) => type === query.type)) return query.answer({ records, rcode: 'NOERROR' })
  const nameError = exists ? 0 : 3
  return rawReply(query, {
    flags: 0x8180 | nameError,
    answers: records.map(aliasOf),
    authorities: [soa],
  })
}

function aliasOf(record: DnsRecord): Buffer {
  if (record.type !== 'CNAME') throw new TypeError('Only aliases come with a "no".')
  return rawRecord({
    owner: encodeName(record.host),
    type: 5,
    ttl: record.ttl,
    data: encodeName(record.target),
  })
}

function soaOf({ name, minimum }: Apex, ttl: number): Buffer {
  const data = Buffer.concat([
    encodeName(`ns.${name}`),
    encodeName(`admin.${name}`),
    words(0, 1, 0, 7200, 0, 3600, 1, 0, 0, minimum),
  ])
  return rawRecord({ owner: encodeName(name), type: 6, ttl, data })
}

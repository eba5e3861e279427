import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { createClient } from '../../../src/blockgame/client.ts'
import type { AddressRule } from '../../../src/blockgame/destination-filter.ts'
import type { Resolve, ResolverAddress } from '../../../src/blockgame/resolvers.ts'
import type { DnsStatus } from '../../../src/domain/dns-answer.ts'
import type { DnsRecord } from '../../../src/domain/dns-record.ts'
import type { BlockgameClient } from '../../../src/ports/blockgame-client.ts'
import type { DnsClient, DnsQuestion } from '../../../src/ports/dns-client.ts'
import {
  fakeBlockgameServer,
  type FakeBlockgameServer,
  type FakeBlockgameServerOptions,
} from '../../../src/testing/blockgame-server.ts'

/** Registers what happens when a test ends; tests that run side by side hand in their own. */
export type OnFinished = (work: () => Promise<void>) => void

/** A fake server that ends with the test. */
export async function startServer(
  options?: FakeBlockgameServerOptions,
  onFinished: OnFinished = onTestFinished,
): Promise<FakeBlockgameServer> {
  const server = await fakeBlockgameServer(options)
  onFinished(() => server.close())
  return server
}

/** What a name answers: IP addresses, SRV records as `priority weight port target`, or a failure. */
export type Zone = Readonly<Record<string, readonly string[] | DnsStatus | 'silent' | Answerer>>
type Answerer = (asked: number) => readonly string[] | DnsStatus

export interface ZoneDns extends DnsClient {
  /** The questions so far, as `type name`. */
  readonly asked: string[]
}

/** A DNS client that answers from a table keyed `type name`; what is not in it does not exist. */
export function zoneDns(zone: Zone): ZoneDns {
  const asked: string[] = []
  const answer = async (question: DnsQuestion): ReturnType<DnsClient['query']> => {
    const key = `${question.type} ${question.name}`
    asked.push(key)
    if (question.name.length > 253) throw new Error('No such name can be asked for.')
    const entry = zone[key] ?? 'NXDOMAIN'
    const found = typeof entry === 'function' ? entry(asked.filter((each) => each === key).length) : entry
    if (found === 'silent')
      await delay(question.timeoutMs, undefined, { signal: question.signal ?? AbortSignal.any([]) })
    const common = { cnameChain: [], transport: 'udp', latencyMs: 0 } as const
    if (found === 'silent') return { status: 'TIMEOUT', records: [], ...common }
    if (typeof found === 'string') return { status: found, records: [], ...common }
    return { status: 'NOERROR', records: found.map((text) => record(question, text)), ...common }
  }
  return { asked, query: answer, close: async () => {} }
}

function record({ name, type }: DnsQuestion, text: string): DnsRecord {
  const base = { host: name, ttl: 60 }
  if (type === 'A') return { ...base, type, ip: text }
  if (type === 'AAAA') return { ...base, type, ip: text, ipv6: text }
  const [pri = '', weight = '', port = '', target = ''] = text.split(' ')
  return { ...base, type: 'SRV', pri: Number(pri), weight: Number(weight), port: Number(port), target }
}

export interface ClientSetup {
  /** Default: nothing resolves. */
  readonly dns?: DnsClient
  /** Default: everything is allowed; null: the client's own default rule. */
  readonly allowAddress?: AddressRule | null
  /** Default: one. */
  readonly resolvers?: readonly ResolverAddress[]
  /** Default: none. */
  readonly resolve?: Resolve
}

/** A client that ends with the test. */
export function startClient(
  {
    dns = zoneDns({}),
    allowAddress = () => true,
    resolvers = [{ ip: '127.0.0.1' }],
    resolve,
  }: ClientSetup = {},
  onFinished: OnFinished = onTestFinished,
): BlockgameClient {
  const client = createClient({
    dns,
    resolvers,
    resolve,
    allowAddress: allowAddress ?? undefined,
    protocolVersion: -1,
    fallbackProtocolVersion: 47,
  })
  onFinished(() => client.close())
  return client
}

/** Waits until the server sees none of its connections open; fails after a second. */
export async function noneOpen(server: FakeBlockgameServer, turnsLeft = 200): Promise<void> {
  if (server.connections.every(({ open }) => !open)) return
  if (turnsLeft === 0) throw new Error('A connection is still open.')
  await delay(5)
  await noneOpen(server, turnsLeft - 1)
}

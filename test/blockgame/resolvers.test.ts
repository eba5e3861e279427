import { describe, expect, test } from 'vitest'
import type { DnsAnswer } from '../../src/domain/dns-answer.ts'
import type { DnsClient, DnsQuestion } from '../../src/ports/dns-client.ts'
import { startClient, startServer } from './support/harness.ts'
import { eventually } from '../support/eventually.ts'

const host = 'mc.example.com'

/** A DNS client that answers every question with 127.0.0.1 once `open` is called. */
function gatedDns() {
  const gate = Promise.withResolvers<void>()
  const asked: DnsQuestion[] = []
  const query = async (question: DnsQuestion): Promise<DnsAnswer> => {
    asked.push(question)
    const left = Promise.withResolvers<never>()
    question.signal?.addEventListener('abort', () => left.reject(question.signal?.reason))
    await Promise.race([gate.promise, left.promise])
    const common = { cnameChain: [], transport: 'udp', latencyMs: 0 } as const
    if (question.type !== 'A') return { status: 'NODATA', records: [], ...common }
    const records = [{ type: 'A', host, ttl: 60, ip: '127.0.0.1' }] as const
    return { status: 'NOERROR', records, ...common }
  }
  const dns: DnsClient = { query, close: async () => {} }
  const types = (): string[] => asked.map(({ type }) => type).toSorted()
  return { dns, asked, types, open: gate.resolve }
}

describe('lookups of one host at the same time', () => {
  test('share its questions, and each goes to its own port', async () => {
    const servers = await Promise.all(Array.from({ length: 20 }, () => startServer()))
    const { dns, types, open } = gatedDns()
    const client = startClient({ dns })
    const hosts = [host, host.toUpperCase(), `${host}.`]
    const lookups = servers.map(({ port }, index) => client.status({ host: hosts[index % 3] ?? host, port }))
    lookups.push(client.status({ host }))
    lookups.at(-1)?.catch(() => {})
    await eventually(() => expect(types()).toEqual(['A', 'AAAA', 'SRV']))
    open()
    const found = await Promise.all(lookups.slice(0, -1))
    expect(found.map(({ port }) => port)).toEqual(servers.map(({ port }) => port))
    await client.close()
    expect(types()).toEqual(['A', 'AAAA', 'SRV'])
  })

  test('ask anew once there is an answer', async () => {
    const { port } = await startServer()
    const { dns, types, open } = gatedDns()
    const client = startClient({ dns })
    open()
    await client.status({ host, port })
    await client.status({ host, port })
    expect(types()).toEqual(['A', 'A', 'AAAA', 'AAAA'])
  })

  test.each([
    ['another name', { host: 'www.example.com' }],
    ['a shorter deadline', { timeoutMs: 4000 }],
    ['a deadline of which less than half is left', { timeoutMs: 50_000 }],
  ])('do not share them with %s', async (_, difference) => {
    const { port } = await startServer()
    const { dns, types, open } = gatedDns()
    const client = startClient({ dns })
    const lookups = [{}, difference].map((each) => client.status({ host, port, timeoutMs: 5000, ...each }))
    await eventually(() => expect(types()).toEqual(['A', 'A', 'AAAA', 'AAAA']))
    open()
    await expect(Promise.all(lookups)).resolves.toHaveLength(2)
  })

  test('keep them when one leaves, and end them when all have left', async () => {
    const { dns, asked } = gatedDns()
    const client = startClient({ dns })
    const leave = [new AbortController(), new AbortController()]
    const [first, last] = leave.map(({ signal }, index) =>
      client.status({ host, port: 2000 + index, signal }).catch((error: unknown) => error),
    )
    const ended = (): unknown[] => asked.map(({ signal }) => signal?.aborted)
    expect(ended()).toEqual([false, false])
    leave[0]?.abort('gone')
    expect(await first).toBe('gone')
    expect(ended()).toEqual([false, false])
    leave[1]?.abort('gone too')
    expect(await last).toBe('gone too')
    expect(ended()).toEqual([true, true])
    // Not with what is being ended.
    const later = client.status({ host, port: 2002 }).catch((error: unknown) => error)
    expect(ended()).toEqual([true, true, false, false])
    await client.close()
    expect(await later).toMatchObject({ code: 'unavailable' })
    expect(ended()).toEqual([true, true, true, true])
  })
})

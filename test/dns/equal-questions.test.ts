import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { fakeDnsServer, type FakeDnsQuery } from '../../src/testing/dns-server.ts'
import { rightRecord } from './support/messages.ts'

const question = { name: 'example.com', type: 'A' } as const

/** A server that answers once `open` is called. */
async function gatedServer() {
  const gate = Promise.withResolvers<void>()
  const server = await fakeDnsServer({
    records: [rightRecord],
    async reply() {
      await gate.promise
      return undefined
    },
  })
  const client = createDnsClient()
  onTestFinished(async () => {
    gate.resolve()
    await client.close()
    await server.close()
  })
  return { server, client, open: gate.resolve }
}

const arrived = (queries: readonly FakeDnsQuery[], count: number): Promise<void> =>
  vi.waitFor(() => expect(queries).toHaveLength(count))

describe('equal questions under way', () => {
  test('share one datagram, and each asker gets the answer', async () => {
    const { server, client, open } = await gatedServer()
    const answers = ['example.com', 'EXAMPLE.com', 'example.com.', 'example.com'].map((name) =>
      client.query({ ...question, name, server }),
    )
    await arrived(server.queries, 1)
    // Later, but in the first half of its time.
    answers.push(client.query({ ...question, server, signal: new AbortController().signal }))
    open()
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
    expect(server.queries).toHaveLength(1)
  })

  test('are asked anew once there is an answer', async () => {
    const { server, client, open } = await gatedServer()
    open()
    await client.query({ ...question, server })
    await client.query({ ...question, server })
    expect(server.queries).toHaveLength(2)
  })

  test.each([
    ['another name', { name: 'www.example.com' }],
    ['another type', { type: 'AAAA' }],
    ['another network', { clientSubnet: '192.0.2.0/24' }],
    ['no recursion', { recursionDesired: false }],
    ['another transport', { transport: 'tcp' }],
    ['a shorter deadline', { timeoutMs: 4000 }],
    ['a deadline of which less than half is left', { timeoutMs: 50_000 }],
  ] as const)('are not those with %s', async (_, difference) => {
    const { server, client, open } = await gatedServer()
    const answers = [{}, difference].map((each) =>
      client.query({ ...question, timeoutMs: 5000, server, ...each }),
    )
    await arrived(server.queries, 2)
    open()
    await Promise.all(answers)
  })

  test('of two servers are two', async () => {
    const [one, other] = [await gatedServer(), await gatedServer()]
    const answers = [one, other].map(({ server }) => one.client.query({ ...question, server }))
    await arrived(one.server.queries, 1)
    await arrived(other.server.queries, 1)
    one.open()
    other.open()
    await Promise.all(answers)
  })

  test('go on for the others when one leaves, and end when all have left', async () => {
    const { server, client, open } = await gatedServer()
    const controllers = [new AbortController(), new AbortController()]
    const [leaving, last] = controllers.map(({ signal }) => client.query({ ...question, server, signal }))
    const staying = client.query({ ...question, server })
    await arrived(server.queries, 1)
    controllers[0]?.abort('gone')
    await expect(leaving).rejects.toBe('gone')
    open()
    expect(await staying).toMatchObject({ status: 'NOERROR' })
    expect(await last).toMatchObject({ status: 'NOERROR' })
  })

  test('cannot be joined once all have left', async () => {
    const { server, client, open } = await gatedServer()
    const controller = new AbortController()
    const left = client.query({ ...question, server, signal: controller.signal })
    await arrived(server.queries, 1)
    controller.abort('gone')
    await expect(left).rejects.toBe('gone')
    const later = client.query({ ...question, server })
    await arrived(server.queries, 2)
    open()
    expect(await later).toMatchObject({ status: 'NOERROR' })
  })

  test('tell each asker how long it waited itself', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const server = { ip: '127.0.0.1', port: 9 }
    const client = createDnsClient()
    const first = client.query({ ...question, server, timeoutMs: 1000 })
    vi.advanceTimersByTime(100)
    const second = client.query({ ...question, server, timeoutMs: 1000 })
    await client.close()
    expect((await first).latencyMs - (await second).latencyMs).toBe(100)
  })
})

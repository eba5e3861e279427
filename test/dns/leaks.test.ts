import { readdirSync, readlinkSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { fakeDnsServer } from '../../src/testing/dns-server.ts'
import { rightRecord } from './support/messages.ts'
import { eventually } from '../support/eventually.ts'

/** How many checks of twelve locations are made. */
const checks = Number(process.env['DNS_CHECKS'] ?? 1000)
const atOnce = 100
const mebibyte = 1024 * 1024

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapUsed(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const onLinux = process.platform === 'linux'

/** Open sockets of this process; Node does not count those that keep nothing alive. */
function openSockets(): number {
  const kinds = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      return 'gone'
    }
  })
  return kinds.filter((kind) => kind.startsWith('socket:')).length
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
}

test('a client that is not closed keeps no process alive', async () => {
  await using server = await fakeDnsServer({ records: [rightRecord] })
  const sockets = () => process.getActiveResourcesInfo().filter((each) => each.startsWith('UDP')).length
  const [socketsBefore, timersBefore] = [sockets(), timers()]
  const client = createDnsClient()
  await client.query({ name: 'example.com', type: 'A', server })
  expect(sockets()).toBe(socketsBefore)
  // Those of the test runner end meanwhile.
  expect(timers()).toBeLessThanOrEqual(timersBefore)
  await client.close()
})

const title = `${checks} checks with a third of the resolvers dead leave nothing behind`

test.runIf(onLinux)(title, { timeout: 600_000 }, async () => {
  const [socketsBefore, timersBefore] = [openSockets(), timers()]
  await using good = await fakeDnsServer({ records: [rightRecord] })
  await using truncating = await fakeDnsServer({ records: [rightRecord], truncate: true })
  await using silent = await fakeDnsServer({ drop: Number.POSITIVE_INFINITY })
  const closed = await fakeDnsServer()
  await closed.close()
  const servers = [
    ...Array.from({ length: 7 }, () => good),
    truncating,
    ...Array.from({ length: 2 }, () => silent),
    ...Array.from({ length: 2 }, () => closed),
  ]
  let unreachable = 0
  const client = createDnsClient()
  onTestFinished(() => client.close())

  async function check(): Promise<void> {
    const answers = await Promise.all(
      servers.map((server) => client.query({ name: 'example.com', type: 'A', server, timeoutMs: 300 })),
    )
    const statuses = answers.map((answer) => answer.status)
    expect(statuses.slice(8, 10)).toEqual(['TIMEOUT', 'TIMEOUT'])
    // A kernel reports only so many refusals in a second, and a busy machine reads them late.
    for (const status of statuses.slice(10)) expect(status).toMatch(/^(?:UNREACHABLE|TIMEOUT)$/)
    unreachable += statuses.filter((status) => status === 'UNREACHABLE').length
  }

  async function run(rounds: number): Promise<void> {
    for (let left = rounds; left > 0; left -= atOnce) {
      await Promise.all(Array.from({ length: Math.min(atOnce, left) }, check))
      // The servers remember every query; the test is not about them.
      for (const server of [good, truncating, silent]) (server.queries as unknown[]).length = 0
    }
  }

  await run(atOnce)
  const before = heapUsed()
  await run(checks)
  const grown = heapUsed() - before
  await client.close()
  await Promise.all([good.close(), truncating.close(), silent.close()])
  expect(unreachable).toBeGreaterThan(0)
  // Before other tests count theirs.
  await eventually(() => expect(openSockets()).toBe(socketsBefore))
  expect(timers()).toBeLessThanOrEqual(timersBefore)
  expect(grown / mebibyte).toBeLessThan(8)
  if (process.env['DNS_CHECKS'] !== undefined)
    console.log(`${checks} checks: heap ${grown / mebibyte} MiB larger`)
})

test.runIf(onLinux)('sockets close when they are ten seconds old, and the timer ends with them', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  await using server = await fakeDnsServer({ records: [rightRecord] })
  const before = openSockets()
  const client = createDnsClient()
  const ask = () => client.query({ name: 'example.com', type: 'A', server })
  for (let rounds = 2; rounds > 0; rounds -= 1) {
    for (const { status } of await Promise.all(Array.from({ length: 20 }, ask)))
      expect(status).toBe('NOERROR')
    const opened = openSockets()
    expect(opened).toBeGreaterThan(before)
    vi.advanceTimersByTime(10_000)
    expect(openSockets()).toBe(opened)
    vi.advanceTimersByTime(5000)
    await eventually(() => expect(openSockets()).toBe(before))
    expect(vi.getTimerCount()).toBe(0)
  }
  await ask()
  await client.close()
  expect(vi.getTimerCount()).toBe(0)
})

test.runIf(onLinux)('sockets that have sent their share close at once', async () => {
  await using server = await fakeDnsServer({ records: [rightRecord] })
  const before = openSockets()
  const client = createDnsClient()
  for (let left = 1000; left > 0; left -= 1) await client.query({ name: 'example.com', type: 'A', server })
  expect(openSockets()).toBeLessThanOrEqual(before + 4)
  await client.close()
})

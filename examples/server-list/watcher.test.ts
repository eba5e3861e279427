import { expect, onTestFinished, test, vi } from 'vitest'
import { createBlockgameClient, ServerCheckError, type ServerStatus } from 'utility-api/blockgame'
import { createWatcher } from './watcher.ts'

const status: ServerStatus = {
  ip: '192.0.2.1',
  port: 25565,
  players: { online: 1, max: 2 },
  version: { name: 'x', protocol: 1 },
  latencyMs: 12.6,
  srvRecord: null,
  description: 'd',
  descriptionSpans: [{ text: 'd', color: 'gold' }],
}
const { signal } = new AbortController()

test.each([
  [60, 25],
  [5000, 200],
])('of %i servers at most %i are asked at once, and each once', async (count, atOnce) => {
  const asked: string[] = []
  let underWay = 0
  let most = 0
  const client = {
    async status({ host }: { host: string }) {
      asked.push(host)
      most = Math.max(most, (underWay += 1))
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= 1
      return status
    },
  }
  const addresses = Array.from({ length: count }, (_, index) => `s${index}.example`)
  const watcher = createWatcher({ client, addresses })
  await watcher.refresh(signal)
  expect(most).toBe(atOnce)
  expect(asked.toSorted()).toEqual(addresses.toSorted())
  expect(watcher.list().every(({ state }) => state === 'online')).toBe(true)
})

test('only the second failure in a row means that a server is offline', async () => {
  const answers = [true, false, true, false, false]
  const seen: string[] = []
  const client = {
    async status() {
      seen.push(watcher.list()[0]?.state ?? '')
      if (answers.shift() !== true) throw new ServerCheckError('refused')
      return status
    },
  }
  const watcher = createWatcher({ client, addresses: ['a.example:25566'], confirmAfterMs: 1 })
  await watcher.refresh(signal)
  expect(watcher.list()).toEqual([
    {
      address: 'a.example:25566',
      state: 'online',
      players: { online: 1, max: 2 },
      version: 'x',
      pingMs: 13,
      description: [{ text: 'd', color: 'gold' }],
    },
  ])
  await watcher.refresh(signal)
  await watcher.refresh(signal)
  expect(seen).toEqual(['unknown', 'online', 'online', 'online', 'online'])
  expect(watcher.list()).toEqual([{ address: 'a.example:25566', state: 'offline' }])
})

test('it stops when it is told to', async () => {
  const stopping = new AbortController()
  const client = {
    async status(): Promise<ServerStatus> {
      throw new ServerCheckError('refused')
    },
  }
  const refreshing = createWatcher({ client, addresses: ['a.example'] }).refresh(stopping.signal)
  stopping.abort()
  await expect(refreshing).rejects.toThrow('aborted')
})

test('what could not be asked is not offline, and the log says why', async () => {
  const logged: string[] = []
  vi.spyOn(console, 'error').mockImplementation((...words) => void logged.push(words.join(' ')))
  onTestFinished(() => void vi.restoreAllMocks())
  const addresses = ['127.0.0.1:25565', '[::1]:25566', '[::1]', 'a.example:80', ':']
  const client = createBlockgameClient()
  const watcher = createWatcher({ client, addresses })
  await watcher.refresh(signal)
  await client.close()
  expect(watcher.list()).toEqual(addresses.map((address) => ({ address, state: 'refused' })))
  const refused = 'Lookups of this address are not allowed. Not a public address:'
  const says = (address: string, why: string) => expect.stringContaining(`${address} was not asked. ${why}`)
  expect(logged).toEqual(
    expect.arrayContaining([
      says('127.0.0.1:25565', `${refused} 127.0.0.1. The option allowAddress can permit it.`),
      says('[::1]:25566', `${refused} ::1.`),
      says('[::1]', `${refused} ::1.`),
      says('a.example:80', 'Lookups of this'),
      says(':', ''),
    ]),
  )
})

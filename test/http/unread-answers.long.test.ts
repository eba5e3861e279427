/** Many connections that ask for the largest answers, in a process with little memory, on each mount. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startMeasured, type Measured } from './support/measured-process.ts'
import { rawClient, rawRequestText, type RawClient } from './support/raw.ts'

const connections = Number(process.env['UNREAD_CONNECTIONS'] ?? 200)
const mounts = (process.env['UNREAD_MOUNTS'] ?? 'Node,Express,Hono,Bun,serve').split(',')

interface Facts {
  readonly port: number
  readonly attacker: string
  readonly bystander: string
}

const start = (mount: string): Promise<Facts & Measured> => startMeasured<Facts>('answers-server', mount)

async function openAll(port: number, reads: boolean): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let count = 0; count < connections; count += 100) {
    const some = Array.from({ length: Math.min(100, connections - count) }, () => connect(port, '127.0.0.1'))
    for (const socket of some) {
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      if (reads) socket.resume()
      else socket.pause()
    }
    // oxlint-disable-next-line no-await-in-loop -- a hundred at a time
    await Promise.all(some.map((socket) => once(socket, 'connect')))
    sockets.push(...some)
  }
  return sockets
}

const checkOf = (token: string, domain: string): string =>
  rawRequestText('GET /v3/tools/dnscheck', {
    Authorization: `Bearer ${token}`,
    'X-Domain': domain,
    'X-Record-Type': 'TXT',
  })

async function statusOfBystander({ port, bystander }: Facts, domain: string): Promise<number> {
  const headers = { Authorization: `Bearer ${bystander}`, 'X-Domain': domain, 'X-Record-Type': 'TXT' }
  const response = await fetch(`http://127.0.0.1:${port}/v3/tools/dnscheck`, { headers })
  await response.arrayBuffer()
  return response.status
}

/** What each connection sends at once. */
const kinds: Readonly<Record<string, (token: string, connection: number) => string>> = {
  'equal names': (token) => checkOf(token, 'hostile.example'),
  'names of their own': (token, connection) => checkOf(token, `n${connection}.hostile.example`),
  'sixteen requests': (token, connection) =>
    Array.from({ length: 16 }, (_, index) => checkOf(token, `n${connection}-${index}.hostile.example`)).join(
      '',
    ),
  'two hundred requests': (token) => checkOf(token, 'hostile.example').repeat(200),
  'two hundred requests without credentials': () => rawRequestText('GET /openapi.json').repeat(200),
}
const cases = mounts.flatMap((mount) =>
  Object.keys(kinds).flatMap((kind) => [true, false].map((reads) => ({ mount, kind, reads }))),
)

test.for(cases)(
  `${connections} connections, $kind, read $reads: $mount goes on`,
  { timeout: 120_000 },
  async ({ mount, kind, reads }, { task }) => {
    const server = await start(mount)
    expect(await statusOfBystander(server, 'calm.example')).toBe(200)
    const before = await server.memory()
    const sockets = await openAll(server.port, reads)
    sockets.forEach((socket, index) => socket.write(kinds[kind]?.(server.attacker, index) ?? ''))
    let most = before.rss
    for (let round = 0; round < 5; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- again and again while they ask
      expect(await statusOfBystander(server, `b${round}.example`)).toBe(200)
      // oxlint-disable-next-line no-await-in-loop
      most = Math.max(most, (await server.memory()).rss)
      // oxlint-disable-next-line no-await-in-loop
      await wait(100)
    }
    const bytesPerConnection = Math.round((most - before.rss) / connections)
    Object.assign(task.meta, { figures: { connections, most, bytesPerConnection } })
    if (connections >= 1000) expect(bytesPerConnection).toBeLessThan(500_000)
    if (mount === 'Bun') expect(most).toBeLessThan(400_000_000)
    expect(server.exitCode()).toBeNull()
  },
)

test('Bun ends a connection that brings many requests at once, even if no answer needs a wait', async () => {
  const { port } = await start('Bun')
  const client = await rawClient(port)
  onTestFinished(() => client.close())
  client.write(rawRequestText('GET /nowhere').repeat(200))
  await client.ended()
  expect(await answersOf(client)).toBeLessThanOrEqual(65)
})

/** Returns how many answers came before the end of a connection. */
async function answersOf(client: RawClient): Promise<number> {
  for (let count = 0; ; count += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const answer = await client.answer().catch(() => undefined)
    if (answer === undefined) return count
  }
}

/** Bodies that strangers send to fill the memory of a server, or its places. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startMeasured, type Measured } from './support/measured-process.ts'

/** Chunks of one octet in each body; a body may have 65,536 octets. */
const chunks = Number(process.env['BODY_CHUNKS'] ?? 60_000)
const bodies = Number(process.env['BODIES'] ?? 14)
const tricklers = Number(process.env['TRICKLERS'] ?? 600)

/** Everything one can send a body to: the five operations, a refused request and an unknown path. */
const targetNames = ['exchange', 'update', 'generate', 'check', 'lookup', 'refused', 'unknown']
/** What bodies are sent to at once: a part of them to each, or all of them to one after the other. */
const shares =
  process.env['BODY_TARGETS'] === 'each'
    ? targetNames.map((name, at) => ({ name, at }))
    : [{ name: 'all', at: undefined }]

/** The servers that are sent bodies. */
const mounts = (process.env['BODY_MOUNTS'] ?? 'Node,Bun').split(',')

interface Facts {
  readonly port: number
  readonly exchange: object
  readonly token: string
  readonly accessToken: string
  readonly apiKey: string
}

const start = (mount: string): Promise<Facts & Measured> => startMeasured<Facts>('bodies-server', mount)

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The beginning of a request to each of them. */
function targets({ token, accessToken, apiKey }: Facts): string[] {
  const chunked = 'Host: x\r\nTransfer-Encoding: chunked\r\n'
  return [
    `POST /v4/oauth2/token HTTP/1.1\r\n${chunked}Content-Type: application/json\r\n\r\n`,
    `PUT /v2/reseller/LIC-1/update HTTP/1.1\r\n${chunked}Authorization: Bearer ${token}\r\nX-Status: valid\r\n\r\n`,
    `POST /v2/reseller/licenses/generate HTTP/1.1\r\n${chunked}Authorization: Bearer ${token}\r\n\r\n`,
    `GET /v3/tools/dnscheck HTTP/1.1\r\n${chunked}Authorization: Bearer ${accessToken}\r\nX-Domain: a.example\r\nX-Record-Type: A\r\n\r\n`,
    `GET /v4/games/blockgame/lookup HTTP/1.1\r\n${chunked}Basic: ${apiKey}\r\nX-Address: a.example\r\n\r\n`,
    `GET /v3/tools/dnscheck HTTP/1.1\r\n${chunked}\r\n`,
    `POST /nowhere HTTP/1.1\r\n${chunked}\r\n`,
  ]
}

async function exchangeTakesPlace({ port, exchange }: Facts): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/v4/oauth2/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(exchange),
  })
  return response.status === 200
}

test.for(mounts.flatMap((mount) => shares.map((share) => ({ mount, ...share }))))(
  `${bodies} unfinished bodies in chunks of one octet hold less than 300 KB each: $mount, $name`,
  { timeout: 120_000 + bodies * 1000 },
  async ({ mount, at }, { task }) => {
    const server = await start(mount)
    const piece = '1\r\nx\r\n'.repeat(10_000)
    // The first requests load what all later ones share.
    await Promise.all(targets(server).map(async (target) => (await open(server.port)).write(target + piece)))
    await wait(1000)
    const before = await server.memory()
    const sockets = await Promise.all(Array.from({ length: bodies }, () => open(server.port)))
    sockets.forEach((socket, index) => socket.write(targets(server)[at ?? index % 7] ?? ''))
    for (let sent = 0; sent < chunks; sent += 10_000) {
      // One write of each after the other, as fast as the server reads.
      // oxlint-disable-next-line no-await-in-loop
      await Promise.all(
        sockets.map((socket) => new Promise<void>((resolve) => socket.write(piece, () => resolve()))),
      )
    }
    // What was sent is still being read for a while.
    let after = await server.memory()
    for (let turn = 0; turn < 20 && after.held - before.held > bodies * 300_000; turn += 1) {
      // oxlint-disable-next-line no-await-in-loop
      await wait(500)
      // oxlint-disable-next-line no-await-in-loop
      after = await server.memory()
    }
    const held = Math.round((after.held - before.held) / bodies)
    const rss = Math.round((after.rss - before.rss) / bodies)
    Object.assign(task.meta, { figures: { bodies, chunks, bytesPerBody: { held, rss } } })
    expect(held).toBeLessThan(300_000)
    // Garbage that a collector gives back late counts for little only where there are many bodies.
    if (bodies >= 200) expect(rss).toBeLessThan(1_000_000)
    expect(await exchangeTakesPlace(server)).toBe(true)
    expect(server.exitCode()).toBeNull()
  },
)

test.for(mounts)(
  `while ${tricklers} bodies trickle in, an exchange takes place: %s`,
  { timeout: 120_000 },
  async (mount) => {
    const server = await start(mount)
    const [head = ''] = targets(server)
    const sockets: Socket[] = []
    for (let count = 0; count < tricklers; count += 100) {
      // oxlint-disable-next-line no-await-in-loop
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => open(server.port)))))
    }
    const answers = sockets.map((socket) => once(socket, 'data').then(([data]) => String(data).slice(0, 12)))
    for (const socket of sockets) socket.write(`${head}1\r\nx\r\n`)
    // Those beyond the bound drive the ones out that have waited longest.
    const first = await Promise.race(answers)
    expect(first).toBe('HTTP/1.1 408')
    expect(await exchangeTakesPlace(server)).toBe(true)
    for (const answer of answers) answer.catch(() => undefined)
  },
)

/** Bodies that strangers send to fill the memory of a server, or its places. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

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

const program = fileURLToPath(new URL('./support/bodies-server.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href
const bin = fileURLToPath(new URL('../../node_modules/.bin/', import.meta.url))

interface Memory {
  readonly held: number
  readonly rss: number
}

interface BodiesServer {
  readonly child: ChildProcessByStdio<Writable, Readable, null>
  readonly port: number
  readonly exchange: object
  readonly token: string
  readonly accessToken: string
  readonly apiKey: string
  /** Bytes held, garbage aside, and those that the machine sees. */
  memory(): Promise<Memory>
}

const cleanUp: (() => void)[] = []
afterEach(() => {
  for (const each of cleanUp.splice(0)) each()
})

async function start(mount: string): Promise<BodiesServer> {
  const flags = ['--max-old-space-size=256', '--expose-gc', '--import', sources]
  const [command, args] = mount === 'Bun' ? ['bun', []] : ['node', flags]
  const child = spawn(`${bin}${command}`, [...args, program, mount], { stdio: ['pipe', 'pipe', 'inherit'] })
  cleanUp.push(() => child.kill('SIGKILL'))
  const lines: Interface = createInterface(child.stdout)
  const ask = async (): Promise<unknown> => JSON.parse(((await once(lines, 'line')) as [string])[0])
  const facts = (await ask()) as Omit<BodiesServer, 'child' | 'memory'>
  return {
    ...facts,
    child,
    async memory() {
      const answer = ask()
      child.stdin.write('\n')
      return (await answer) as Memory
    },
  }
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  cleanUp.push(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The beginning of a request to each of them. */
function targets({ token, accessToken, apiKey }: BodiesServer): string[] {
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

async function exchangeTakesPlace({ port, exchange }: BodiesServer): Promise<boolean> {
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
    expect(server.child.exitCode).toBeNull()
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

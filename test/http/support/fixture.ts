/** A world inside Bun or Deno, served by the runtime's own server and steered over standard input. */
import { createInterface } from 'node:readline'
import type { UtilityApi } from 'utility-api'
import { toBunHandler, type BunHandler } from 'utility-api/bun'
import { sendToPort } from './send.ts'
import { decode, encode } from './wire.ts'
import { buildWorld, type WorldOptions } from './world.ts'

interface BunGlobal {
  serve(options: { port: number; hostname: string; fetch: BunHandler }): {
    port: number
    stop(now: boolean): Promise<void>
  }
}

interface DenoGlobal {
  serve(
    options: { port: number; hostname: string; onListen: () => void },
    handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>,
  ): { addr: { port: number }; shutdown(): Promise<void> }
}

interface RuntimeServer {
  readonly port: number
  stop(): Promise<void>
}

const { Bun, Deno } = globalThis as unknown as { Bun?: BunGlobal; Deno?: DenoGlobal }
const address = { port: 0, hostname: '127.0.0.1' }

function serve(api: UtilityApi): RuntimeServer {
  if (Bun !== undefined) {
    const server = Bun.serve({ ...address, fetch: toBunHandler(api) })
    return { port: server.port, stop: () => server.stop(true) }
  }
  if (Deno === undefined) throw new Error('This is neither Bun nor Deno.')
  const server = Deno.serve({ ...address, onListen: () => {} }, (request, { remoteAddr }) =>
    api.fetch(request, { ip: remoteAddr.hostname }),
  )
  return { port: server.addr.port, stop: () => server.shutdown() }
}

let port = 0
const world = await buildWorld(
  async (api) => {
    const server = serve(api)
    port = server.port
    return { send: (request) => sendToPort(port, request), close: server.stop }
  },
  JSON.parse(process.argv[2] ?? '{}') as WorldOptions,
)

type Method = (...args: unknown[]) => unknown

function methodOf(name: string): Method {
  const [object, method] = name.split('.') as [keyof typeof world, string | undefined]
  const owner = method === undefined ? world : (world[object] as unknown)
  return (owner as Record<string, Method>)[method ?? object] as Method
}

async function answer(line: string): Promise<object> {
  const { method, args } = decode(line) as { method: string; args: unknown[] }
  try {
    return { value: (await methodOf(method)(...args)) ?? null }
  } catch (error) {
    return { error: String(error) }
  }
}

function say(message: object): void {
  process.stdout.write(`${encode(message)}\n`)
}

// One after the other: the other side matches answers to calls by their order.
let previous: Promise<void> = Promise.resolve()
createInterface(process.stdin).on('line', (line) => {
  previous = previous.then(async () => say(await answer(line)))
})
const values = Object.entries(world).filter(([, value]) => typeof value === 'string' || isPlace(value))
say({ value: { port, ...Object.fromEntries(values.map(plain)) } })

function isPlace(value: unknown): value is { ip: string; port: number } {
  return typeof value === 'object' && value !== null && 'ip' in value && 'port' in value
}

function plain([name, value]: [string, unknown]): [string, unknown] {
  return [name, isPlace(value) ? { ip: value.ip, port: value.port } : value]
}

// One of the libraries in use today, in a process of its own: where it crashes, that is what it said.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'

/** What a library said of a server, as it said it; what it has no field for is not there. */
export interface Said {
  readonly online?: unknown
  readonly max?: unknown
  readonly name?: unknown
  readonly protocol?: unknown
  readonly favicon?: unknown
}
export type Answer = Said | 'nothing' | 'crash'

interface Status {
  readonly players?: { readonly online?: unknown; readonly max?: unknown } | null
  readonly version?: { readonly name?: unknown; readonly protocol?: unknown } | null
  readonly favicon?: unknown
}
type Lookup = (port: number) => Promise<Said>

const folder = new URL('../../peers/', import.meta.url)
const load = createRequire(new URL('package.json', folder))
const host = '127.0.0.1'
const timeout = 2000

const flat = ({ players, version, favicon }: Status): Said => ({ ...players, ...version, favicon })

/** A library that has a function for each protocol: both are asked, and the modern answer counts first. */
async function modernFirst(modern: Promise<Said>, legacy: Promise<Said>): Promise<Said> {
  legacy.catch(() => {})
  return modern.catch(() => legacy)
}

const lookups: Readonly<Record<string, () => Lookup>> = {
  'minecraft-server-util': () => {
    const { status, statusLegacy } = load('minecraft-server-util') as Record<
      'status' | 'statusLegacy',
      (host: string, port: number, options: object) => Promise<Status>
    >
    const options = { enableSRV: false, timeout }
    return (port) =>
      modernFirst(status(host, port, options).then(flat), statusLegacy(host, port, options).then(flat))
  },
  'minecraft-protocol': () => {
    const { ping } = load('minecraft-protocol') as { ping(options: object): Promise<Status> }
    return async (port) => flat(await ping({ host, port, closeTimeout: timeout, noPongTimeout: 500 }))
  },
  gamedig: () => {
    const { GameDig } = load('gamedig') as {
      GameDig: { query(options: object): Promise<{ numplayers: unknown; maxplayers: unknown; raw: Status }> }
    }
    const options = { type: 'protocol-minecraftvanilla', host, givenPortOnly: true, maxRetries: 1 }
    return async (port) => {
      const found = await GameDig.query({ ...options, port, socketTimeout: timeout, attemptTimeout: timeout })
      return { ...flat(found.raw), online: found.numplayers, max: found.maxplayers }
    }
  },
  '@minescope/mineping': () => {
    const { pingJava } = load('@minescope/mineping') as {
      pingJava(host: string, options: object): Promise<Status>
    }
    return async (port) => flat(await pingJava(host, { port, timeout }))
  },
  'mcping-js': () => {
    type Done = (error: Error | null, status: Status) => void
    const { MinecraftServer } = load('mcping-js') as {
      MinecraftServer: new (
        host: string,
        port: number,
      ) => { ping(timeout: number, version: number, done: Done): void }
    }
    return (port) =>
      new Promise((resolve, reject) => {
        const server = new MinecraftServer(host, port)
        server.ping(timeout, 769, (error, status) => (error ? reject(error) : resolve(flat(status))))
      })
  },
  'minestat-es': () => {
    type Info = { online: boolean; players: unknown; maxPlayers: unknown; version: unknown }
    const { fetchServerInfo } = load('minestat-es/lib/index.js') as {
      fetchServerInfo(options: object): Promise<Info>
    }
    const ask = async (port: number, protocol: 'modern' | 'legacy'): Promise<Said> => {
      const found = await fetchServerInfo({ address: host, port, timeout, protocol })
      if (!found.online) throw new Error('offline')
      return { online: found.players, max: found.maxPlayers, name: found.version }
    }
    return (port) => modernFirst(ask(port, 'modern'), ask(port, 'legacy'))
  },
}

/** The libraries that are compared, whether they are installed or not. */
export const peerNames: readonly string[] = Object.keys(lookups)

export function isInstalled(name: string): boolean {
  return existsSync(new URL(`node_modules/${name}/package.json`, folder))
}

export interface Peer extends AsyncDisposable {
  /** What it says of the server at this port; one question at a time. */
  ask(port: number): Promise<Answer>
}

export async function startPeer(name: string): Promise<Peer> {
  const child = fork(import.meta.filename, [name], { stdio: 'ignore' })
  const ended = once(child, 'close')
  await Promise.race([once(child, 'message'), ended.then(() => Promise.reject(new Error(`${name} ended.`)))])
  return {
    async ask(port) {
      child.send(port)
      const [answer] = (await once(child, 'message')) as [Answer]
      return answer
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function serve(lookup: Lookup): void {
  let answer: (said: Answer) => void = () => {}
  // Without this the process would end; with it, the next server can be asked.
  process.on('uncaughtException', () => answer('crash'))
  process.on('message', (port: number) => {
    answer = (said) => {
      answer = () => {}
      clearTimeout(timer)
      process.send?.(said)
    }
    const given = answer
    const timer = setTimeout(() => given('nothing'), 2 * timeout)
    // In a promise, as some throw before they return one.
    void Promise.resolve(port)
      .then(lookup)
      .then(
        (said) => answer === given && given(isSaid(said) ? said : 'nothing'),
        () => answer === given && given('nothing'),
      )
  })
  process.send?.('ready')
}

/** Whether anything is in it: some return an empty object for whatever a server says. */
function isSaid(said: Said): boolean {
  return Object.values(said).some((value) => value !== undefined && value !== null)
}

const start = lookups[process.argv[2] ?? '']
if (process.send && start) serve(start())

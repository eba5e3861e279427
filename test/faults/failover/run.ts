import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Binaries } from './binaries.ts'
import { makeDirectory, prepareTemplate, startCluster } from './cluster.ts'
import { Forwarder } from './forwarder.ts'
import type { Ledger } from './ledger.ts'
import { startLoad, updatersOf } from './load.ts'
import { faultNames, faults, type FaultName, type Sight } from './rounds.ts'
import { watchStalls } from './stalls.ts'
import { verify, type Verdict } from './verify.ts'
import { createWorld, type World } from './world.ts'
import { removeFolder } from '../../support/remove-folder.ts'

/** What is left out, to see that its lack is found: waiting for standbys, choosing among them, hearing the warning. */
export type Sabotage = 'local' | 'lagging' | 'trusting'

export interface FailoverOptions {
  readonly rounds: number
  readonly clients: number
  readonly deadlineMs: number
  readonly faults?: readonly FaultName[]
  readonly sabotage?: Sabotage | undefined
  /** Called after each round. */
  onRound?(result: RoundResult): void
}

export interface RoundResult extends Sight, Verdict {
  readonly fault: FaultName
  readonly ledger: Ledger
  /** Milliseconds from the promotion to an acknowledgment by every server; null when that did not come. */
  readonly backAfterMs: number | null
  /** The longest stall of the clients' event loop and of any server's, together, in milliseconds. */
  readonly stallMs: number
}

const serverCount = 4
const codesPerRound = 800

/** Bounds the wait for writes after a fault. */
const maxBackMs = 30_000

/** Runs the rounds one after the other, against servers that live through all of them. */
export async function runFailover(binaries: Binaries, options: FailoverOptions): Promise<RoundResult[]> {
  const front = await new Forwarder().listen()
  const servers = await Promise.all(Array.from({ length: serverCount }, () => startServer(front, options)))
  const chosen = options.faults ?? faultNames
  const directory = makeDirectory(binaries)
  try {
    let world: World | undefined
    const template = await prepareTemplate(binaries, directory, async (url) => {
      world = await createWorld(url, codesPerRound, updatersOf(options.clients) / 2)
    })
    if (world === undefined) throw new Error('a world')
    const results: RoundResult[] = []
    for (let round = 0; round < options.rounds; round += 1) {
      const fault = chosen[round % chosen.length] ?? 'primary killed'
      const result = await runRound({ binaries, template, world, front, servers, fault, options })
      results.push(result)
      options.onRound?.(result)
    }
    return results
  } finally {
    for (const { child } of servers) child.kill('SIGKILL')
    front.close()
    removeFolder(directory)
  }
}

interface Round {
  readonly binaries: Binaries
  readonly template: string
  readonly world: World
  readonly front: Forwarder
  readonly servers: readonly ServerProcess[]
  readonly fault: FaultName
  readonly options: FailoverOptions
}

async function runRound({
  binaries,
  template,
  world,
  front,
  servers,
  fault,
  options,
}: Round): Promise<RoundResult> {
  const { deadlineMs, sabotage, clients } = options
  const settings = sabotage === 'local' ? { synchronous_commit: 'local' } : {}
  const cluster = await startCluster(binaries, template, settings)
  try {
    front.target = cluster.primary.node.port
    const origins = servers.map(({ origin }) => origin)
    await takeStalls(servers)
    const { ledger, stop } = startLoad(world, origins, clients)
    await untilBack(ledger, origins, performance.now())
    await sleep(1000)
    const sight = await faults[fault]({
      cluster,
      settings,
      front,
      origins,
      resellerToken: world.resellerToken,
      deadlineMs,
      promoteLagging: sabotage === 'lagging',
    })
    const backAfterMs = await untilBack(ledger, origins, sight.promotedAt ?? performance.now())
    await sleep(500)
    await stop()
    const stallMs = await takeStalls(servers)
    const verdict = await verify(cluster.primary.node, ledger)
    return { fault, ledger, backAfterMs, stallMs, ...sight, ...verdict }
  } finally {
    front.down()
    cluster.stop()
  }
}

/** Resolves once every server has acknowledged a write that was asked for after that moment. */
async function untilBack(ledger: Ledger, origins: readonly string[], since: number): Promise<number | null> {
  while (performance.now() < since + maxBackMs) {
    if (origins.every((origin) => (ledger.latest.get(origin) ?? 0) > since)) return performance.now() - since
    await sleep(20)
  }
  return null
}

const ownStalls = watchStalls()

/** The longest stall here and the longest of the servers, together, since this was last asked. */
async function takeStalls(servers: readonly ServerProcess[]): Promise<number> {
  const longest = await Promise.all(
    servers.map(async ({ child }) => {
      child.send('stalls')
      return ((await once(child, 'message')) as [number])[0]
    }),
  )
  const own = ownStalls.longestMs()
  ownStalls.reset()
  return own + Math.max(...longest)
}

interface ServerProcess {
  readonly origin: string
  readonly child: ChildProcess
}

async function startServer(
  front: Forwarder,
  { deadlineMs, sabotage }: FailoverOptions,
): Promise<ServerProcess> {
  const url = `postgres://postgres@127.0.0.1:${front.port}/postgres`
  const child = fork(
    fileURLToPath(new URL('server.ts', import.meta.url)),
    [url, `${deadlineMs}`, `${sabotage}`],
    {
      execArgv: ['--import', new URL('../../support/sources.ts', import.meta.url).href],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  const [port] = (await once(child, 'message')) as [number]
  return { origin: `http://127.0.0.1:${port}`, child }
}

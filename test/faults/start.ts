import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Holdings, Stalls } from './server.ts'

const program = fileURLToPath(new URL('server.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

/** A server under test, in a process of its own. */
export interface ServerProcess {
  readonly origin: string
  /** Whether it lives. */
  running(): boolean
  /** Pulls the plug: no handler, no flush, no goodbye. */
  kill(): Promise<void>
  /** Starts to watch the event loop. */
  watch(): void
  /** What was seen since. */
  stalls(): Promise<Stalls>
  /** What it holds after a collection of garbage. */
  holdings(): Promise<Holdings>
}

export async function startServer(store: string, resolverPort?: number): Promise<ServerProcess> {
  const child: ChildProcess = fork(
    program,
    [store, ...(resolverPort === undefined ? [] : [String(resolverPort)])],
    {
      execArgv: ['--expose-gc', '--import', sources],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  const [port] = (await once(child, 'message')) as [number]
  const running = (): boolean => child.exitCode === null && child.signalCode === null
  async function ask<Report>(question: string): Promise<Report> {
    child.send(question)
    const [report] = (await once(child, 'message')) as [Report]
    return report
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    running,
    async kill() {
      if (!running()) return
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
    watch: () => void child.send('reset'),
    stalls: () => ask<Stalls>('report'),
    holdings: () => ask<Holdings>('holdings'),
  }
}

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Stalls } from './server.ts'

const program = fileURLToPath(new URL('server.ts', import.meta.url))
const sources = new URL('../storage/sources.ts', import.meta.url).href

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
}

export async function startServer(store: string): Promise<ServerProcess> {
  const child: ChildProcess = fork(program, [store], {
    execArgv: ['--import', sources],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [port] = (await once(child, 'message')) as [number]
  const running = (): boolean => child.exitCode === null && child.signalCode === null
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
    async stalls() {
      child.send('report')
      const [report] = (await once(child, 'message')) as [Stalls]
      return report
    },
  }
}

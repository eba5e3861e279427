import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { User } from './server-user.ts'

/** A server in a process of its own. */
export interface RunningServer {
  /** Sends a signal, and does not wait. */
  signal(signal: NodeJS.Signals): void
  /** Sends a signal, and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>
  /** Settles when it has ended, however that came. */
  readonly ended: Promise<unknown>
}

/**
 * Starts a program and waits until it says that it is ready.
 *
 * One that cannot be started or ends before that fails at once, with what it said last: nothing here waits for a server that
 * will not come.
 */
export async function runServer(
  program: string,
  args: readonly string[],
  ready: RegExp,
  user: User | undefined,
): Promise<RunningServer> {
  // Not in this folder, which the user may not be able to enter.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...user })
  const killed = (): void => void child.kill('SIGKILL')
  process.once('exit', killed)
  // Not 'close': a program that it has started may live on with its output, as those that copy a database do.
  const ended = once(child, 'exit').finally(() => process.off('exit', killed))
  ended.catch(() => {})
  await new Promise<void>((resolve, reject) => {
    let said = ''
    const listen = (chunk: Buffer): void => {
      said = (said + String(chunk)).slice(-10_000)
      if (ready.test(said)) resolve()
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    once(child, 'close').then(
      ([code, signal]) =>
        reject(new Error(`${program} ended (${code ?? signal}) before it was ready:\n${said}`)),
      (cause: unknown) => reject(new Error(`${program} does not start.`, { cause })),
    )
  })
  return {
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal)
      await ended
    },
    ended,
  }
}

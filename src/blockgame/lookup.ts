import { connect, type Socket } from 'node:net'
import { ServerCheckError } from '../domain/server-status.ts'

/** One lookup under way: its deadline, and every socket it opened. */
export interface Lookup {
  /** Aborts when the lookup is over: out of time, given up, or closed. */
  readonly signal: AbortSignal
  /** Milliseconds until the deadline, at least 0. */
  timeLeftMs(): number
  /** Opens a connection that cannot outlive the lookup. */
  open(endpoint: { readonly ip: string; readonly port: number }): Socket
  /** Ends the lookup with this error, at once. */
  abort(reason: unknown): void
}

/** Runs one lookup: settles by the deadline or when `signal` aborts, whatever `work` does, and leaves no socket. */
export async function runLookup<Value>(
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
  work: (lookup: Lookup) => Promise<Value>,
): Promise<Value> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = (reason: unknown): void => controller.abort(reason)
  const abortWithCaller = (): void => abort(signal?.reason)
  signal?.addEventListener('abort', abortWithCaller)
  const timer = setTimeout(() => abort(new ServerCheckError('timeout')), timeoutMs)
  const endsAt = performance.now() + timeoutMs
  const sockets = new Set<Socket>()
  const open: Lookup['open'] = ({ ip, port }) => {
    const socket = connect({ host: ip, port, noDelay: true })
    sockets.add(socket)
    // An error nobody listens to would end the process.
    return socket.on('error', () => {})
  }
  try {
    const timeLeftMs = (): number => Math.max(0, endsAt - performance.now())
    return await Promise.race([
      aborted(controller.signal),
      work({ signal: controller.signal, timeLeftMs, open, abort }),
    ])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abortWithCaller)
    // Ends what is still under way: DNS questions, slower connections, a legacy ping.
    abort(over)
    for (const socket of sockets) socket.destroy()
  }
}

const over = new Error('The lookup is over.')

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

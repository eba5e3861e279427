import type { Socket } from 'node:net'
import { ServerCheckError, type ServerCheckFailure } from '../domain/server-status.ts'
import type { Lookup } from './lookup.ts'
import type { Endpoint } from './resolve.ts'

/** A connection that stands, and where it leads. */
export interface Connection {
  /** The open socket. */
  readonly socket: Socket
  /** What it is connected to. */
  readonly endpoint: Endpoint
  /** Milliseconds that connecting took: about one round trip. */
  readonly connectMs: number
}

/**
 * How long one address may take before the next is tried beside it.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8305#section-5 | RFC 8305 section 5}
 */
const attemptDelayMs = 250

/** Connects to the first endpoint that answers, in their order; later ones join in when earlier ones fail or are slow. */
export function connectToFirst(lookup: Lookup, endpoints: readonly Endpoint[]): Promise<Connection> {
  const waiting = [...endpoints]
  const trying = new Set<Socket>()
  let timer: NodeJS.Timeout | undefined
  let failure: Error | undefined
  const noteFailure = (error: Error): void => {
    failure ??= connectionFailure(error, 'refused')
  }
  return new Promise((resolve, reject) => {
    const tryNext = (): void => {
      clearTimeout(timer)
      const endpoint = lookup.over ? undefined : waiting.shift()
      if (endpoint) attempt(endpoint)
      else if (trying.size === 0) reject(failure ?? new ServerCheckError('refused'))
      if (waiting.length > 0 && !lookup.over) timer = setTimeout(tryNext, attemptDelayMs)
    }
    const attempt = (endpoint: Endpoint): void => {
      const startedAt = performance.now()
      const socket = lookup.open(endpoint)
      trying.add(socket)
      const moveOn = (): void => {
        if (trying.delete(socket)) tryNext()
      }
      // Stays for good: an error nobody listens to would end the process.
      socket.on('error', noteFailure).once('close', moveOn)
      socket.once('connect', () => {
        clearTimeout(timer)
        socket.off('close', moveOn)
        trying.delete(socket)
        for (const slower of trying) slower.destroy()
        waiting.length = 0
        trying.clear()
        resolve({ socket, endpoint, connectMs: performance.now() - startedAt })
      })
    }
    tryNext()
  })
}

const failureByCode: Readonly<Record<string, ServerCheckFailure>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
}

/** What a socket's error means for the lookup. */
export function connectionFailure(error: Error, otherwise: ServerCheckFailure): ServerCheckError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return new ServerCheckError(failureByCode[code] ?? otherwise, { cause: error })
}

import { ServerCheckError, type ServerCheckFailure } from '../domain/server-status.ts'
import type { Connection } from './connection.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import type { Endpoint } from './resolve.ts'

/** An open connection, and where it leads. */
export interface Connected {
  /** The open connection. */
  readonly connection: Connection
  /** What it is connected to. */
  readonly endpoint: Endpoint
  /** How long connecting took, in milliseconds: about one round trip. */
  readonly connectMs: number
}

/**
 * How long one address may take before the next is tried in parallel.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8305#section-5 | RFC 8305 section 5}
 */
const attemptDelayMs = 250

/** Connects to the first endpoint that answers. Tries them in order, the next one if earlier ones fail or are slow. */
export function connectToFirst(scope: DeadlineScope, endpoints: readonly Endpoint[]): Promise<Connected> {
  const waiting = [...endpoints]
  const trying = new Set<Connection>()
  let timer: NodeJS.Timeout | undefined
  let failure: Error | undefined
  return new Promise((resolve, reject) => {
    const tryNext = (): void => {
      clearTimeout(timer)
      const endpoint = scope.over ? undefined : waiting.shift()
      if (endpoint) attempt(endpoint)
      else if (trying.size === 0) reject(failure ?? new ServerCheckError('refused'))
      if (waiting.length > 0 && !scope.over) timer = setTimeout(tryNext, attemptDelayMs)
    }
    const attempt = (endpoint: Endpoint): void => {
      const startedAt = performance.now()
      const connection = scope.open(endpoint)
      trying.add(connection)
      connection.tell({
        opened() {
          clearTimeout(timer)
          trying.delete(connection)
          for (const slower of trying) slower.close()
          resolve({ connection, endpoint, connectMs: performance.now() - startedAt })
        },
        closed(error) {
          failure ??= connectionFailure(error, 'refused')
          trying.delete(connection)
          tryNext()
        },
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

/** Returns the error that the end of a connection means for the lookup. */
export function connectionFailure(
  error: NodeJS.ErrnoException | undefined,
  otherwise: ServerCheckFailure,
): ServerCheckError {
  const code = error?.code ?? ''
  return new ServerCheckError(failureByCode[code] ?? otherwise, { cause: error })
}

import { isLocalFailure } from '../bounds/local-failure.ts'
import { ServerCheckError, type ServerCheckFailure } from '../domain/server-status.ts'
import { performance } from '../ports/timers.ts'
import type { Candidates, Destination } from './candidates.ts'
import type { Connection } from './connection.ts'
import type { DeadlineScope } from './deadline-scope.ts'

/** An open connection, and where it leads. */
export interface Connected {
  /** The open connection. */
  readonly connection: Connection
  /** What it is connected to. */
  readonly destination: Destination
  /** How long connecting took, in milliseconds: about one round trip. */
  readonly connectMs: number
}

/**
 * How long one address may take before the next is tried in parallel.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8305#section-5 | RFC 8305 section 5}
 */
export const attemptDelayMs = 250

/**
 * Connects to the first candidate that answers. Tries them in order, the next one if earlier ones fail or are slow, and
 * those that come meanwhile. Those that were slower are candidates again.
 *
 * @param kept - How many of the scope's connections are kept for what comes after.
 */
export function connectToFirst(scope: DeadlineScope, candidates: Candidates, kept = 0): Promise<Connected> {
  const trying = new Map<Connection, Destination>()
  let failure: ServerCheckError | undefined
  // Set while the latest attempt has its time alone.
  let endDelay: (() => void) | undefined
  return new Promise((resolve, reject) => {
    const tryNext = (): void => {
      if (scope.over) return
      endDelay?.()
      endDelay = undefined
      const mayOpen = scope.connectionsLeft > kept
      const destination = mayOpen ? candidates.take() : undefined
      if (destination !== undefined) attempt(destination)
      else if (trying.size === 0 && (candidates.failure !== undefined || !mayOpen))
        finish(() => reject(failure ?? new ServerCheckError(candidates.failure ?? 'refused')))
    }
    const attempt = (destination: Destination): void => {
      const startedAt = performance.now()
      const connection = scope.open(destination)
      trying.set(connection, destination)
      // A lookup of one address, as most are, needs no timer.
      if (!candidates.exhausted) endDelay = scope.after(attemptDelayMs, tryNext)
      connection.tell({
        opened() {
          const connectMs = performance.now() - startedAt
          trying.delete(connection)
          finish(() => resolve({ connection, destination, connectMs }))
        },
        closed(error) {
          // Once this machine is at fault, nothing is known of the others.
          if (failure === undefined || isLocalFailure(error)) failure = connectionFailure(error, 'refused')
          trying.delete(connection)
          tryNext()
        },
      })
    }
    const finish = (settle: () => void): void => {
      endDelay?.()
      candidates.onChange = ignore
      for (const slower of trying.keys()) slower.close()
      candidates.putBack([...trying.values()])
      settle()
    }
    const onChange = (): void => {
      if (endDelay === undefined) tryNext()
    }
    // By name: V8 keeps a function that is written in the assignment, and the whole lookup, until its next full collection.
    candidates.onChange = onChange
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
  const reason = isLocalFailure(error) ? 'local' : failureByCode[error?.code ?? '']
  return new ServerCheckError(reason ?? otherwise, { cause: error })
}

function ignore(): void {}

import { inNoContext } from '../bounds/no-context.ts'
import type { Logger } from '../ports/logger.ts'
import { callWithin, type StorageCall } from '../ports/storage-call.ts'
import { clearTimeout, setTimeout } from '../ports/timers.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'

/** The kinds whose last use is recorded. Access tokens are too many and too short-lived. */
export type RecordedKind = 'reseller_token' | 'api_key'

/** Collects which credentials are used. */
export interface UseRecorder {
  /** Notes that a credential was accepted at a time. Never waits and never throws. */
  note(kind: RecordedKind, id: string, at: number): void
  /** Reports what was collected, and collects no more. */
  close(): Promise<void>
}

export interface UseRecorderParts {
  readonly storage: Pick<TimedStorage, 'recordUse'>
  readonly logger: Logger
  /** How long one report may take, however many calls it needs, because closing waits for it. */
  readonly storageTimeoutMs: number
  /** How often to report. A server that is killed loses what it has not reported. Default: 60,000. */
  readonly intervalMs?: number
}

const dayMs = 86_400_000
/** How many ids one report names: the port's limit. */
const maxIds = 500
/** How many credentials of a kind are remembered, so that one that is used all day is reported once. */
const maxRemembered = 100_000

interface Use {
  readonly kind: RecordedKind
  readonly id: string
  /** When the day began. */
  readonly day: number
}

/** Creates a recorder. It writes at most once a day for each credential, never while a request waits. */
export function createUseRecorder(parts: UseRecorderParts): UseRecorder {
  const { storage, logger, storageTimeoutMs, intervalMs = 60_000 } = parts
  let day = -1
  const remembered: Readonly<Record<RecordedKind, Set<string>>> = {
    reseller_token: new Set(),
    api_key: new Set(),
  }
  let collected: Use[] = []
  let timer: NodeJS.Timeout | undefined
  let reporting: Promise<void> = Promise.resolve()
  let closed = false

  function schedule(): void {
    if (closed || timer !== undefined || collected.length === 0) return
    timer = setTimeout(() => void report().then(schedule), intervalMs).unref()
  }

  /** Reports what was collected, once the report before has ended, because closing must not leave that one behind. */
  function report(): Promise<void> {
    timer = undefined
    reporting = inNoContext(() => reporting.then(reportCollected))
    return reporting
  }

  /** What cannot be reported is kept for the next time. */
  async function reportCollected(): Promise<void> {
    const uses = collected
    collected = []
    const unreported = await reportAll(uses, callWithin(storageTimeoutMs))
    collected = [...unreported, ...collected].slice(0, maxRemembered)
  }

  async function reportAll(uses: readonly Use[], call: StorageCall): Promise<readonly Use[]> {
    const [first] = uses
    if (first === undefined) return []
    const isAlike = ({ kind, day: each }: Use): boolean => kind === first.kind && each === first.day
    const alike = uses.filter(isAlike).slice(0, maxIds)
    try {
      // Each once, as the port promises: a clock that goes back over midnight makes the recorder collect one again. In one
      // order everywhere, so that two servers do not wait for each other's rows.
      const ids = [...new Set(alike.map(({ id }) => id))].toSorted()
      await storage.recordUse(first.kind, ids, first.day, call)
    } catch (error) {
      logger.warn('The uses of credentials could not be recorded.', { cause: (error as Error).cause })
      return uses
    }
    const done = new Set(alike)
    const others = uses.filter((use) => !done.has(use))
    return reportAll(others, call)
  }

  return {
    note(kind, id, at) {
      const today = at - (at % dayMs)
      // The clock tells no time. A use on such a day would be like no other, and reports would never end.
      if (Number.isNaN(today)) return
      if (today !== day) for (const ids of Object.values(remembered)) ids.clear()
      day = today
      const known = remembered[kind]
      if (known.has(id) || collected.length >= maxRemembered || closed) return
      if (known.size >= maxRemembered) known.clear()
      known.add(id)
      collected.push({ kind, id, day })
      schedule()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await report()
    },
  }
}

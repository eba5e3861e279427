import type { AdminStorage } from 'utility-api/storage'
import type { Steps } from './steps.ts'

/** A store whose steps can fail, for one run of one case. */
export interface World {
  readonly storage: AdminStorage
  /** Another instance on the same rows. */
  readonly second: AdminStorage
  /** Ends the fault: from now on, everything works. */
  lift(): void
  /** Another store on the same connection: a case may have closed its own. */
  reopen(): AdminStorage
  close(): void
}

/** A store, and a fault that its steps can get. */
export interface Place {
  readonly store: string
  readonly fault: string
  readonly steps: Steps
  /** Makes an empty store, of which the steps of the case are counted. */
  make(): Promise<World>
}

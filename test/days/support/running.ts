import type { Admin } from 'utility-api'
import type { Scene, Server } from './day-scene.ts'
import type { People } from './people.ts'
import { checkRules } from './rules.ts'
import type { Shared } from './servers.ts'
import { settled } from './under-way.ts'

/** What did not hold, with the seed and what happened before it. */
class DayFailure extends Error {
  override readonly name: string = 'DayFailure'
  readonly trace: readonly string[]

  constructor(seed: number, what: string, trace: readonly string[]) {
    super(`Seed ${seed}, line ${trace.length}: ${what}\n${trace.slice(-60).join('\n')}`)
    this.trace = trace
  }
}

/** A day that is being lived. */
export interface Running {
  readonly scene: Scene
  readonly shared: Shared
  readonly people: People
  readonly admin: Admin
  readonly gate: Server
  readonly servers: Server[]
  readonly failures: readonly string[]
  readonly seed: number
  readonly trace: readonly string[]
  /** What has not ended. */
  readonly open: Set<Promise<unknown>>
  /** How many servers were started. */
  started: number
}

/** Waits till nothing happens by itself, and checks what must then hold. */
export async function check(day: Running): Promise<void> {
  await settled()
  checkRules(day.scene, [...day.servers, day.gate], day.gate)
  if (day.failures.length === 0) return
  const { seed, failures, trace } = day
  throw new DayFailure(seed, failures[0] ?? '', trace)
}

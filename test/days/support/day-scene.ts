import type { UtilityApi } from 'utility-api'
import type { Random } from '../../../src/testing/contract/random.ts'
import type { Ledger } from './ledger.ts'
import type { UnderWay } from './under-way.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The bounds of each server of a day: small, so that they are met. */
export const bounds = {
  maxInFlight: 8,
  maxPerResolver: 4,
  maxLookups: 4,
  storageTimeoutMs: 1000,
  networkTimeoutMs: 1000,
  /** How long closing waits for requests: a second more than what they wait for. */
  drainMs: 2000,
  dnsCacheMs: 2000,
  gameCacheMs: 500,
} as const

/** What must happen in some of the days, or they have shown nothing. */
export const sometimes = [
  'replay of a code',
  'race for a code lost',
  'code expired',
  'access revoked during exchanges',
  'owner refused',
  'idempotent answer',
  'retry after an unknown outcome',
  'answer lost',
  'store call not begun in time',
  'deadline met',
  'share used up',
  'server full',
  'connection used up',
  'flight shared',
  'answer from the cache',
  'no turn in time',
  'request aborted',
  'closed with requests under way',
  'server killed',
  'limiter hung',
  'token verified',
] as const
export type Sometimes = (typeof sometimes)[number]

/** A call that a store has been asked for and has not answered. */
export interface OpenCall {
  readonly method: string
  readonly caller: string | undefined
  readonly timeLeftMs: () => number
}

/** A question to a resolver or a game server that is open. */
export interface OpenQuestion {
  readonly target: string
  readonly name: string
  readonly serial: number
  /** On the scale of the virtual time. */
  readonly askedAt: number
  /** Who may have waited for it. */
  readonly askers: Set<string>
  readonly signal: AbortSignal
  answeredAt: number | undefined
}

/** A request that is not answered. */
export interface Outstanding {
  readonly id: number
  readonly caller: string
  readonly name: string | undefined
  readonly beganAt: number
  readonly limitMs: number
}

/** A server of the day, and what is open there. */
export interface Server {
  readonly name: string
  api: UtilityApi
  readonly calls: Set<OpenCall>
  readonly questions: Set<OpenQuestion>
  /** All questions of the day, open or not. */
  readonly asked: OpenQuestion[]
  readonly outstanding: Set<Outstanding>
  /** The most that were outstanding since the last step. */
  most: number
  /** Unwritten replies by connection. */
  readonly connections: readonly { unwritten: number }[]
  state: 'open' | 'closing' | 'closed' | 'killed'
  closingSince: number
  /** When closing must have ended. */
  closedBy: number
}

/** Everything that the parts of a day share. */
export interface Scene {
  readonly random: Random
  readonly time: VirtualTime
  readonly clock: { now(): number; jump(ms: number): void }
  readonly underWay: UnderWay
  readonly ledger: Ledger
  readonly counts: Map<Sometimes, number>
  /** Whether stores and remotes fail by chance: not before and after the day. */
  faults: boolean
  /** Whether places are counted, at the end: then nothing may fail. */
  counting: boolean
  /** Whether the clock has jumped: the age of an answer then says nothing. */
  jumped: boolean
  /** Counts what has happened. */
  readonly sequence: { now: number }
  trace(line: string): void
  /** Ends the day, if it does not hold. */
  must(holds: boolean, what: string): void
  note(what: Sometimes): void
}

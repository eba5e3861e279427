import { HttpHistory } from '../../histories/support/http-history.ts'

/** Everything that the clients were told, written down before each asks again. */
export class Ledger {
  /** Registered names of the licenses that were answered, by license key. */
  readonly licenses: Map<string, string> = new Map()
  /** License keys that were answered, by idempotency key. */
  readonly orders: Map<string, Set<string>> = new Map()
  /** Access tokens that were answered, by code. */
  readonly tokens: Map<string, string[]> = new Map()
  /** The number of the last value that was acknowledged, by license key and field. */
  readonly fields: Map<string, number> = new Map()
  /** The same and everything that nobody was told, to be judged. */
  readonly history: HttpHistory = new HttpHistory()
  /** How often each status was answered; 0: none. */
  readonly statuses: Map<number, number> = new Map()
  /** When the latest acknowledged write of each server had been asked for. */
  readonly latest: Map<string, number> = new Map()
  /** Writes that were acknowledged. */
  acknowledged = 0
  /** The longest that anybody waited for any answer. */
  longestMs = 0

  answered(status: number, tookMs: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.longestMs = Math.max(this.longestMs, tookMs)
  }

  acknowledge(origin: string, askedAt: number): void {
    this.acknowledged += 1
    this.latest.set(origin, askedAt)
  }
}

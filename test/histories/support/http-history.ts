import type { InsertLicenseResult, License } from 'utility-api/storage'
import { hashSecret } from '../../../src/domain/secret.ts'
import { show, type Model } from '../../../src/testing/contract/model.ts'
import { license } from '../../storage/support/license.ts'
import { judge, type HistoryCall, type Verdict } from './judge.ts'

/** A request: when it was asked, and what came of it. Status 0: no answer. */
export interface Seen {
  readonly status: number
  readonly askedAt: number
  readonly tookMs: number
}

/** What happened in a history: each must be more than 0, or the programme has shown nothing. */
export interface HistoryCounts {
  readonly ok: number
  readonly unknown: number
  /** Exchanges of a code that another had bought. */
  readonly raceLost: number
  /** Orders that got the answer of one before. */
  readonly replaySeen: number
  /** Orders that were answered after one of theirs was not. */
  readonly retryAfterUnknown: number
}

export interface StoredLicense extends Readonly<Record<Field, string>> {
  readonly licenseKey: string
  /** Whom it was ordered for, if updates may have changed that. Default: whom it is registered to. */
  readonly orderedFor?: string
}

/** What is stored in the end. */
export interface Stored {
  readonly licenses: readonly StoredLicense[]
  isLive(accessToken: string): Promise<boolean>
}

/** A field of a license that updates write. */
export type Field = 'registeredTo' | 'domainOrIp'

interface Order {
  readonly name: string
  readonly key: string | undefined
  readonly licenseKey: string | undefined
  readonly seen: Seen
}

/** As many calls on one license as a programme makes: they come one after the other. */
const maxCalls = 5000

/**
 * What the clients of a service were told over HTTP, judged by the model of the port: an answer of 200 and a refusal say
 * what was done, 503 says that nothing was, and after everything else nobody knows.
 */
export class HttpHistory {
  readonly #calls: HistoryCall[] = []
  readonly #orders: Order[] = []
  readonly #tokens: { readonly code: string; readonly token: string }[] = []
  readonly #codes: Set<string> = new Set()
  readonly #written: Map<string, { readonly licenseKey: string; readonly field: Field }> = new Map()
  readonly #codesExpire: boolean
  #raceLost = 0

  /** By a clock that jumps, a code may have expired at one moment and not at the next: its refusals say nothing then. */
  constructor({ codesExpire = false }: { readonly codesExpire?: boolean } = {}) {
    this.#codesExpire = codesExpire
  }

  /** An exchange of a code, which was issued before the history began. */
  exchanged(code: string, seen: Seen, accessToken?: string): void {
    this.#issued(code)
    const token = accessToken ?? `none ${this.#calls.length}`
    if (seen.status === 200) this.#tokens.push({ code, token })
    if (seen.status === 400) this.#raceLost += 1
    if (seen.status === 400 && this.#codesExpire) return
    const owned = { ownerId: '', subject: null, scope: '', createdAt: 1, expiresAt: 2 ** 41 }
    const redeem = (model: Model): unknown =>
      model.redeemAuthorizationCode(hashSecret(code), 1, { id: token, hash: hashSecret(token), ...owned })
    this.#add(`exchange ${code}`, [`code ${code}`], redeem, seen, answered(seen, { 200: true, 400: false }))
  }

  /** An order of a license, which was answered with its key or not. */
  ordered(name: string, key: string | undefined, seen: Seen, licenseKey?: string): void {
    this.#orders.push({ name, key, licenseKey, seen })
  }

  /** An update of a field of a license that had this value before the history began. */
  updated(licenseKey: string, field: Field, before: string, value: string, seen: Seen): void {
    const name = `${licenseKey} ${field}`
    if (!this.#written.has(name)) {
      this.#written.set(name, { licenseKey, field })
      const insert = (model: Model): unknown =>
        model.insertLicense(license(name, { registeredTo: before, resellerId: '' }))
      this.#add(`before: ${before}`, [name], insert, begun, 'inserted')
    }
    const update = (model: Model): unknown =>
      model.updateLicense({ licenseKey: name, resellerId: '', patch: { registeredTo: value }, at: 1 })
    this.#add(`update ${field} to ${value}`, [name], update, seen, answered(seen, { 200: 'updated' }))
  }

  /** Reads what is stored in the end, and judges everything. */
  async judge(stored: Stored): Promise<Verdict & { readonly counts: HistoryCounts }> {
    const now: Seen = { status: 200, askedAt: Number.MAX_SAFE_INTEGER, tookMs: 0 }
    const retried = this.#addOrders(stored, now)
    const byKey = new Map(stored.licenses.map((each) => [each.licenseKey, each]))
    for (const [name, { licenseKey, field }] of this.#written)
      this.#add(
        'stored',
        [name],
        (model) => (model.findLicense(name) as License | null)?.registeredTo,
        now,
        byKey.get(licenseKey)?.[field],
      )
    for (const { code, token } of this.#tokens) {
      const isThere = (model: Model): unknown =>
        model.findCredential('access_token', hashSecret(token)) !== null
      this.#add('token is live', [`code ${code}`], isThere, now, await stored.isLive(token))
    }
    const ok = this.#calls.filter(({ answer, to }) => answer !== null && to > 0 && to < now.askedAt).length
    const unknown = this.#calls.filter(({ answer }) => answer === null).length
    return { ...judge(this.#calls, maxCalls), counts: { ok, unknown, raceLost: this.#raceLost, ...retried } }
  }

  /** Adds the orders. Those of one idempotency key ask for one license, whose key all who are answered are told. */
  #addOrders(stored: Stored, now: Seen): { replaySeen: number; retryAfterUnknown: number } {
    const named = Map.groupBy(stored.licenses, (each) => each.orderedFor ?? each.registeredTo)
    let [replaySeen, retryAfterUnknown] = [0, 0]
    for (const [thing, orders] of Map.groupBy(this.#orders, ({ key, name }) => key ?? name)) {
      const licenseKey = orders.find((each) => each.licenseKey !== undefined)?.licenseKey ?? `none ${thing}`
      const answeredOrders = orders.filter(({ seen }) => seen.status === 200)
      replaySeen += Math.max(0, answeredOrders.length - 1)
      if (answeredOrders.length > 0 && answeredOrders.length < orders.length) retryAfterUnknown += 1
      for (const { name, key, seen, licenseKey: told } of orders) {
        const idempotency =
          key === undefined
            ? undefined
            : {
                resellerId: '',
                keyHash: hashSecret(key),
                requestHash: hashSecret(name),
                at: 0,
                expiresAt: null,
              }
        const insert = (model: Model): unknown => {
          const row = license(licenseKey, { registeredTo: name })
          const answer = model.insertLicense(row, idempotency) as InsertLicenseResult
          return typeof answer === 'string' ? licenseKey : answer.replay
        }
        this.#add(`order ${name}`, [thing], insert, seen, answered(seen, { 200: told }))
      }
      const count = named.get(orders[0]?.name ?? '')?.length ?? 0
      this.#add('licenses', [thing], (model) => (model.list('licenses', 1) as unknown[]).length, now, count)
      const isTold = answeredOrders.length > 0
      const isThere = stored.licenses.some((each) => each.licenseKey === licenseKey)
      if (isTold)
        this.#add('is stored', [thing], (model) => model.findLicense(licenseKey) !== null, now, isThere)
    }
    return { replaySeen, retryAfterUnknown }
  }

  #issued(code: string): void {
    if (this.#codes.has(code)) return
    this.#codes.add(code)
    const granted = { clientId: '', subject: null, redirectUri: '', scope: '', codeChallenge: null }
    const insert = (model: Model): unknown =>
      model.insertAuthorizationCode(hashSecret(code), { ...granted, expiresAt: 2 ** 41, redeemedAt: null })
    this.#add('issued', [`code ${code}`], insert, begun, undefined)
  }

  #add(
    text: string,
    touches: readonly string[],
    step: HistoryCall['steps'][number],
    seen: Seen,
    answer: unknown,
  ): void {
    if (seen.status === 503) return
    const known = answer === unknown ? null : show(answer)
    this.#calls.push({
      text,
      touches,
      steps: [step],
      answer: known,
      from: seen.askedAt,
      to: seen.askedAt + seen.tookMs,
    })
  }
}

const begun: Seen = { status: 200, askedAt: -1, tookMs: 0 }
const unknown = Symbol('unknown')

/** What the model has to answer for a status; a refusal that it does not know is an answer that no model gives. */
function answered({ status }: Seen, answers: Readonly<Record<number, unknown>>): unknown {
  if (status in answers) return answers[status]
  return status >= 400 && status < 500 ? `status ${status}` : unknown
}

import { isIP } from 'node:net'
import { createSingleFlight } from '../bounds/single-flight.ts'
import { saysSomething, type DnsAnswer } from '../domain/dns-answer.ts'
import type { DnsRecord, RecordOf, RecordType } from '../domain/dns-record.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { ServerCheckError } from '../domain/server-status.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import type { DeadlineScope } from './deadline-scope.ts'

/**
 * The address of a resolver.
 *
 * @group Minecraft
 */
export interface ResolverAddress {
  /** IPv4 or IPv6 address. */
  readonly ip: string
  /** UDP and TCP port. Default: 53. */
  readonly port?: number
}

/** Finds the addresses of a name in the program's own way; null: in the usual one. */
export type Resolve = (
  host: string,
  terms: { readonly signal: AbortSignal },
) => Promise<readonly string[] | null>

const maxResolvers = 3

/**
 * The resolvers that a client asks, one after the other until one answers.
 *
 * Lookups of one host share its questions, because with many alike under way, a forged answer would be right for one of
 * them sooner.
 */
export class Resolvers {
  readonly #dns: DnsClient
  readonly #servers: readonly ResolverAddress[]
  readonly #underWay = createSingleFlight<readonly DnsRecord[]>()

  readonly #resolve: Resolve | undefined

  constructor(dns: DnsClient, resolvers: readonly ResolverAddress[], resolve?: Resolve) {
    this.#dns = dns
    this.#resolve = resolve
    this.#servers = resolvers.slice(0, maxResolvers)
  }

  /**
   * Returns the addresses that the program itself knows for a name, or null.
   *
   * @throws `TypeError` if they are no addresses
   */
  async own(host: string, { signal }: DeadlineScope): Promise<readonly string[] | null> {
    const found: unknown = await this.#resolve?.(host, { signal })
    const isList = Array.isArray(found) && found.every((ip) => typeof ip === 'string' && isIP(ip) !== 0)
    if (found !== null && !isList) throw new TypeError('resolve must return a list of IP addresses, or null.')
    return found
  }

  /** Whether the program has its own way. */
  get hasOwn(): boolean {
    return this.#resolve !== undefined
  }

  /** Returns the records of a name; none if no resolver answers within `budgetMs`. Rejects once the lookup has ended. */
  async ask<Type extends RecordType>(
    name: string,
    type: Type,
    budgetMs: number,
    { signal }: DeadlineScope,
  ): Promise<readonly RecordOf<Type>[]> {
    const terms = { signal, timeoutMs: budgetMs }
    const records = await this.#underWay.join(`${type} ${name}`, '', terms, (flight) =>
      this.#askAll({ name, type, signal: flight.signal }, budgetMs / this.#servers.length),
    )
    return records.filter((record): record is RecordOf<Type> => record.type === type)
  }

  async #askAll(
    question: Pick<DnsQuestion, 'name' | 'type' | 'signal'>,
    ofEachMs: number,
    index = 0,
  ): Promise<readonly DnsRecord[]> {
    const server = this.#servers[index]
    if (server === undefined) return []
    const timeoutMs = Math.max(1, Math.floor(ofEachMs))
    const answer = await this.#query({ ...question, server, timeoutMs })
    return saysSomething(answer) ? answer.records : this.#askAll(question, ofEachMs, index + 1)
  }

  async #query(question: DnsQuestion): Promise<DnsAnswer> {
    try {
      return await this.#dns.query(question)
    } catch (error) {
      if (error instanceof UtilityApiError && error.code === 'unavailable')
        throw new ServerCheckError('local', { cause: error.cause })
      throw error
    }
  }
}

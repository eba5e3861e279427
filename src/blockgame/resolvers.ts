import type { DnsRecord, RecordType } from '../domain/dns-answer.ts'
import type { DnsClient } from '../ports/dns-client.ts'
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

const maxResolvers = 3

/** A question under way, and how many lookups wait for it. */
interface OpenQuestion {
  readonly records: Promise<readonly DnsRecord[]>
  readonly controller: AbortController
  /** A time of `performance.now()`. */
  readonly endsAt: number
  lookups: number
}

/** Holds a question until it is answered. */
interface Entry {
  question: OpenQuestion | undefined
}

/**
 * The resolvers that a client asks, one after the other until one answers.
 *
 * Lookups of one host share its questions: with many alike under way, a forged answer would be right for one of them
 * sooner.
 */
export class Resolvers {
  readonly #dns: DnsClient
  readonly #servers: readonly ResolverAddress[]
  readonly #latest = new Map<string, Entry>()

  constructor(dns: DnsClient, resolvers: readonly ResolverAddress[]) {
    this.#dns = dns
    this.#servers = resolvers.slice(0, maxResolvers)
  }

  /** Returns the records of a name; none if no resolver answers within `budgetMs`. Rejects once the lookup has ended. */
  async ask<Type extends RecordType>(
    name: string,
    type: Type,
    budgetMs: number,
    { signal }: DeadlineScope,
  ): Promise<readonly Extract<DnsRecord, { type: Type }>[]> {
    signal.throwIfAborted()
    const key = `${type} ${name}`
    const question = this.#joinable(key, budgetMs) ?? this.#start(key, name, type, budgetMs)
    question.lookups += 1
    const leave = (): void => {
      question.lookups -= 1
      if (question.lookups === 0) question.controller.abort(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      const records = await question.records
      signal.throwIfAborted()
      return records.filter((record): record is Extract<DnsRecord, { type: Type }> => record.type === type)
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Returns the question under way, if it ends within the time allowed and at least half of that time is left to it. */
  #joinable(key: string, budgetMs: number): OpenQuestion | undefined {
    const question = this.#latest.get(key)?.question
    if (question === undefined || question.lookups === 0) return undefined
    const leftMs = question.endsAt - performance.now()
    return leftMs <= budgetMs && leftMs * 2 >= budgetMs ? question : undefined
  }

  #start(key: string, name: string, type: RecordType, budgetMs: number): OpenQuestion {
    const controller = new AbortController()
    const { signal } = controller
    const timeoutMs = Math.max(1, Math.floor(budgetMs / this.#servers.length))
    const askFrom = async (index: number): Promise<readonly DnsRecord[]> => {
      const server = this.#servers[index]
      if (server === undefined) return []
      const { status, records } = await this.#dns.query({ name, type, server, timeoutMs, signal })
      if (status === 'NOERROR') return records
      return status === 'NXDOMAIN' || status === 'NODATA' ? [] : askFrom(index + 1)
    }
    const entry: Entry = { question: undefined }
    const records = askFrom(0).finally(() => {
      if (this.#latest.get(key) === entry) this.#latest.delete(key)
      // A map's former tables keep their entries, and what is in them, until a full garbage collection.
      entry.question = undefined
    })
    entry.question = { records, controller, endsAt: performance.now() + budgetMs, lookups: 0 }
    this.#latest.set(key, entry)
    return entry.question
  }
}

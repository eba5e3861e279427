import { createUtilityApi, UtilityApiError } from 'utility-api'
import type {
  DnsAnswer,
  DnsCheckResult,
  DnsClient,
  DnsQuestion,
  RecordType,
  ResolverLocation,
  UtilityApi,
} from 'utility-api'
import { createDnsClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { UsageError } from '../terminal/command.ts'

/** Receives progress while a check is running. */
export interface CheckListener {
  /** Called when a resolver is queried. */
  onQuestion(): void
  /** Called when the resolver at this position in the list has answered. */
  onAnswer(type: string, position: number, answer: DnsAnswer): void
}

/** Runs our own DNS check any number of times. */
export interface Checker extends AsyncDisposable {
  /** Rejects with a usage error if the name or a type is invalid. Asks no resolver. */
  requireValid(name: string, types: readonly string[]): Promise<void>
  check(name: string, type: string, signal: AbortSignal): Promise<DnsCheckResult[]>
}

/** How to ask. */
export interface CheckTerms {
  /** The whole check, in seconds. */
  readonly seconds: number
  readonly overTcp: boolean
  /** The addresses of servers that are to answer only what they know themselves. */
  readonly authorities: ReadonlySet<string>
}

const usualTerms: CheckTerms = { seconds: 5, overTcp: false, authorities: new Set() }

export async function createChecker(
  locations: readonly ResolverLocation[],
  listener: CheckListener,
  { seconds, overTcp, authorities }: CheckTerms = usualTerms,
): Promise<Checker> {
  const storage = memoryStorage()
  const client = createDnsClient()
  const reporting: DnsClient = {
    ...client,
    async query(question) {
      listener.onQuestion()
      const answer = await client.query({
        ...question,
        ...(overTcp && { transport: 'tcp' as const }),
        ...(authorities.has(question.server.ip) && { recursionDesired: false }),
      })
      for (const [position, location] of locations.entries())
        if (isAt(location, question)) listener.onAnswer(question.type, position, answer)
      return answer
    },
  }
  const api = createUtilityApi({
    storage,
    dns: { locations, client: reporting, cacheTtlMs: 0, timeoutMs: seconds * 1000 },
  })
  const trial = createUtilityApi({ storage, dns: { locations, client: offline } })

  async function checkWith(
    of: UtilityApi,
    domain: string,
    type: string,
    signal?: AbortSignal,
  ): Promise<DnsCheckResult[]> {
    try {
      return await of.checkDns({ domain, recordType: type as RecordType }, { signal })
    } catch (error) {
      if (!(error instanceof UtilityApiError) || error.code !== 'invalid_request') throw error
      throw new UsageError(error.message.replace(/^domain/, 'NAME').replace(/^recordType/, 'TYPE'))
    }
  }

  return {
    async requireValid(name, types) {
      await Promise.all(types.map((type) => checkWith(trial, name, type)))
    },
    check: (name, type, signal) => checkWith(api, name, type, signal),
    async [Symbol.asyncDispose]() {
      await client.close()
      await api.close()
    },
  }
}

/** Answers at once, so that a check only tells whether its question is valid. */
const offline: DnsClient = {
  query: async () => ({ status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 0 }),
  close: async () => {},
}

function isAt({ ip, port = 53 }: ResolverLocation, { server }: DnsQuestion): boolean {
  return ip === server.ip && port === (server.port ?? 53)
}

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
import { createDnsClient, type AuthoritativeServers } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { UsageError } from '../terminal/command.ts'

/** An answer, and what was asked because of it. */
export interface CheckAnswer extends DnsAnswer {
  /** Whether the resolver has an answer if it does not validate. */
  readonly failsOnlyWithValidation?: boolean
}

/** Receives progress while a check is running. */
export interface CheckListener {
  /** Called when a resolver is queried. */
  onQuestion(): void
  /** Called when the resolver at this position in the list has answered. */
  onAnswer(position: number, answer: CheckAnswer): void
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
  /** The servers that are to answer only what they know themselves. */
  readonly authority: AuthoritativeServers | null
}

const usualTerms: CheckTerms = { seconds: 5, overTcp: false, authority: null }

export async function createChecker(
  locations: readonly ResolverLocation[],
  listener: CheckListener,
  { seconds, overTcp, authority }: CheckTerms = usualTerms,
): Promise<Checker> {
  const storage = memoryStorage()
  const client = createDnsClient()
  const reporting: DnsClient = {
    ...client,
    async query(question) {
      listener.onQuestion()
      const asked = { ...question, ...(overTcp && { transport: 'tcp' as const }) }
      const isOwn = authority?.servers.some((server) => isAt(server, question)) === true
      const answer = isOwn ? await askOwn(asked, authority.name) : await client.query(asked)
      const failsOnlyWithValidation = !isOwn && (await isBogus(asked, answer))
      for (const [position, location] of locations.entries())
        if (isAt(location, question)) listener.onAnswer(position, { ...answer, failsOnlyWithValidation })
      return answer
    },
  }
  /** Asks for the name that the zone's servers have: where the alias leads, if there is one. */
  async function askOwn(question: DnsQuestion, name: string): Promise<DnsAnswer> {
    const answer = await client.query({ ...question, name, recursionDesired: false })
    return name === question.name ? answer : { ...answer, cnameChain: [name, ...answer.cnameChain] }
  }
  /** Asks again in the time that is left, without validation. */
  async function isBogus(question: DnsQuestion, { status, latencyMs }: DnsAnswer): Promise<boolean> {
    const timeoutMs = (question.timeoutMs ?? 0) - latencyMs - spareMs
    if (status !== 'SERVFAIL' || timeoutMs < spareMs) return false
    const unchecked = await client.query({ ...question, checkingDisabled: true, timeoutMs })
    return ['NOERROR', 'NODATA', 'NXDOMAIN'].includes(unchecked.status)
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

/** So much earlier than the check must a question end that is asked because of another. */
const spareMs = 100

/** Answers at once, so that a check only tells whether its question is valid. */
const offline: DnsClient = {
  query: async () => ({ status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 0 }),
  close: async () => {},
}

function isAt({ ip, port = 53 }: Pick<ResolverLocation, 'ip' | 'port'>, { server }: DnsQuestion): boolean {
  return ip === server.ip && port === (server.port ?? 53)
}

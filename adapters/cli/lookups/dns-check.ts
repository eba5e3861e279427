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

/** What to ask for, and of whom. */
export interface CheckQuestion {
  readonly name: string
  readonly type: string
  readonly locations: readonly ResolverLocation[]
  /** The servers that are to answer only what they know themselves. */
  readonly authority: AuthoritativeServers | null
}

/** How to ask. */
export interface CheckTerms {
  /** The whole check, in seconds. */
  readonly seconds: number
  readonly overTcp: boolean
  readonly signal: AbortSignal
}

/** Rejects with a usage error if the name or a type is invalid. Asks no resolver. */
export async function requireValid(
  name: string,
  types: readonly string[],
  locations: readonly ResolverLocation[],
): Promise<void> {
  const api = createUtilityApi({ storage: memoryStorage(), dns: { locations, client: offline } })
  await Promise.all(types.map((type) => checkWith(api, name, type)))
  await api.close()
}

/** Runs our own DNS check. Calls `onAnswer` with each answer as it comes, and its position. */
export async function check(
  { name, type, locations, authority }: CheckQuestion,
  { seconds, overTcp, signal }: CheckTerms,
  onAnswer: (result: DnsCheckResult, position: number) => void,
): Promise<DnsCheckResult[]> {
  const own = createDnsClient()
  const client: DnsClient = {
    ...own,
    query(question) {
      const asked = { ...question, ...(overTcp && { transport: 'tcp' as const }) }
      const isOfZone = authority?.servers.some((server) => isAt(server, question)) === true
      return isOfZone ? askZone(asked, authority.name) : own.query(asked)
    },
  }
  /** Asks for the name that the zone's servers have, which is where the alias leads, if there is one. */
  async function askZone(question: DnsQuestion, of: string): Promise<DnsAnswer> {
    const answer = await own.query({ ...question, name: of, recursionDesired: false })
    return of === question.name ? answer : { ...answer, cnameChain: [of, ...answer.cnameChain] }
  }
  const dns = { locations, client, cacheTtlMs: 0, timeoutMs: seconds * 1000 }
  const api = createUtilityApi({ storage: memoryStorage(), dns })
  try {
    return await checkWith(api, name, type, { signal, onAnswer })
  } finally {
    await own.close()
    await api.close()
  }
}

async function checkWith(
  api: UtilityApi,
  domain: string,
  type: string,
  call?: Parameters<UtilityApi['checkDns']>[1],
): Promise<DnsCheckResult[]> {
  try {
    return await api.checkDns({ domain, recordType: type as RecordType }, call)
  } catch (error) {
    if (!(error instanceof UtilityApiError) || error.code !== 'invalid_request') throw error
    throw new UsageError(error.message.replace(/^domain/, 'NAME').replace(/^recordType/, 'TYPE'))
  }
}

/** Answers at once, so that a check only tells whether its question is valid. */
const offline: DnsClient = {
  query: async () => ({ status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 0 }),
  close: async () => {},
}

function isAt({ ip, port = 53 }: Pick<ResolverLocation, 'ip' | 'port'>, { server }: DnsQuestion): boolean {
  return ip === server.ip && port === (server.port ?? 53)
}

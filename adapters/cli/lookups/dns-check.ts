import { createAdmin, createUtilityApi } from 'utility-api'
import type {
  DnsAnswer,
  DnsCheckResult,
  DnsClient,
  DnsQuestion,
  ResolverLocation,
  UtilityApi,
} from 'utility-api'
import { createDnsClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { ask } from './ask.ts'
import { UsageError } from '../terminal/command.ts'

/** Receives progress while a check is running. */
export interface CheckListener {
  /** Called when a resolver is queried. */
  onQuestion(): void
  /** Called when the resolver at this place in the list has answered. */
  onAnswer(type: string, place: number, answer: DnsAnswer): void
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
      for (const [place, location] of locations.entries())
        if (isAt(location, question)) listener.onAnswer(question.type, place, answer)
      return answer
    },
  }
  const api = createUtilityApi({
    storage,
    dns: { locations, client: reporting, cacheTtlMs: 0, timeoutMs: seconds * 1000 },
  })
  const trial = createUtilityApi({ storage, dns: { locations, client: offline } })
  // A check can be repeated for days: `--watch` must not end with the token.
  const lifetimeSeconds = 31_536_000
  const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '', lifetimeSeconds })

  async function askOf(of: UtilityApi, name: string, type: string, signal?: AbortSignal): Promise<unknown> {
    const headers = { Authorization: `Bearer ${accessToken}`, 'X-Domain': name, 'X-Record-Type': type }
    const { status, body } = await ask(of, '/v3/tools/dnscheck', headers, signal)
    if (status === 200) return body
    signal?.throwIfAborted()
    const { message } = body as { message: string }
    throw new UsageError(message.replace('X-Domain', 'NAME').replace('X-Record-Type', 'TYPE'))
  }

  return {
    async requireValid(name, types) {
      await Promise.all(types.map((type) => askOf(trial, name, type)))
    },
    async check(name, type, signal) {
      return (await askOf(api, name, type, signal)) as DnsCheckResult[]
    },
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

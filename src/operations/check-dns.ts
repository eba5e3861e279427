import { z } from 'zod'
import {
  recordTypes,
  type DnsAnswer,
  type DnsRecord,
  type DnsStatus,
  type ExtendedDnsError,
  type RecordType,
  type ResolverLocation,
} from '../domain/dns-check.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { parseHostName } from '../domain/host-name.ts'
import { parseIpAddress, reverseName } from '../domain/ip-address.ts'
import type { Clock } from '../ports/clock.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { dnsRecordSchema } from './dns-record-schema.ts'
import { requiredText } from './fields.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import type { Operation } from './operation.ts'
import { createSharedWork } from './shared-work.ts'
import { trace } from './tracing.ts'

export interface CheckDnsParts {
  readonly client: DnsClient
  readonly clock: Clock
  readonly locations: readonly ResolverLocation[]
  readonly timeoutMs: number
  readonly cacheTtlMs: number
  readonly maxConcurrentPerResolver: number
  readonly requiredScope?: string | undefined
}

export interface CheckDnsInput {
  domain: string
  recordType: RecordType
}

export interface DnsCheckResult {
  location: string
  ip: string
  provider: string
  dns_results: DnsRecord[]
  resolved: boolean
  status: DnsStatus
  latency_ms: number
  cname_chain?: string[] | undefined
  transport?: 'udp' | 'tcp' | undefined
  ede?: ExtendedDnsError[] | undefined
  client_subnet_scope?: number | undefined
}

/**
 * Asks every configured resolver for the records of a domain.
 *
 * @see spec section 4.4
 */
export function checkDns(parts: CheckDnsParts): Operation<CheckDnsInput, DnsCheckResult[]> {
  const { client, clock, locations, timeoutMs } = parts
  const limiters = new Map<string, Limiter>()
  const resolvers = locations.map((location) => {
    const limiter = limiters.get(addressOf(location)) ?? createLimiter(parts.maxConcurrentPerResolver)
    limiters.set(addressOf(location), limiter)
    return { location, limiter, target: targetOf(location) }
  })
  const checks = createSharedWork<DnsCheckResult[]>({
    clock,
    lifetimeMs: (results) => Math.min(parts.cacheTtlMs, shortestTtlMs(results)),
  })

  async function ask(
    { location, limiter, target }: Resolver,
    question: Question,
    signal: AbortSignal,
  ): Promise<DnsCheckResult> {
    const started = performance.now()
    const send = (): Promise<DnsAnswer> => {
      const left = Math.max(1, Math.floor(timeoutMs - (performance.now() - started)))
      return client.query({ ...question, ...target, timeoutMs: left, signal })
    }
    const query = (): Promise<DnsAnswer> =>
      trace('dns', () => ({ type: question.type, server: location.ip }), send)
    try {
      return resultOf(location, await limiter.run(query, signal, timeoutMs))
    } catch (error) {
      if (signal.aborted) throw error
      const status =
        error instanceof DOMException && error.name === 'TimeoutError' ? 'TIMEOUT' : 'UNREACHABLE'
      return resultOf(location, unanswered(status, performance.now() - started))
    }
  }

  return {
    id: 'checkDns',
    method: 'GET',
    path: '/v3/tools/dnscheck',
    summary: 'Check the DNS records of a domain at several resolver locations',
    security: { kind: 'access_token', permission: parts.requiredScope },
    waitsFor: 'network',
    parameters: {
      domain: { in: 'header', name: 'X-Domain', description: 'The domain to check.' },
      recordType: { in: 'header', name: 'X-Record-Type', description: 'The record type to look up.' },
    },
    input: z.object({
      domain: requiredText(),
      recordType: requiredText()
        .toUpperCase()
        .pipe(z.enum(recordTypes, `must be one of ${recordTypes.join(', ')}`)),
    }),
    output: z.array(dnsCheckResultSchema()),

    async run({ domain, recordType }, { signal }) {
      const name = questionName(domain, recordType)
      if (name === null) throw new UtilityApiError('invalid_request', 'X-Domain must be a domain name.')
      const question = { name, type: recordType }
      return checks.get(`${recordType} ${name}`, signal, (shared) =>
        Promise.all(resolvers.map((resolver) => ask(resolver, question, shared))),
      )
    },
  }
}

interface Resolver {
  readonly location: ResolverLocation
  /** One for all locations of the same address. */
  readonly limiter: Limiter
  readonly target: Pick<DnsQuestion, 'server' | 'clientSubnet'>
}

interface Question {
  readonly name: string
  readonly type: RecordType
}

function questionName(domain: string, type: RecordType): string | null {
  if (domain === '.') return type === 'NS' || type === 'SOA' || type === 'DNSKEY' ? '.' : null
  const octets = type === 'PTR' ? parseIpAddress(domain) : null
  return octets === null ? parseHostName(domain, { underscores: true }) : reverseName(octets)
}

function addressOf({ ip, port = 53 }: ResolverLocation): string {
  return `${ip} ${port}`
}

function targetOf({ ip, port, clientSubnet }: ResolverLocation): Resolver['target'] {
  return {
    server: { ip, ...(port !== undefined && { port }) },
    ...(clientSubnet !== undefined && { clientSubnet }),
  }
}

function unanswered(status: DnsStatus, latencyMs: number): DnsAnswer {
  return { status, records: [], cnameChain: [], transport: 'udp', latencyMs }
}

function resultOf({ location, ip, provider }: ResolverLocation, answer: DnsAnswer): DnsCheckResult {
  return {
    location,
    ip,
    provider,
    dns_results: [...answer.records],
    resolved: answer.records.length > 0,
    status: answer.status,
    latency_ms: Math.round(answer.latencyMs),
    ...(answer.cnameChain.length > 0 && { cname_chain: [...answer.cnameChain] }),
    transport: answer.transport,
    ...(answer.ede !== undefined && { ede: [...answer.ede] }),
    ...(answer.clientSubnetScope !== undefined && { client_subnet_scope: answer.clientSubnetScope }),
  }
}

function shortestTtlMs(results: readonly DnsCheckResult[]): number {
  const ttls = results.flatMap((result) => result.dns_results.map((record) => record.ttl))
  return ttls.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...ttls) * 1000
}

function dnsCheckResultSchema(): z.ZodType<DnsCheckResult> {
  return z.object({
    location: z.string().describe('Place label of the resolver.'),
    ip: z.string().describe('Address of the resolver.'),
    provider: z.string().describe('Name of the resolver provider.'),
    dns_results: z.array(dnsRecordSchema()).describe('Records found.'),
    resolved: z.boolean().describe('Whether a record of the asked type came.'),
    status: z
      .enum([
        'NOERROR',
        'NXDOMAIN',
        'NODATA',
        'SERVFAIL',
        'REFUSED',
        'FORMERR',
        'TIMEOUT',
        'UNREACHABLE',
        'TRUNCATED',
        'MALFORMED',
      ])
      .describe('How the lookup ended.'),
    latency_ms: z.int().describe('Milliseconds the resolver took.'),
    cname_chain: z.array(z.string()).optional().describe('Canonical names passed through.'),
    transport: z.enum(['udp', 'tcp']).optional().describe('What carried the answer.'),
    ede: z
      .array(z.object({ code: z.int(), text: z.string() }))
      .optional()
      .describe('Extended DNS errors (RFC 8914).'),
    client_subnet_scope: z
      .int()
      .optional()
      .describe('Bits of the client subnet that the answer was made for (RFC 7871); 0: for everybody.'),
  })
}

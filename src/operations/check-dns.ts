import * as z from 'zod'
import {
  dnsStatuses,
  saysSomething,
  type DnsAnswer,
  type DnsStatus,
  type ExtendedDnsError,
} from '../domain/dns-answer.ts'
import { isLongAnswer } from '../domain/dns-answer-limit.ts'
import { longestNameText, parseDnsName } from '../domain/dns-name.ts'
import type { DnsRecord, RecordType } from '../domain/dns-record.ts'
import { refusal, refused, UtilityApiError } from '../domain/errors.ts'
import { isDnsServerAddress, parseIpAddress, reverseName } from '../domain/ip-address.ts'
import { isForbidden } from '../bounds/local-failure.ts'
import type { ResolverLocation } from '../domain/resolver-location.ts'
import type { Clock } from '../ports/clock.ts'
import type { DnsQuestion } from '../ports/dns-client.ts'
import { channels, trace } from '../ports/diagnostics.ts'
import { ownTurn } from '../bounds/one-a-turn.ts'
import type { Logger } from '../ports/logger.ts'
import type { TimedDnsClient } from '../bounds/timed-clients.ts'
import { performance } from '../ports/timers.ts'
import { dnsRecordSchema } from './dns-record-schema.ts'
import { patterns, recordTypeText, requiredText } from './input-schemas.ts'
import { tooManyOctets, type OctetBudget } from '../bounds/octet-budget.ts'
import type { Operation } from './operation.ts'
import { inNoContext } from '../bounds/no-context.ts'
import { keptFor, type ResultCache } from '../bounds/result-cache.ts'
import { createSemaphore, NoTurnError, type Semaphore } from '../bounds/semaphore.ts'
import { jsonArray, jsonBody, octetsOf, SharedAnswer, type JsonBody } from '../bounds/shared-answer.ts'
import { createSingleFlight, type Flight } from '../bounds/single-flight.ts'

/**
 * A resolver that fails may answer a moment later, so a failure is never kept longer, however long answers are kept.
 */
const failureLifetimeMs = 5000

export interface CheckDnsParts {
  readonly client: TimedDnsClient
  readonly clock: Clock
  readonly logger: Logger
  readonly locations: readonly ResolverLocation[]
  readonly timeoutMs: number
  readonly cacheTtlMs: number
  readonly cache: ResultCache<SharedAnswer<DnsCheckResult[]>>
  readonly budget: OctetBudget
  readonly maxConcurrentPerResolver: number
  readonly requiredScope?: string | undefined
}

export interface CheckDnsInput {
  domain: string
  recordType: RecordType
}

/**
 * One element of a DNS check's answer: what the resolver of one location says, with the member names of the JSON.
 *
 * @see docs/contract.md section 2.3
 *
 * @group DNS
 */
export interface DnsCheckResult {
  /** Label of the resolver's place. */
  location: string
  /** Address of the resolver. */
  ip: string
  /** Name of the resolver's provider. */
  provider: string
  /** The records of the requested type. */
  dns_results: DnsRecord[]
  /** Whether there is at least one such record. */
  resolved: boolean
  /** How the question ended. */
  status: DnsStatus
  /** Milliseconds that the resolver took. */
  latency_ms: number
  /** Seconds for which resolvers may remember that there are no such records, if there are none and the zone says so. */
  negative_ttl?: number | undefined
  /** The canonical names passed through, if there are any. */
  cname_chain?: string[] | undefined
  /** The largest TTL of the aliases passed through, in seconds. */
  cname_ttl?: number | undefined
  /** The transport that carried the answer. */
  transport?: 'udp' | 'tcp' | 'https' | undefined
  /** Extended DNS errors, if the resolver sent any. */
  ede?: ExtendedDnsError[] | undefined
  /** Bits of the client subnet that the answer was made for, if one was sent and taken into account. */
  client_subnet_scope?: number | undefined
  /** Whether the resolver says that it validated the answer with DNSSEC; absent if it does not say so. */
  authenticated?: true | undefined
  /**
   * Whether a `SERVFAIL` is one of DNSSEC, unless it was over at once, because without validation, the resolver has an
   * answer.
   */
  bogus?: true | undefined
  /** The zone that a `REFERRAL` is about, and the names of the servers that it points to. */
  referral?: { zone: string; name_servers: string[] } | undefined
}

const notADomain = refusal(
  'invalid_request',
  'X-Domain must be a domain name, or an IP address for the type PTR.',
)

/** DNS can hold such a name, but whoever sends one has taken another field, and would learn that there is no such name. */
const typedElse = refusal(
  'invalid_request',
  'X-Domain must be a domain name, not a URL or an e-mail address.',
)

const cannotAsk = refusal('unavailable', 'The resolvers cannot be asked at the moment.')

/** Thrown if this machine is at fault, which must not pass for what a location says. Has the cause. */
class LocalFailure extends Error {}

/**
 * Asks every configured resolver for the records of a domain.
 *
 * @see docs/contract.md section 4.4
 */
export function checkDns(parts: CheckDnsParts): Operation<CheckDnsInput, DnsCheckResult[], unknown> {
  const { client, clock, logger, locations, timeoutMs, cache, budget } = parts
  const semaphores = new Map<string, Semaphore>()
  const resolvers = locations.map((location) => {
    const semaphore = semaphores.get(addressOf(location)) ?? createSemaphore(parts.maxConcurrentPerResolver)
    semaphores.set(addressOf(location), semaphore)
    return { location, semaphore, target: targetOf(location) }
  })
  const checks = createSingleFlight<SharedAnswer<DnsCheckResult[]>, Element>()

  /** The resolver's answer; null when the question never got its turn. */
  async function ask(
    { location, semaphore, target }: Resolver,
    question: Question,
    { callers, signal, inFirst }: Flight<Element>,
  ): Promise<Outcome | null> {
    const started = performance.now()
    const send = (terms: Pick<DnsQuestion, 'checkingDisabled'> = {}): Promise<DnsAnswer> => {
      const left = Math.max(1, Math.floor(timeoutMs - (performance.now() - started)))
      const work = (): Promise<DnsAnswer> =>
        client.query({ ...question, ...target, ...terms, timeoutMs: left, signal })
      if (!channels.dns.hasSubscribers) return work()
      const event = { type: question.type, server: location.ip }
      return inFirst(() => trace(channels.dns, event, () => inNoContext(work)))
    }
    const query = async (): Promise<Outcome> => {
      const answer = await send()
      if (answer.status !== 'SERVFAIL') return answer
      const { status } = await send({ checkingDisabled: true }).catch(() => answer)
      return saysSomething({ status }) ? { ...answer, bogus: true } : answer
    }
    try {
      return await semaphore.run(query, { callers, signal, maxWaitMs: timeoutMs / 2 })
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof NoTurnError) return null
      if (error instanceof UtilityApiError && error.code === 'unavailable')
        throw new LocalFailure(error.message, { cause: error })
      const isTimeout = error instanceof DOMException && error.name === 'TimeoutError'
      // Ours never fails. This is a client of the host.
      if (!isTimeout) logger.warn('The DNS client failed.', { server: location.ip, cause: error })
      return unanswered(isTimeout ? 'TIMEOUT' : 'UNREACHABLE', performance.now() - started)
    }
  }

  async function check(key: string, question: Question, flight: Flight<Element>) {
    const started = performance.now()
    const collected = budget.collect(flight.callers)
    let expiresAt = Number.POSITIVE_INFINITY
    let forbidden = 0
    try {
      const elements = await Promise.all(
        resolvers.map(async (resolver, index) => {
          const answer = await ask(resolver, question, flight)
          // An answer ages from its arrival, while slower resolvers are waited for. If a caller has too much open, that
          // says nothing about the name, so others must not get this result.
          expiresAt = Math.min(expiresAt, answer === null ? 0 : clock.now() + lifetimeOf(answer))
          const outcome = answer ?? unanswered('TIMEOUT', performance.now() - started)
          if (isForbidden(outcome.cause) && (forbidden += 1) === resolvers.length)
            throw new LocalFailure('Nothing may be sent.', { cause: outcome.cause })
          // As JSON at once: records take several times as much memory, for as long as the slowest resolver takes.
          if (isLongAnswer(outcome)) await ownTurn(flight.signal)
          const element = jsonBody(JSON.stringify(resultOf(resolver.location, outcome)))
          collected.add(octetsOf(element))
          flight.progress.add([element, index])
          return element
        }),
      )
      const answer = new SharedAnswer<DnsCheckResult[]>(jsonArray(elements))
      const lifetimeMs = Math.min(parts.cacheTtlMs, expiresAt - clock.now())
      for (const caller of flight.callers.keys()) cache.set(keptFor(caller, key), answer, lifetimeMs)
      return answer
    } catch (error) {
      if (!(error instanceof LocalFailure)) throw error
      const { cause } = error
      logger.error('The DNS check failed on this machine.', { cause })
      throw refused(cannotAsk, { cause, retryAfterSeconds: 1 })
    } finally {
      collected.end()
    }
  }

  return {
    id: 'checkDns',
    method: 'GET',
    path: '/v3/tools/dnscheck',
    summary: 'Check the DNS records of a domain at several resolver locations',
    description:
      'Asks every configured resolver for the records of a domain. The answer has one element for each location, in the configured order, even if a resolver fails.',
    tag: { name: 'DNS', description: 'Records of a domain as resolvers in several places see them.' },
    permission: parts.requiredScope,
    waitsFor: 'network',
    parameters: {
      domain: { in: 'header', name: 'X-Domain', description: 'The domain to check.', example: 'example.com' },
      recordType: {
        in: 'header',
        name: 'X-Record-Type',
        description: 'The record type to look up, in upper or lower case.',
        example: 'A',
      },
    },
    input: z.object({
      domain: requiredText().meta({ maxLength: longestNameText, pattern: patterns.dnsName }),
      recordType: recordTypeText(),
    }),
    output: () => z.array(dnsCheckResultSchema()),

    example: [
      {
        location: 'Amsterdam, NL',
        ip: '192.0.2.53',
        provider: 'Example DNS',
        dns_results: [{ type: 'A', host: 'example.com', ttl: 300, ip: '203.0.113.20' }],
        resolved: true,
        status: 'NOERROR',
        latency_ms: 12,
        transport: 'udp',
      },
      {
        location: 'Toronto, CA',
        ip: '198.51.100.53',
        provider: 'Example DNS',
        dns_results: [],
        resolved: false,
        status: 'TIMEOUT',
        latency_ms: 5000,
        transport: 'udp',
      },
    ],
    refusals: [notADomain, typedElse, tooManyOctets, cannotAsk],

    async run({ domain, recordType }, _, { callerKey, signal, onPart }) {
      if (isUrlOrMailbox(domain)) throw refused(typedElse)
      const name = questionName(domain, recordType)
      if (name === null) throw refused(notADomain)
      const question = { name, type: recordType }
      const key = `${recordType} ${name}`
      // Not who has left, because the check goes on for others.
      const tell =
        onPart &&
        (([json, position]: Element) => {
          if (!signal.aborted) onPart(json, position)
        })
      const kept = cache.get(keptFor(callerKey, key))
      if (kept === undefined) {
        const work = (flight: Flight<Element>) => check(key, question, flight)
        return checks.join(key, callerKey, { signal, timeoutMs }, work, tell)
      }
      if (tell !== undefined) kept.value().forEach((each, position) => tell([JSON.stringify(each), position]))
      return kept
    },
  }
}

/** One location's element of the answer as JSON, with its position. */
type Element = readonly [json: JsonBody, index: number]

interface Resolver {
  readonly location: ResolverLocation
  /** Shared by all locations with the same address. */
  readonly semaphore: Semaphore
  readonly target: Pick<DnsQuestion, 'server' | 'clientSubnet'>
}

type Question = Pick<DnsQuestion, 'name' | 'type'>

/** What stands behind a backslash belongs to a name. */
function isUrlOrMailbox(domain: string): boolean {
  return /@|:\/\//.test(domain.replaceAll(/\\./gs, ''))
}

function questionName(domain: string, type: RecordType): string | null {
  const octets = parseIpAddress(domain)
  // An address with a zone is no name.
  if (octets === null) return isDnsServerAddress(domain) ? null : parseDnsName(domain)
  return type === 'PTR' ? reverseName(octets) : null
}

function addressOf({ ip, port = 53 }: ResolverLocation): string {
  return `${ip} ${port}`
}

function targetOf({ ip, port, doh, clientSubnet }: ResolverLocation): Resolver['target'] {
  return {
    server: { ip, ...(port !== undefined && { port }), ...(doh !== undefined && { doh }) },
    ...(clientSubnet !== undefined && { clientSubnet }),
  }
}

/** An answer, or what is told instead if nothing is known of any transport. */
type Outcome = Omit<DnsAnswer, 'transport'> &
  Partial<Pick<DnsAnswer, 'transport'>> &
  Pick<DnsCheckResult, 'bogus'>

function unanswered(status: DnsStatus, latencyMs: number): Outcome {
  return { status, records: [], cnameChain: [], latencyMs }
}

function resultOf({ location, ip, provider }: ResolverLocation, answer: Outcome): DnsCheckResult {
  return {
    location,
    ip,
    provider,
    dns_results: [...answer.records],
    resolved: answer.records.length > 0,
    status: answer.status,
    latency_ms: Math.round(answer.latencyMs),
    negative_ttl: answer.negativeTtlSeconds,
    ...(answer.cnameChain.length > 0 && { cname_chain: [...answer.cnameChain] }),
    cname_ttl: answer.cnameTtlSeconds,
    transport: answer.transport,
    ede: answer.ede && [...answer.ede],
    client_subnet_scope: answer.clientSubnetScope,
    ...(answer.authenticated === true && { authenticated: true }),
    ...(answer.bogus === true && { bogus: true }),
    ...(answer.referral !== undefined && {
      referral: { zone: answer.referral.zone, name_servers: [...answer.referral.nameServers] },
    }),
  }
}

/** Returns for how many milliseconds an answer may be reused. */
function lifetimeOf({ records, ttlSeconds }: Outcome): number {
  if (ttlSeconds !== undefined) return ttlSeconds * 1000
  // The host's own client may not set it.
  if (records.length > 0) return Math.min(...records.map(({ ttl }) => ttl)) * 1000
  return failureLifetimeMs
}

function dnsCheckResultSchema(): z.ZodType<DnsCheckResult> {
  return z.object({
    location: z.string().describe("Label of the resolver's place."),
    ip: z.string().describe('Address of the resolver.'),
    provider: z.string().describe('Name of the resolver provider.'),
    dns_results: z.array(dnsRecordSchema()).describe('Records found.'),
    resolved: z.boolean().describe('Whether the answer has a record of the requested type.'),
    status: z.enum(dnsStatuses).describe('How the lookup ended.'),
    latency_ms: z.int().describe('Milliseconds the resolver took.'),
    negative_ttl: z
      .int()
      .optional()
      .describe('Seconds for which resolvers may remember that there are no such records (RFC 2308).'),
    cname_chain: z.array(z.string()).optional().describe('Canonical names passed through.'),
    cname_ttl: z.int().optional().describe('Largest TTL of the aliases passed through, in seconds.'),
    transport: z.enum(['udp', 'tcp', 'https']).optional().describe('The transport that carried the answer.'),
    ede: z
      .array(
        z.object({
          code: z.int().describe('INFO-CODE.'),
          text: z.string().describe('EXTRA-TEXT; empty if there is none.'),
        }),
      )
      .optional()
      .describe('Extended DNS errors (RFC 8914).'),
    client_subnet_scope: z
      .int()
      .optional()
      .describe(
        'Prefix length of the client subnet that the answer is valid for (RFC 7871); 0 means all clients.',
      ),
    authenticated: z
      .literal(true)
      .optional()
      .describe('Sent only if the resolver says that it validated the answer with DNSSEC (the AD bit).'),
    bogus: z
      .literal(true)
      .optional()
      .describe('Sent only with SERVFAIL, if the resolver has an answer where it does not validate.'),
    referral: z
      .object({
        zone: z.string().describe('The zone.'),
        name_servers: z.array(z.string()).describe('The names of its servers.'),
      })
      .optional()
      .describe('Who serves the zone, as a server says that does not (REFERRAL).'),
  })
}

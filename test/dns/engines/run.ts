// npm run test:engines -- [NAME ...]: asks DNS servers that others wrote, and compares what our client says with dig. With
// the name `day`: records change behind them, and what is said to have arrived is compared with what is true.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createDnsClient } from '../../../src/dns/client.ts'
import { createDohClient } from '../../../src/dns/doh-client.ts'
import type { DnsAnswer } from '../../../src/domain/dns-answer.ts'
import { freePort } from '../../support/free-port.ts'
import { findProgram, startNsd } from '../support/nsd.ts'
import { authoritative } from './authoritative.ts'
import { bindResolver, dnsmasq, knotResolver, powerDnsRecursor, unbound } from './caching.ts'
import { differences } from './compare.ts'
import { askDig } from './dig-answer.ts'
import { isInstalled, startEngine, type Engine, type EngineSpec } from './engine.ts'
import { dnsdist, httpFront } from './in-front.ts'
import { origin, questions, zoneFor } from './zone.ts'

if (findProgram('dig') === undefined) {
  console.error('There is no dig to compare with (Debian: apt-get install bind9-dnsutils).')
  process.exit(1)
}
const asked = process.argv.slice(2).map((name) => name.toLowerCase())
const isAsked = ({ name }: EngineSpec): boolean =>
  asked.length === 0 || asked.some((each) => name.toLowerCase().includes(each))
const client = createDnsClient()
const dohClient = createDohClient()
const rows: string[][] = [
  ['Server', 'Answers', 'Same', 'Over TCP', 'Validated', 'With EDE', 'Same over HTTPS'],
]
const skipped = new Set<string>()
let [compared, different] = [0, 0]

/** Asks everything, and remembers how many answers are the same. */
async function compareWith(engine: Engine, ttlSlack: number): Promise<void> {
  let [own, overTcp, validated, withEde, sameOverHttps] = [0, 0, 0, 0, 0]
  const port = await freePort()
  const spec = httpFront(engine, port)
  if (!isInstalled(spec)) skipped.add(spec.debian)
  // Not before itself: it adds EDNS to what comes over HTTP, which is a format error there.
  await using front = isInstalled(spec) && engine.name !== 'dnsdist' ? await startEngine(spec) : undefined
  const server = front && { ...front, doh: `http://127.0.0.1:${port}/dns-query` }
  for (const question of questions) {
    // What is kept may have another extended error than what was just found out.
    if (ttlSlack > 0) await client.query({ ...question, server: engine })
    const ours = await client.query({ ...question, server: engine })
    const digs = await askDig(engine, question.name, question.type)
    const found = differences(question, ours, digs, { ttlSlack })
    if (ours.transport === 'tcp') overTcp += 1
    if (ours.authenticated === true) validated += 1
    if (ours.ede !== undefined) withEde += 1
    if (found.length > 0)
      console.error(`${engine.name}, ${question.name} ${question.type}: ${found.join('; ')}`)
    else own += 1
    if (server === undefined) continue
    let theirs = await dohClient.query({ ...question, server })
    // A server with a limit says nothing at times. Over UDP, the client has asked again.
    if (theirs.status === 'UNREACHABLE') theirs = await dohClient.query({ ...question, server })
    if (essence(theirs, ttlSlack) === essence(ours, ttlSlack)) sameOverHttps += 1
    else
      console.error(
        `${engine.name}, ${question.name} ${question.type}: ${essence(ours, ttlSlack)}, over HTTPS ${essence(theirs, ttlSlack)}`,
      )
  }
  compared += questions.length
  different += questions.length - own + (server === undefined ? 0 : questions.length - sameOverHttps)
  rows.push([
    engine.name,
    ...[questions.length, own, overTcp, validated, withEde, server ? sameOverHttps : '-'].map(String),
  ])
}

/** What an answer says, without how it came, and without TTLs where a cache counts them down. */
function essence({ transport: _, latencyMs: __, ...answer }: DnsAnswer, ttlSlack: number): string {
  const plain = (value: object): string =>
    JSON.stringify(value, (name, each) => (ttlSlack > 0 && /ttl/i.test(name) ? undefined : each))
  return plain({ ...answer, records: answer.records.map(plain).toSorted() })
}

/** Runs a server, if it is there and asked for; one that does not start is a failure. */
async function withEngine(spec: EngineSpec, use: (engine: Engine) => Promise<void>): Promise<void> {
  if (!isInstalled(spec)) return void skipped.add(spec.debian)
  try {
    await using engine = await startEngine(spec)
    await use(engine)
  } catch (error) {
    different += 1
    console.error(`${spec.name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const isDay = asked.length === 0 || asked.includes('day')
// Beside the rest: it waits for records to expire.
const day = isDay ? runDay() : undefined

for (const spec of authoritative.filter(isAsked)) await withEngine(spec, (engine) => compareWith(engine, 0))

const source = authoritative.find((spec) => spec.program === 'nsd')
if (source !== undefined)
  await withEngine(source, async (server) => {
    const forwarding = { zones: ['.'], server }
    const specs = [
      unbound('Unbound', forwarding),
      unbound('Unbound, with a wrong trust anchor', forwarding, {
        further: `  ede: yes\n  trust-anchor: "${origin}. DS 1 13 2 ${'00'.repeat(32)}"\n`,
      }),
      powerDnsRecursor('PowerDNS Recursor', forwarding),
      knotResolver('Knot Resolver, blocking', forwarding, {
        further: `policy.add(policy.suffix(policy.DENY, policy.todnames({ 'wild.${origin}' })))\n`,
      }),
      bindResolver('BIND, as a resolver', forwarding),
      dnsmasq('dnsmasq', forwarding),
      dnsdist(server),
    ]
    // A cache counts down between the two questions.
    for (const spec of specs.filter(isAsked)) await withEngine(spec, (engine) => compareWith(engine, 2))
  })

/** A resolver that validates says of what: the AD bit. */
async function compareSigned(): Promise<void> {
  await using server = await startNsd(origin, zoneFor('signed'))
  const { records } = await client.query({ name: origin, type: 'DNSKEY', server })
  const anchors = records.map((record) =>
    record.type === 'DNSKEY'
      ? `  trust-anchor: "${origin}. DNSKEY ${record.flags} 3 ${record.algorithm} ${record.public_key}"\n`
      : '',
  )
  const further = `  ede: yes\n${anchors.join('')}`
  const spec = unbound('Unbound, validating', { zones: ['.'], server }, { further })
  if (isAsked(spec)) await withEngine(spec, (engine) => compareWith(engine, 2))
}
const canSign = ['nsd', 'ldns-keygen', 'ldns-signzone'].every((each) => findProgram(each) !== undefined)
if (canSign) await compareSigned()
else skipped.add('ldnsutils')
await Promise.all([client.close(), dohClient.close()])

/** Records change behind resolvers, where the servers of a zone may have public addresses: in a network of its own. */
async function runDay(): Promise<void> {
  const programs = [
    'named',
    'nsd',
    'pdns_server',
    'pdns_recursor',
    'unbound',
    'dnsdist',
    'ldns-signzone',
    'ip',
  ]
  const missing = programs.filter((each) => findProgram(each) === undefined)
  const isolated = ['--map-root-user', '--net']
  if (missing.length > 0) skipped.add(missing.join(', '))
  else if (spawnSync('unshare', [...isolated, 'true']).status !== 0)
    skipped.add('a network of its own (unshare)')
  else {
    const program = ['--import', './test/support/sources.ts', 'test/dns/engines/day.node.ts']
    const child = spawn('unshare', [...isolated, process.execPath, ...program], { stdio: 'inherit' })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) different += 1
  }
}
await day

const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
for (const row of rows)
  console.log(
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  )
console.log(
  `\n${rows.length - 1} servers, ${compared} answers, ${different} different from dig's, over HTTPS, or from what is true.`,
)
if (skipped.size > 0) console.log(`Skipped, as they are not installed: ${[...skipped].join(', ')}.`)
process.exitCode = different > 0 || (rows.length === 1 && !isDay) ? 1 : 0

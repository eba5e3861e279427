// A day of changes behind real resolvers, in a network of its own: `unshare --map-root-user --net`. Each change is watched as
// `utility-api dns --watch` watches it, from before it is made, and beside it is judged when it has arrived.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { recordText, type DnsCheckResult, type RecordType } from 'utility-api'
import { createWatch, type Awaited } from '../../../adapters/cli/lookups/dns-watch.ts'
import { authorityOf, withAuthority } from '../../../adapters/cli/lookups/dns-authority.ts'
import { check } from '../../../adapters/cli/lookups/dns-check.ts'
import { removeFolder } from '../../support/remove-folder.ts'
import { bind, nsdWith, powerDnsWith } from './authoritative.ts'
import { bindResolver, powerDnsRecursor, unbound } from './caching.ts'
import { startEngine, type Engine, type EngineSpec } from './engine.ts'
import { inTurn } from './in-front.ts'

/** Public addresses, since the servers of a zone are only asked at such. */
const servers = { registry: '9.9.9.51', old: '9.9.9.52', current: '9.9.9.53', cdn: '9.9.9.54' } as const
execFileSync('ip', ['link', 'set', 'lo', 'up'])
for (const ip of Object.values(servers)) execFileSync('ip', ['address', 'add', `${ip}/32`, 'dev', 'lo'])

const folder = mkdtempSync(join(tmpdir(), 'day-'))
const run = promisify(execFile)
const ldns = async (program: string, ...args: string[]): Promise<string> =>
  (await run(program, args, { cwd: folder })).stdout

/** A key of a zone: its file, its DS record, and itself. */
interface Key {
  readonly file: string
  readonly ds: string
  readonly dnskey: string
}

async function keyOf(origin: string): Promise<Key> {
  const args = ['-r', '/dev/urandom', '-a', 'ECDSAP256SHA256', '-k', origin]
  const file = (await ldns('ldns-keygen', ...args)).trim()
  const key = readFileSync(join(folder, `${file}.key`), 'utf8')
  const [, dnskey = ''] = /\sDNSKEY\s+(.*?)\s*(;|$)/.exec(key) ?? []
  const [, ds = ''] = /\sDS\s+(.*\S)/.exec(await ldns('ldns-key2ds', '-n', '-2', `${file}.key`)) ?? []
  return { file, dnskey, ds: ds.toUpperCase() }
}

let serial = 0
const zone = (origin: string, server: string, ...lines: readonly string[]): string => `$ORIGIN ${origin}.
$TTL 3
@ IN SOA ${server}.example. admin.example. ${(serial += 1)} 7200 3600 1209600 2
@ IN NS ${server}.example.
${lines.join('\n')}
`
async function signed(origin: string, text: string, ...keys: readonly Key[]): Promise<string> {
  writeFileSync(join(folder, origin), text)
  await ldns('ldns-signzone', '-o', origin, '-f', 'signed', origin, ...keys.map(({ file }) => file))
  return readFileSync(join(folder, 'signed'), 'utf8')
}

const [anchor, first, second, good, foreign] = (await Promise.all(
  ['example', 'right.example', 'right.example', 'wrong.example', 'wrong.example'].map(keyOf),
)) as [Key, Key, Key, Key, Key]

/** What the new servers have, at first and after the changes. */
const [before, after, spf] = ['www IN A 192.0.2.7', 'www IN A 192.0.2.80', '@ IN TXT "v=spf1 -all"'] as const
const contents: Readonly<Record<string, readonly [string, string]>> = {
  address: [before, after],
  mail: ['@ IN MX 10 old.example.', '@ IN MX 10 new.example.'],
  text: [spf, `${spf}\n@ IN TXT "verification=7"`],
  issuer: ['', '@ IN CAA 0 issue "ca.example"'],
  gone: [before, ''],
  appears: ['', after],
  lame: [before, after],
  moves: [after, after],
  alias: ['www IN CNAME shop.cdns.example.', 'www IN CNAME shop.cdns.example.'],
  right: [before, before],
  wrong: [before, after],
}
const keys: Readonly<Record<string, readonly Key[]>> = { right: [first, second], wrong: [good] }
async function currentZones(at: 0 | 1): Promise<Record<string, string>> {
  const zones: Record<string, string> = {}
  for (const [label, texts] of Object.entries(contents)) {
    const origin = `${label}.example`
    const text = zone(origin, 'current', texts[at])
    zones[origin] = keys[label] === undefined ? text : await signed(origin, text, ...keys[label])
  }
  return zones
}
/** What the registry delegates. */
const delegated: Record<string, readonly string[]> = {
  ...Object.fromEntries(Object.keys(contents).map((label) => [label, ['current']])),
  moves: ['old'],
  cdns: ['cdn'],
  lame: ['current', 'cdn'],
}
const secure: Record<string, Key> = { right: first, wrong: good }
const registryZone = (): Promise<string> => {
  const lines = [
    ...Object.entries(servers).map(([name, ip]) => `${name} IN A ${ip}`),
    ...Object.entries(delegated).flatMap(([label, names]) =>
      names.map((name) => `${label} IN NS ${name}.example.`),
    ),
    ...Object.entries(secure).map(([label, { ds }]) => `${label} IN DS ${ds}`),
  ]
  return signed('example', zone('example', 'registry', ...lines), anchor)
}
const rootZone = zone(
  '',
  'registry',
  'example. IN NS registry.example.',
  `registry.example. IN A ${servers.registry}`,
)
const cdnZone = (last: number): string => zone('cdns.example', 'cdn', `shop IN A 192.0.2.${last}`)

interface Change {
  readonly name: string
  readonly type: RecordType
  readonly awaited: Awaited
  /** Whether the zone's own servers are asked, too. */
  readonly authority: boolean
}
const www = (label: string, authority: boolean, expected = ['192.0.2.80']): Change => ({
  name: `www.${label}.example`,
  type: 'A',
  awaited: { expected },
  authority,
})
const changes: readonly Change[] = [
  www('address', false),
  { name: 'mail.example', type: 'MX', awaited: { expected: ['10 new.example'] }, authority: true },
  { name: 'text.example', type: 'TXT', awaited: { contains: ['"verification=7"'] }, authority: false },
  { name: 'issuer.example', type: 'CAA', awaited: { expected: ['0 issue "ca.example"'] }, authority: true },
  www('gone', false, []),
  www('appears', true),
  www('lame', true),
  www('moves', true),
  www('alias', true),
  { name: 'right.example', type: 'DS', awaited: { expected: [second.ds] }, authority: true },
  www('wrong', false),
]

// Each engine listens, to end with the process.
process.setMaxListeners(20)
const open: AsyncDisposable[] = []
async function start(spec: EngineSpec, ip?: string): Promise<Engine> {
  const engine = await startEngine(spec, ip, ip === undefined ? undefined : 53)
  open.push(engine)
  return engine
}
const [registry, current, cdn] = await Promise.all([
  start(
    bind({ name: 'Registry', zones: { example: await registryZone(), '.': rootZone } }),
    servers.registry,
  ),
  start(bind({ name: 'New servers', zones: await currentZones(0) }), servers.current),
  start(nsdWith(cdnZone(7), 'cdns.example'), servers.cdn),
  start(powerDnsWith({ 'moves.example': zone('moves.example', 'old', before) }), servers.old),
])

const nothing = { zones: [], server: { ip: servers.registry, port: 53 } }
const anUnbound = (name: string): EngineSpec => {
  const stub = `stub-zone:\n  name: "."\n  stub-addr: ${servers.registry}\nserver:\n`
  return unbound(name, nothing, { further: `  trust-anchor: "example. DNSKEY ${anchor.dnskey}"\n${stub}` })
}
const aBind = (name: string): EngineSpec => {
  const key = anchor.dnskey.replace(/\S+$/, '"$&"')
  const stub = `zone "." { type static-stub; server-addresses { ${servers.registry}; }; };\n`
  return bindResolver(name, nothing, { further: `trust-anchors { example. static-key ${key}; };\n${stub}` })
}
const aPowerDns = (name: string): EngineSpec =>
  powerDnsRecursor(name, nothing, { further: `forward-zones=.=${servers.registry}` })
const [mortal, front, ...others] = await Promise.all([
  start(anUnbound('One that dies')),
  start(inTurn(await Promise.all([anUnbound, aBind, aPowerDns].map((spec) => start(spec('behind')))))),
  ...[anUnbound('Unbound'), aBind('BIND'), aPowerDns('PowerDNS')].map((spec) => start(spec)),
])
const dead = { name: 'dead', ip: '127.0.0.1', port: 9 }
// The one with many caches is asked twice, so that they take turns more often.
const resolvers = [...others, front, front, mortal, dead].map(({ name, ip, port }) => ({
  location: name,
  provider: name,
  ip,
  port,
}))

interface Round {
  readonly startedAt: number
  readonly endedAt: number
  readonly results: readonly DnsCheckResult[]
  /** The addresses of the zone's own servers. */
  readonly own: readonly string[]
  readonly isOver: boolean
}

/** Watches a change until it has arrived, and for two rounds more. */
async function watchOf({ name, type, awaited, authority: isAsked }: Change): Promise<Round[]> {
  const watch = createWatch(type, awaited)
  const rounds: Round[] = []
  const terms = { seconds: 3, overTcp: false, signal: new AbortController().signal }
  for (let left = 3; left > 0 && rounds.length < 120;) {
    const startedAt = Date.now()
    const authority = isAsked ? await authorityOf(name, type, { resolvers, ...terms }) : null
    // What one of them learns later, it may keep longer; then it dies.
    const asked = rounds.length < 2 ? resolvers.filter(({ location }) => location !== mortal.name) : resolvers
    const locations = withAuthority(asked, authority)
    const results = await check({ name, type, locations, authority }, terms, () => {})
    const own = authority?.servers.map(({ ip }) => ip) ?? []
    watch.compare(results, own)
    rounds.push({ startedAt, endedAt: Date.now(), results, own, isOver: watch.isOver() })
    if (watch.isOver()) left -= 1
    await delay(Math.max(0, startedAt + 1000 - Date.now()))
  }
  return rounds
}

const isAnswer = ({ status }: DnsCheckResult): boolean => ['NOERROR', 'NODATA', 'NXDOMAIN'].includes(status)
function isOld({ awaited: { expected, contains = [] } }: Change, result: DnsCheckResult): boolean {
  const texts = result.dns_results.map((record) =>
    recordText(record).replace(/[\da-f]{64}$/, (hex) => hex.toUpperCase()),
  )
  const isNew =
    (expected ?? contains).every((each) => texts.includes(each)) &&
    (expected === undefined || expected.length === texts.length)
  return isAnswer(result) && !isNew
}
/** How long an answer may be kept, in milliseconds: a minute if it is a "no" without an SOA record. */
function keptMs({
  dns_results: records,
  negative_ttl: no = 60,
  cname_ttl: ofAlias = 0,
}: DnsCheckResult): number {
  return Math.max(ofAlias, ...(records.length === 0 ? [no] : records.map(({ ttl }) => ttl))) * 1000
}
/** Says what is in the way while it lasts. */
const isFailure = (result: DnsCheckResult, own: readonly string[]): boolean =>
  !isAnswer(result) &&
  (own.includes(result.ip) || !['TIMEOUT', 'UNREACHABLE', 'REFUSED', 'FORMERR'].includes(result.status))

const wrong: string[] = []
let waits = 0
const opened = Date.now()
/** Says in a line what was seen of a change, and what was wrong with it. */
function judge(change: Change, rounds: readonly Round[]): void {
  const { name, type } = change
  const say = (text: string): void => void wrong.push(`${name} ${type}: ${text}`)
  let [lastEnd, dueAt, olds] = [0, 0, 0]
  const arrival = rounds.find(({ isOver }) => isOver)
  for (const [at, { startedAt, endedAt, results, own, isOver }] of rounds.entries()) {
    const old = results.filter((each) => isOld(change, each))
    olds += old.length
    lastEnd = Math.max(lastEnd, ...old.map((each) => startedAt + each.latency_ms + keptMs(each)))
    // A second is added, because the TTL may have been rounded down, and counts from the end of a check.
    dueAt = Math.max(dueAt, ...old.map((each) => endedAt + keptMs(each) + 1000))
    const inTheWay = [...old, ...results.filter((each) => isFailure(each, own))]
    if (inTheWay.length === 0 && startedAt < lastEnd) waits += 1
    if (arrival !== undefined && startedAt >= arrival.startedAt && inTheWay.length > 0)
      say(`had arrived in round ${at}, in spite of ${JSON.stringify(inTheWay)}`)
    if (startedAt === arrival?.startedAt && endedAt < lastEnd)
      say(`had arrived in round ${at}, ${lastEnd - endedAt} ms before the last old answer had ended`)
    if (inTheWay.length === 0 && startedAt > dueAt && !isOver)
      say(`had not arrived in round ${at}, though nothing was in the way`)
  }
  if (arrival === undefined) say('never arrived')
  if (olds < 10) say(`only ${olds} old answers were seen`)
  const seconds = (time = 0): string => `${((time - opened) / 1000).toFixed(1).padStart(5)} s`
  console.log(
    `${`${name} ${type}`.padEnd(24)}${String(olds).padStart(3)} old answers, alive until ${seconds(lastEnd)}; arrived at ${seconds(arrival?.endedAt)}`,
  )
}

async function live(): Promise<void> {
  Object.assign(delegated, { moves: ['current'] })
  Object.assign(secure, { right: second, wrong: foreign })
  const [delegation, zones] = [await registryZone(), Object.entries(await currentZones(1))]
  await delay(opened + 2600 - Date.now())
  registry.rewrite({ 'example.zone': delegation })
  current.rewrite(Object.fromEntries(zones.map(([origin, text]) => [`${origin}.zone`, text])))
  cdn.rewrite({ zone: cdnZone(80) })
  await mortal[Symbol.asyncDispose]()
  await delay(5000)
  // The registry takes back what is wrong.
  Object.assign(delegated, { lame: ['current'] })
  Object.assign(secure, { wrong: good })
  registry.rewrite({ 'example.zone': await registryZone() })
}

try {
  const [watched] = await Promise.all([Promise.all(changes.map(watchOf)), live()])
  for (const [at, change] of changes.entries()) judge(change, watched[at] ?? [])
  const all = watched.flat().flatMap(({ results }) => results)
  const saw = (what: string, isSeen: boolean): void => void (isSeen || wrong.push(`${what} was not seen`))
  saw(
    'A failure of signatures alone',
    all.some(({ bogus }) => bogus === true),
  )
  saw(
    'The lame server',
    all.some(({ ip, status }) => ip === servers.cdn && status === 'REFUSED'),
  )
  saw(
    'The death',
    all.some(({ provider, status }) => provider === mortal.name && status === 'UNREACHABLE'),
  )
  const again = changes.flatMap((change, at) => {
    const inFront = (watched[at] ?? []).map(({ results }) =>
      results.filter((each) => each.provider === 'dnsdist' && isAnswer(each)),
    )
    const isNew = inFront.findIndex((answers) => answers.some((each) => !isOld(change, each)))
    return inFront.slice(isNew + 1).filter((answers) => answers.some((each) => isOld(change, each)))
  })
  saw('An old answer after a new one', again.length > 0)
  saw('An old copy that may be alive where all answers are new', waits > 0)
  console.log(
    `${changes.length} changes in ${Math.round((Date.now() - opened) / 1000)} s, ${again.length} times old after new, ${waits} times all new too early: ${wrong.length} wrong.`,
  )
  for (const each of wrong) console.log(`  ${each}`)
  process.exitCode = wrong.length > 0 ? 1 : 0
} finally {
  await Promise.all(open.map((each) => each[Symbol.asyncDispose]()))
  removeFolder(folder)
}

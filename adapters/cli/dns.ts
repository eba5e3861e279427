import { isIP } from 'node:net'
import { createAdmin, createUtilityApi, defaultResolverLocations } from 'utility-api'
import type { DnsAnswer, DnsClient, DnsRecord, ResolverLocation } from 'utility-api'
import { createDnsClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { command, list, UsageError, type AnyCommand } from './command.ts'
import { jsonOption, printable, printJson, styled, tableLines } from './output.ts'

export const dns: AnyCommand = command({
  description: 'Look up DNS records from several places.',
  args: {
    name: { type: 'positional', required: true, description: 'A domain; for PTR also an IP address.' },
    type: { type: 'positional', default: 'A', description: 'Record type: A, AAAA, MX, TXT, …' },
    server: {
      type: 'string',
      valueHint: 'IP[:PORT],…',
      description: 'Resolvers to ask instead of the public ones.',
    },
    ...jsonOption,
  },
  examples: ['dns example.com', 'dns example.com MX --json', 'dns 192.0.2.1 PTR --server 192.0.2.53'],
  async run({ name, type, server, json }) {
    const locations = server === undefined ? defaultResolverLocations : list(server).map(locationOf)
    const table = json === true ? null : startTable(locations)
    const results = await check(name, type, locations, (at, answer) => table?.fill(at, answer))
    if (json === true) printJson(results)
    else table?.end()
    if (!results.some(({ resolved }) => resolved)) process.exitCode = 1
  },
})

/** Asks our own DNS check, so that names are judged and `--json` looks as they do over HTTP. */
async function check(
  name: string,
  type: string,
  locations: readonly ResolverLocation[],
  onAnswer: (at: number, answer: DnsAnswer) => void,
): Promise<{ resolved: boolean }[]> {
  const storage = memoryStorage()
  await using client = disposable(createDnsClient())
  const reporting: DnsClient = {
    ...client,
    async query(question) {
      const answer = await client.query(question)
      const { ip, port = 53 } = question.server
      onAnswer(
        locations.findIndex((each) => each.ip === ip && (each.port ?? 53) === port),
        answer,
      )
      return answer
    },
  }
  const api = createUtilityApi({ storage, dns: { locations, client: reporting } })
  const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '' })
  // Header text travels as octets.
  const headers = { 'X-Domain': Buffer.from(name).toString('latin1'), 'X-Record-Type': type }
  const response = await api.handlers.checkDns(
    new Request('http://localhost/', { headers: { ...headers, Authorization: `Bearer ${accessToken}` } }),
  )
  const body = (await response.json()) as unknown
  if (response.ok) return body as { resolved: boolean }[]
  const { message } = body as { message: string }
  throw new UsageError(message.replace('X-Domain', 'NAME').replace('X-Record-Type', 'TYPE'))
}

function disposable(client: DnsClient): DnsClient & AsyncDisposable {
  return { ...client, [Symbol.asyncDispose]: () => client.close() }
}

function locationOf(text: string): ResolverLocation {
  const [, bracketed, name, port = '53'] = /^(?:\[(.*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? []
  const ip = bracketed ?? name ?? text
  if (isIP(ip) === 0 || Number(port) < 1 || Number(port) > 65_535) {
    throw new UsageError(`--server: "${text}" is no resolver: IP, IPv4:PORT or [IPv6]:PORT.`)
  }
  return { location: text, ip, provider: text, port: Number(port) }
}

interface Table {
  /** Puts an answer where its resolver stands. */
  fill(at: number, answer: DnsAnswer): void
  /** Prints what a terminal has not seen yet, and how the answers compare. */
  end(): void
}

function startTable(locations: readonly ResolverLocation[]): Table {
  const answers: (DnsAnswer | undefined)[] = locations.map(() => undefined)
  const live = process.stdout.isTTY
  let drawn = 0
  function draw(): void {
    if (drawn > 0) process.stdout.write(`\u001b[${drawn}A\u001b[0J`)
    const lines = tableOf(locations, answers)
    console.log(lines.join('\n'))
    drawn = lines.length
  }
  if (live) draw()
  return {
    fill(at, answer) {
      answers[at] = answer
      if (live) draw()
    },
    end() {
      if (!live) draw()
      console.log(`\n${verdict(answers)}`)
    },
  }
}

function tableOf(
  locations: readonly ResolverLocation[],
  answers: readonly (DnsAnswer | undefined)[],
): string[] {
  const rows = locations.map(({ location, ip }, at) => {
    const answer = answers[at]
    const took = answer === undefined ? '' : `${Math.round(answer.latencyMs)} ms`
    return [location, ip, took, answer === undefined ? '…' : textOf(answer)]
  })
  // A line that wraps would spoil the redrawing of the lines above it.
  const width = process.stdout.isTTY ? process.stdout.columns : Infinity
  return tableLines(['LOCATION', 'RESOLVER', 'TIME', 'ANSWER'], rows)
    .map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line))
    .map((line, at) => styled(at === 0 ? 'bold' : colorOf(answers[at - 1]), line))
}

function colorOf(answer: DnsAnswer | undefined): 'dim' | 'green' | 'yellow' | 'red' {
  if (answer === undefined) return 'dim'
  if (answer.status === 'NOERROR') return 'green'
  return answer.status === 'NODATA' || answer.status === 'NXDOMAIN' ? 'yellow' : 'red'
}

function textOf({ status, records }: DnsAnswer): string {
  if (records.length === 0) return status
  return records.map(recordText).toSorted().join(', ')
}

/** What a record says beyond its type, name and lifetime. */
function recordText(record: DnsRecord): string {
  if (record.type === 'TXT') return printable(JSON.stringify(record.txt))
  if (record.type === 'A' || record.type === 'AAAA') return record.ip
  const { type: _type, host: _host, ttl: _ttl, ...fields } = record
  return printable(Object.values(fields).join(' '))
}

function verdict(answers: readonly (DnsAnswer | undefined)[]): string {
  const texts = answers.flatMap((answer) => (answer?.status === 'NOERROR' ? [textOf(answer)] : []))
  const kinds = new Set(texts).size
  const resolved = `${texts.length} of ${answers.length} resolvers have records`
  if (texts.length === 0) return styled('red', `${resolved}.`)
  if (kinds === 1)
    return styled(texts.length === answers.length ? 'green' : 'yellow', `${resolved}, all the same.`)
  return styled('yellow', `${resolved}, and they differ: ${kinds} answers.`)
}

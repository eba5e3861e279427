import { createAdmin, createUtilityApi, type BlockgameClient, type ServerStatus } from 'utility-api'
import { createBlockgameClient, ServerCheckError, type ServerCheckFailure } from 'utility-api/blockgame'
import { memoryStorage } from 'utility-api/storage/memory'
import { ask } from './ask.ts'
import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { columns, jsonOption, printJson, styled } from '../terminal/output.ts'
import { printable, wrap } from '../terminal/terminal-text.ts'

export const ping: AnyCommand = command({
  description: 'Ask a block-game server who is playing on it.',
  args: {
    host: { type: 'positional', required: true, description: 'HOST, HOST:PORT or [IPv6]:PORT.' },
    ...jsonOption,
  },
  examples: ['ping play.example.com', 'ping 192.0.2.7:25566 --json', 'ping "[2001:db8::7]:25566"'],
  async run({ host, json }) {
    const { status, body } = await lookUp(host)
    if (json === true) printJson(body)
    else for (const line of statusLines(host, status)) console.log(line)
  },
})

interface Found {
  /** Everything that the server says about itself. */
  readonly status: ServerStatus
  /** The operation's answer. */
  readonly body: unknown
}

/** Calls our own game server lookup, so that addresses are validated and `--json` looks the same as over HTTP. */
async function lookUp(address: string): Promise<Found> {
  // Anyone who types the address here can reach their own network anyway. The rule protects servers that take requests
  // from strangers.
  const client = createBlockgameClient({ allowAddress: () => true })
  let outcome: { readonly status: ServerStatus } | { readonly error: unknown } | undefined
  const remembering: BlockgameClient = {
    ...client,
    async status(target) {
      try {
        const status = await client.status(target)
        outcome = { status }
        return status
      } catch (error) {
        outcome = { error }
        throw error
      }
    },
  }
  const storage = memoryStorage()
  const { apiKey } = await createAdmin({ storage }).createApiKey({})
  const api = createUtilityApi({ storage, blockgame: { client: remembering } })
  const headers = { Basic: apiKey, 'X-Address': address }
  try {
    const { body } = await ask(api, '/v4/games/blockgame/lookup', headers)
    if (outcome === undefined)
      throw new UsageError(`"${address}" is not an address: HOST, HOST:PORT or [IPv6]:PORT.`)
    if ('status' in outcome) return { status: outcome.status, body }
    throw failureOf(outcome.error)
  } finally {
    await client.close()
    await api.close()
  }
}

function failureOf(error: unknown): unknown {
  return error instanceof ServerCheckError ? new Error(failures[error.reason], { cause: error }) : error
}

function statusLines(asked: string, status: ServerStatus): string[] {
  const { ip, port, players, version, latencyMs, srvRecord, description, sample = [] } = status
  const width = columns()
  const says = description
    .split('\n')
    .map((line) => printable(line.trim()))
    .filter((line) => line !== '')
    .flatMap((line) => wrap(`  ${line}`, width, '  '))
  const names = sample.map(({ name }) => printable(name)).join(', ')
  const via = srvRecord === null ? '' : `, by the SRV record of ${srvRecord.host}:${srvRecord.port}`
  const fields = {
    Players: `${players.online} of ${players.max}${names === '' ? '' : `: ${names}`}`,
    Version: `${printable(version.name)} (protocol ${version.protocol})`.trimStart(),
    Ping: `${Math.round(latencyMs)} ms`,
    Address: `${ip.includes(':') ? `[${ip}]` : ip}:${port}${via}`,
  }
  return [
    ...wrap(`${asked} is up`, width).map((line) => styled('bold', line)),
    ...says.map((line) => styled('green', line)),
    ...Object.entries(fields).flatMap(([name, text]) =>
      wrap(`${name.padEnd(9)}${text}`, width, ' '.repeat(9)),
    ),
  ]
}

const failures: Readonly<Record<ServerCheckFailure, string>> = {
  dns: 'The name does not resolve. Is it spelled right?',
  blocked: 'The name leads to an address that is not allowed.',
  refused: 'Nothing listens there: the server is down, or uses another port.',
  timeout: 'No answer within 5 seconds: the server is down, or a firewall drops the packets.',
  closed: 'The server hung up without a status; it may have turned status off.',
  protocol: 'Something answered, but it is not a block-game server.',
}

import {
  createBlockgameClient,
  ServerCheckError,
  type HandshakeAddress,
  type ServerCheckFailure,
  type ServerStatus,
} from 'utility-api/blockgame'
import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { isUtilityApiError, sentenceOf } from '../terminal/error-sentence.ts'
import { given, secondsOf } from '../terminal/option-values.ts'
import { jsonOption, printJson } from '../terminal/output.ts'
import { printableLines } from '../terminal/terminal-text.ts'
import { statusLines } from './status-lines.ts'

export const ping: AnyCommand = command({
  args: {
    host: {
      type: 'positional',
      required: true,
      description: 'HOST, HOST:PORT or [IPv6]:PORT; several may follow.',
    },
    handshake: {
      type: 'string',
      valueHint: 'HOST[:PORT]',
      description: 'The address to send in the handshake, for a server behind a proxy that routes by name.',
    },
    timeout: {
      type: 'string',
      default: '5',
      valueHint: 'SECONDS',
      description: 'How long to wait for an answer; at most 60.',
    },
    ...jsonOption,
  },
  examples: [
    'ping play.example.com',
    'ping play.example.com build.example.com --json',
    'ping 192.0.2.7:25566 --json',
    'ping "[2001:db8::7]:25566" --timeout 20',
    'ping 192.0.2.7 --handshake survival.example.com',
  ],
  rest: true,
  async run({ handshake, timeout, json }, { words: hosts }) {
    const seconds = secondsOf('timeout', timeout, 1, 60)
    const named = handshake === undefined ? undefined : addressOf(handshake)
    const isOne = hosts.length === 1
    const pings = hosts.map((host) => lookUp(host, seconds, named))
    for (const [at, outcome] of (await Promise.allSettled(pings)).entries()) {
      const host = hosts[at] ?? ''
      if (outcome.status === 'rejected') {
        const error: unknown = outcome.reason
        // A program that reads JSON gets an object whatever happens, except for a wrong command line.
        if (error instanceof UsageError || (isOne && json !== true)) throw error
        process.exitCode = 1
        if (json !== true) console.error(`${host}: ${sentenceOf(error)}`)
        else print(isOne ? errorInJson(error) : { host, ...errorInJson(error) }, isOne)
      } else {
        const status = outcome.value
        if (json === true) print(isOne ? inJson(status) : { host, ...inJson(status) }, isOne)
        else for (const line of statusLines(host, status)) console.log(line)
      }
    }
  },
})

/** Prints an object, on a separate line if others follow. */
function print(object: object, isOne: boolean): void {
  if (isOne) printJson(object)
  else console.log(printableLines(JSON.stringify(object)))
}

function errorInJson(error: unknown): object {
  const { cause } = error as Error
  return {
    error: 'server_check_failed',
    ...(cause instanceof ServerCheckError && { reason: cause.reason }),
    message: sentenceOf(error),
  }
}

/** Returns what the operation answers, and all else that the server says. */
function inJson({ ip, port, players, version, latencyMs, srvRecord, ...says }: ServerStatus): object {
  const answer = { ip, port: String(port), players, version, ping: `${Math.round(latencyMs)}ms` }
  return { ...answer, srvRecord: srvRecord ?? {}, ...says }
}

/** Returns the host and the port of an address. The client judges whether they are valid. */
function addressOf(text: string): HandshakeAddress {
  const [, bracketed, plain, port] = /^(?:\[([^:]*:.*)\]|([^:[]*))(?::(\d{1,5}))?$/s.exec(text) ?? []
  const host = bracketed ?? plain ?? text
  return port === undefined ? { host } : { host, port: Number(port) }
}

async function lookUp(address: string, seconds: number, handshake?: HandshakeAddress): Promise<ServerStatus> {
  // Anyone who types the address here can reach their own network anyway. The rule protects servers that take requests
  // from strangers.
  const client = createBlockgameClient({ allowAddress: () => true })
  try {
    return await client.status({ ...addressOf(address), timeoutMs: seconds * 1000, ...given({ handshake }) })
  } catch (error) {
    throw failureOf(error, address, seconds)
  } finally {
    await client.close()
  }
}

function failureOf(error: unknown, address: string, seconds: number): unknown {
  if (error instanceof ServerCheckError) return new Error(failures[error.reason](seconds), { cause: error })
  if (!isUtilityApiError(error) || error.code !== 'invalid_argument') return error
  if (error.argument?.startsWith('handshake'))
    return new UsageError('--handshake must be HOST, HOST:PORT or [IPv6]:PORT.')
  return new UsageError(`"${address}" is not an address: HOST, HOST:PORT or [IPv6]:PORT.`)
}

const failures: Readonly<Record<ServerCheckFailure, (seconds: number) => string>> = {
  dns: () => 'The name does not resolve. Is it spelled right, and does DNS work here?',
  blocked: () => 'The name leads to an address that is not allowed.',
  refused: () => 'Nothing listens there, or no route leads there. Is the server up, and the port right?',
  timeout: (seconds) =>
    `No status within ${seconds === 1 ? 'a second' : `${seconds} seconds`}: the server is down or hangs, or a firewall drops the packets.`,
  closed: () => 'The server hung up without a status; it may have turned status off.',
  protocol: () => 'Something answered, but not with the status of a Minecraft server.',
  local: () => 'This machine has no file descriptors or memory left: that says nothing about the server.',
}

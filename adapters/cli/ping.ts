import { isIP } from 'node:net'
import { UtilityApiError, type BlockgameTarget, type ServerStatus } from 'utility-api'
import { createBlockgameClient, ServerCheckError, type ServerCheckFailure } from 'utility-api/blockgame'
import { command, UsageError, type AnyCommand } from './command.ts'
import { jsonOption, printable, printJson, styled } from './output.ts'

export const ping: AnyCommand = command({
  description: 'Ask a block-game server who plays on it.',
  args: {
    host: { type: 'positional', required: true, description: 'HOST, HOST:PORT or [IPv6]:PORT.' },
    ...jsonOption,
  },
  examples: ['ping play.example.com', 'ping 192.0.2.7:25566 --json'],
  async run({ host, json }) {
    const target = targetOf(host)
    // Who types the address here may reach their own network anyway; the rule protects servers that strangers ask.
    const client = createBlockgameClient({ allowAddress: () => true })
    try {
      const status = await client.status(target)
      if (json === true) printJson(status)
      else printStatus(host, status)
    } catch (error) {
      if (error instanceof ServerCheckError) throw new Error(failures[error.reason], { cause: error })
      if (error instanceof UtilityApiError && error.code === 'invalid_argument') throw noAddress(host)
      throw error
    } finally {
      await client.close()
    }
  },
})

function targetOf(text: string): BlockgameTarget {
  if (isIP(text) > 0) return { host: text }
  const [, bracketed, name = '', port] = /^(?:\[(.*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? []
  if (bracketed !== undefined && isIP(bracketed) !== 6) throw noAddress(text)
  return { host: bracketed ?? name, ...(port !== undefined && { port: Number(port) }) }
}

function noAddress(text: string): UsageError {
  return new UsageError(`"${text}" is no address: HOST, HOST:PORT or [IPv6]:PORT.`)
}

function printStatus(asked: string, status: ServerStatus): void {
  const { ip, port, players, version, latencyMs, srvRecord, description, sample = [] } = status
  const names = sample.map(({ name }) => name).join(', ')
  const via = srvRecord === null ? '' : `, by the SRV record of ${srvRecord.host}:${srvRecord.port}`
  console.log(styled('bold', `${asked} is up`))
  for (const line of description.split('\n').filter((each) => each.trim() !== '')) {
    console.log(styled('green', `  ${printable(line.trim())}`))
  }
  console.log(`Players  ${players.online} of ${players.max}${names === '' ? '' : `  ${printable(names)}`}`)
  console.log(`Version  ${printable(version.name)} (protocol ${version.protocol})`)
  console.log(`Ping     ${Math.round(latencyMs)} ms`)
  console.log(`Address  ${ip.includes(':') ? `[${ip}]` : ip}:${port}${via}`)
}

const failures: Readonly<Record<ServerCheckFailure, string>> = {
  dns: 'The name does not resolve. Is it spelled right?',
  blocked: 'The name leads to an address that may not be asked.',
  refused: 'Nothing listens there: the server is down, or its port is another one.',
  timeout: 'No answer within 5 seconds: the server is down, or a firewall drops the packets.',
  closed: 'The server hung up without a status; it may have turned status off.',
  protocol: 'Something answered, but it is no block-game server.',
}

import type { ServerStatus } from 'utility-api'
import { columns, styled } from '../terminal/output.ts'
import { printable, wrap } from '../terminal/terminal-text.ts'

/** Returns what a person wants to see of a server: all that it says. */
export function statusLines(asked: string, status: ServerStatus): string[] {
  const width = columns()
  const says = status.description
    .split('\n')
    .map((line) => printable(line.trim()))
    .filter((line) => line !== '')
    .flatMap((line) => wrap(`  ${line}`, width, '  '))
  return [
    ...wrap(`${asked} is up`, width).map((line) => styled('bold', line)),
    ...says.map((line) => styled('green', line)),
    ...Object.entries(fieldsOf(status)).flatMap(([name, text]) =>
      text === '' ? [] : wrap(`${name.padEnd(9)}${text}`, width, ' '.repeat(9)),
    ),
  ]
}

function fieldsOf(status: ServerStatus): Record<string, string> {
  const { ip, port, players, version, latencyMs, srvRecord, favicon, sample = [], mods = [] } = status
  const names = sample.map(({ name }) => printable(name)).join(', ')
  const via = srvRecord === null ? '' : `, by the SRV record of ${srvRecord.host}:${srvRecord.port}`
  const modNames = mods.map(({ id, version: of }) => printable(`${id} ${of}`.trim())).join(', ')
  return {
    Players: `${players.online} of ${players.max}${names === '' ? '' : `: ${names}`}`,
    Version: `${printable(version.name)} (protocol ${version.protocol})`.trimStart(),
    Ping: `${Math.round(latencyMs)} ms`,
    Address: `${ip.includes(':') ? `[${ip}]` : ip}:${port}${via}`,
    Icon: favicon === undefined ? '' : `a PNG of ${octetsOf(favicon)} bytes`,
    Chat: chatOf(status),
    Mods: mods.length === 0 ? '' : `${mods.length}: ${modNames}`,
  }
}

function octetsOf(dataUri: string): number {
  return Buffer.byteLength(dataUri.slice(dataUri.indexOf(',') + 1), 'base64')
}

function chatOf({ enforcesSecureChat, previewsChat, preventsChatReports }: ServerStatus): string {
  const says = [
    enforcesSecureChat === true
      ? 'signed messages only'
      : enforcesSecureChat === false
        ? 'unsigned messages, too'
        : '',
    previewsChat === true ? 'with a preview' : '',
    preventsChatReports === true ? 'no reports' : '',
  ]
  return says.filter((each) => each !== '').join(', ')
}

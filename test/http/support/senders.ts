// Many connections that send to a server, in a process of their own: `node --import test/support/sources.ts
// test/http/support/senders.ts <port> <connections> <kind> <reads> <tokens>`. Prints a line once all are open, and goes on until it is
// killed.
import { connect, type Socket } from 'node:net'
import { rawRequestText } from './raw.ts'

const [port = '', connections = '', kind = '', reads = '', tokens = ''] = process.argv.slice(2)
const bearers = tokens.split(',')

function check(connection: number, domain: string): string {
  return rawRequestText('GET /v3/tools/dnscheck', {
    Authorization: `Bearer ${bearers[connection % bearers.length]}`,
    'X-Domain': domain,
    'X-Record-Type': 'TXT',
  })
}

let sent = 0
/** What a connection sends at once. */
const kinds: Readonly<Record<string, (connection: number) => string>> = {
  honest: (connection) => check(connection, `n${(sent += 1)}.example`),
  'equal names': (connection) => check(connection, 'hostile.example'),
  'names of their own': (connection) => check(connection, `n${(sent += 1)}.hostile.example`),
  'sixteen requests': (connection) =>
    Array.from({ length: 16 }, () => check(connection, `n${(sent += 1)}.hostile.example`)).join(''),
  'two hundred requests': (connection) => check(connection, 'hostile.example').repeat(200),
  'two hundred requests without credentials': () => rawRequestText('GET /openapi.json').repeat(200),
}
const text = kinds[kind] as (connection: number) => string

/** How long those that do not wait for answers wait instead, and everybody after the end of a connection. */
const pauseMs = 250
let open = 0

function start(index: number): void {
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.on('close', () => setTimeout(start, pauseMs, index))
  socket.once('connect', () => {
    open += 1
    if (open === Number(connections)) console.log('open')
    socket.write(text(index))
  })
  if (kind === 'honest')
    socket.on(
      'data',
      answerReader(() => socket.write(text(index))),
    )
  else {
    if (reads === 'true') socket.resume()
    const timer = setInterval(() => sendMore(socket, index), pauseMs)
    socket.once('close', () => clearInterval(timer))
  }
}

function sendMore(socket: Socket, index: number): void {
  if (!socket.connecting && socket.writableLength === 0) socket.write(text(index))
}

/** Calls back after each whole answer. */
function answerReader(onAnswer: () => void): (chunk: Buffer) => void {
  let received = ''
  return (chunk) => {
    received += chunk.toString('latin1')
    const head = received.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
    if (head === -1 || received.length < head + 4 + length) return
    received = ''
    onAnswer()
  }
}

for (let index = 0; index < Number(connections); index += 1) start(index)
process.stdin.on('end', () => process.exit()).resume()

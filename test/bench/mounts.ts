// License updates per second on memory storage, mount by mount, beside the same work written by hand:
// `npm run bench -- mounts`. ROUNDS, ROUND_MS and CONNECTIONS change how much.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { loader, measureServers, printResults, ratioOf, type ServerUnderLoad } from './http-load.ts'
import { licenseKey, subjects, token } from './mounts-subjects.ts'
import { printTable } from './table.ts'

const rounds = Number(process.env['ROUNDS'] ?? 7)
const roundMs = Number(process.env['ROUND_MS'] ?? 2000)
const connections = Number(process.env['CONNECTIONS'] ?? 32)
const file = fileURLToPath(new URL('mounts-subject.ts', import.meta.url))

async function start(name: string): Promise<ServerUnderLoad> {
  const onBun = name.endsWith('Bun') && { execPath: 'node_modules/.bin/bun', execArgv: [] }
  const child = fork(file, [name], { ...onBun })
  const [port] = (await once(child, 'message')) as [number]
  const headers = {
    Host: `127.0.0.1:${port}`,
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Grace Hopper',
    'X-Domain-Or-IP': 'shop.example.com',
    'X-Status': 'invalid',
    'Content-Length': '0',
  }
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`)
  const request = `PUT /v2/reseller/${licenseKey}/update HTTP/1.1\r\n${lines.join('')}\r\n`
  return { name, port, child, requests: [request] }
}

const servers: ServerUnderLoad[] = []
for (const name of Object.keys(subjects)) servers.push(await start(name))
const results = await measureServers(servers, { connections, rounds, roundMs })
for (const { child } of servers) child.disconnect()

printResults(
  `License updates on memory storage, load by ${loader}, ${connections} connections, ${rounds} rounds of ${roundMs} ms: medians.`,
  results,
)

const ratio = (one: string, other: string): string => ratioOf(results, one, other).toFixed(2)
printTable(
  'Mounts beside the same work written by hand, by the median of the ratios of each round.',
  [
    ['utility-api on Node', 'node:http by hand'],
    ['utility-api on Node', 'Hono by hand'],
    ['utility-api on Express 5', 'Express 5 by hand'],
    ['utility-api on Bun', 'Bun.serve by hand, on Bun'],
    ['utility-api on Bun', 'Hono by hand, on Bun'],
    ['utility-api on Bun', 'Hono by hand with an await, on Bun'],
  ].map(([one = '', other = '']) => ({ 'utility-api': one, beside: other, ratio: ratio(one, other) })),
)

// One server of the token benchmark in a process of its own: `node tokens-subject.ts fill|serve <name> <path> <exchanges>`.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { reportToParent } from './http-load.ts'
import { stores, subjects } from './tokens-subjects.ts'

const [mode, name = '', path = '', exchanges = ''] = process.argv.slice(2)
if (mode === 'fill') await stores[name]?.(path, exchanges)
if (mode === 'serve') {
  const server = await subjects[name]?.(path, exchanges)
  if (server === undefined) throw new Error(`There is no subject "${name}".`)
  if (!server.listening) await once(server, 'listening')
  reportToParent((server.address() as AddressInfo).port)
}

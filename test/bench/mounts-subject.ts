// One server of the mounts benchmark in a process of its own: `node mounts-subject.ts <name>`.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { reportToParent } from './http-load.ts'
import { subjects } from './mounts-subjects.ts'

const [name = ''] = process.argv.slice(2)
const server = subjects[name]?.()
if (server === undefined) throw new Error(`There is no subject "${name}".`)
if (typeof server === 'number') reportToParent(server)
else {
  // Hono's server listens by itself.
  if (!name.startsWith('Hono')) server.listen(0, '127.0.0.1')
  if (!server.listening) await once(server, 'listening')
  reportToParent((server.address() as AddressInfo).port)
}

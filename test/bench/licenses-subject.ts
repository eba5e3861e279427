// One server of the license benchmark in a process of its own: `node licenses-subject.ts <name> <path>`.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { reportToParent } from './http-load.ts'
import { subjects } from './licenses-subjects.ts'

const [name = '', path = ''] = process.argv.slice(2)
const server = await subjects[name]?.(path)
if (server === undefined) throw new Error(`There is no subject "${name}".`)
if (!server.listening) await once(server, 'listening')
reportToParent((server.address() as AddressInfo).port)

import { createRequire } from 'node:module'
import { command, type AnyCommand } from './command.ts'

export const version: AnyCommand = command({
  examples: ['version'],
  run() {
    const require = createRequire(import.meta.url)
    console.log((require('utility-api/package.json') as { version: string }).version)
  },
})

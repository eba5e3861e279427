import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { expectEveryWay, hasHaproxy } from './support/haproxy.ts'
import { icon } from './support/real-server.ts'

const installed = existsSync(join(import.meta.dirname, '../peers/node_modules/flying-squid'))
if (!installed) console.log('Skipped: flying-squid is not installed; run `npm ci` in test/peers.')

/** Starts flying-squid in a process of its own, has these people log in, and returns its port. */
async function startSquid(options: object): Promise<number> {
  const program = join(import.meta.dirname, 'support/flying-squid.node.ts')
  const child = fork(program, [JSON.stringify(options)], { silent: true, execArgv: [] })
  const closed = once(child, 'close')
  let complaints = ''
  child.stderr!.on('data', (text: Buffer) => (complaints += String(text)))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const [port] = await Promise.race([
    once(child, 'message') as Promise<[number]>,
    closed.then(() => Promise.reject(new Error(`flying-squid has ended.\n${complaints}`))),
  ])
  return port
}

test.skipIf(!installed || !hasHaproxy()).for([
  ['1.8.8', 47],
  ['1.16.5', 754],
  ['1.21.4', 769],
] as const)(
  'flying-squid %s, in which two people play: by every way the same',
  async ([version, protocol]) => {
    const motd = `§6Squid of ${version}`
    const players = ['Ada', 'Grace']
    const port = await startSquid({ version, motd, 'max-players': 12, favicon: icon, players })
    await expectEveryWay(port, {
      players: { online: 2, max: 12 },
      version: { name: version, protocol },
      description: `Squid of ${version}`,
      descriptionSpans: [{ text: `Squid of ${version}`, color: 'gold' }],
      favicon: icon,
    })
  },
)

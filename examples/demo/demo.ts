/**
 * All five operations for real: over HTTP, on a SQLite file, with DNS and game servers on loopback.
 *
 * node demo.ts               performs them, prints requests and answers, and ends
 * node demo.ts --keep        stays up and prints curl lines
 * node demo.ts --port 3000   listens on that port instead of a free one
 * node demo.ts --live --game play.example.com --domain example.com
 *                            asks public resolvers and a game server of yours instead
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs, styleText } from 'node:util'
import { toNodeHandler } from 'utility-api/node'
import {
  checkStep,
  curlLine,
  exchangeStep,
  generateStep,
  lookupStep,
  updateStep,
  type Step,
} from './steps.ts'
import { createDemoWorld, type DemoWorld, type Targets } from './world.ts'

const { values } = parseArgs({
  options: {
    keep: { type: 'boolean' },
    port: { type: 'string', default: '0' },
    live: { type: 'boolean' },
    game: { type: 'string' },
    domain: { type: 'string', default: 'example.com' },
  },
})

const world = await createDemoWorld(values.live ? liveTargets() : undefined)
const server = createServer(toNodeHandler(world.api))
const baseUrl = await listen(server, Number(values.port))
console.log(`Listening on ${baseUrl}, database ${world.databaseFile}\n`)
if (values.keep) await keep(baseUrl, world)
else await performAll(baseUrl, world)
await new Promise((resolve) => server.close(resolve))
await world.close()

/** Nobody's server is asked but the one that is named. */
function liveTargets(): Targets {
  const { game, domain } = values
  if (game !== undefined) return { game, domain }
  console.error('Name a block-game server to look up: --live --game HOST or HOST:PORT.')
  process.exit(1)
}

async function listen(toStart: Server, port: number): Promise<string> {
  const listening = new Promise<void>((resolve, reject) => {
    toStart.once('error', reject)
    toStart.listen(port, '127.0.0.1', resolve)
  })
  try {
    await listening
  } catch (error) {
    await world.close()
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    console.error(
      taken ? `Port ${port} is taken; choose another with --port.` : `Cannot listen: ${String(error)}`,
    )
    process.exit(1)
  }
  return `http://127.0.0.1:${(toStart.address() as AddressInfo).port}`
}

async function performAll(url: string, { credentials, targets }: DemoWorld): Promise<void> {
  const { access_token: accessToken } = await perform<{ access_token: string }>(
    url,
    exchangeStep(credentials),
  )
  const { data } = await perform<{ data: { license_key: string } }>(url, generateStep(credentials))
  await perform(url, updateStep(credentials, data.license_key))
  await perform(url, checkStep(accessToken, targets))
  await perform(url, lookupStep(credentials, targets))
  console.log(styleText('green', 'All five operations succeeded.'))
}

async function perform<Answer>(url: string, step: Step): Promise<Answer> {
  console.log(styleText('bold', step.title))
  console.log(styleText('cyan', `> ${step.method} ${step.path}`))
  for (const [name, value] of Object.entries(step.headers))
    console.log(styleText('dim', `> ${name}: ${value}`))
  if (step.body !== undefined) console.log(styleText('dim', `> ${step.body}`))
  const { method, headers, body } = step
  const response = await fetch(url + step.path, { method, headers, ...(body !== undefined && { body }) })
  const answer = (await response.json()) as Answer
  console.log(styleText(response.ok ? 'green' : 'red', `< ${response.status} ${response.statusText}`))
  console.log(JSON.stringify(answer, null, 2), '\n')
  if (!response.ok) throw new Error(`${step.title}: answered ${response.status}.`)
  return answer
}

/** Prints a line per operation and waits for Ctrl-C. The code can be exchanged once; the token and license come from here. */
async function keep(url: string, { admin, credentials, targets }: DemoWorld): Promise<void> {
  const { accessToken } = await admin.createAccessToken({ scope: 'dns:check' })
  const generated = await fetch(url + generateStep(credentials).path, generateStep(credentials))
  const { data } = (await generated.json()) as { data: { license_key: string } }
  const steps = [
    exchangeStep(credentials),
    generateStep(credentials),
    updateStep(credentials, data.license_key),
    checkStep(accessToken, targets),
    lookupStep(credentials, targets),
  ]
  for (const step of steps) console.log(`${styleText('bold', step.title)}\n${curlLine(url, step)}\n`)
  console.log('Press Ctrl-C to stop.')
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
}

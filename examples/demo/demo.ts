/**
 * All five operations for real: over HTTP, on a SQLite file, with DNS and game servers on loopback.
 *
 * node demo.ts               performs them, prints requests and answers, and exits
 * node demo.ts --keep        keeps running and prints curl lines
 * node demo.ts --port 3000   listens on that port instead of a free one
 * node demo.ts --live --game play.example.com --domain example.com
 *                            asks public resolvers and your own game server instead
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs, styleText } from 'node:util'
import {
  checkStep,
  curlLine,
  exchangeStep,
  generateStep,
  lookupStep,
  updateStep,
  type Step,
} from './steps.ts'
import type { DemoWorld, Targets } from './world.ts'

const interrupted = new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
try {
  await demo()
} catch (error) {
  console.error((error as Error).message.split('\n', 1)[0])
  process.exitCode = 1
}

/** Runs the demo. Whatever goes wrong, and whenever it is stopped, no server and no file is left behind. */
async function demo(): Promise<void> {
  const { keep: staysUp, port, targets } = readArguments()
  const { toNodeHandler, createDemoWorld } = await load()
  const world = await createDemoWorld(targets)
  const server = createServer(toNodeHandler(world.api))
  try {
    const baseUrl = await listen(server, port)
    console.log(`Listening on ${baseUrl}, database ${world.databaseFile}\n`)
    await Promise.race([staysUp ? keep(baseUrl, world) : performAll(baseUrl, world), interrupted])
  } finally {
    server.close()
    server.closeAllConnections()
    await world.close()
  }
}

interface Arguments {
  readonly keep: boolean
  readonly port: number
  /** What to query on the public network. Absent for servers on loopback. */
  readonly targets: Targets | undefined
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      keep: { type: 'boolean', default: false },
      port: { type: 'string', default: '0' },
      live: { type: 'boolean' },
      game: { type: 'string' },
      domain: { type: 'string', default: 'example.com' },
    },
  })
  const { keep: staysUp, live, game, domain } = values
  const port = Number(values.port)
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new Error('A port is a number from 0 to 65535: --port 3000.')
  }
  if (!live) return { keep: staysUp, port, targets: undefined }
  // Only the server that was named is asked.
  if (game === undefined) {
    throw new Error('Name a Minecraft server to look up: --live --game HOST or HOST:PORT.')
  }
  return { keep: staysUp, port, targets: { game, domain } }
}

/** Imports the library late, so that a missing package gets a one-sentence error, too. */
async function load() {
  try {
    const [{ toNodeHandler }, { createDemoWorld }] = await Promise.all([
      import('utility-api/node'),
      import('./world.ts'),
    ])
    return { toNodeHandler, createDemoWorld }
  } catch (cause) {
    const [reason] = (cause as Error).message.split('\n', 1)
    throw new Error(`Run npm ci first, or npm install in a copy of this folder: ${reason}`, { cause })
  }
}

async function listen(server: Server, port: number): Promise<string> {
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE') throw new Error(`Port ${port} cannot be used: ${message}.`, { cause })
    throw new Error(`Port ${port} is taken; choose another with --port.`, { cause })
  }
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
  console.log('To try them by hand, start it with --keep: it keeps running and prints curl lines.')
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
  if (!response.ok)
    throw new Error(`Not as it should be: "${step.title}" was answered with ${response.status}.`)
  return answer
}

/**
 * Prints a line for each operation and waits for Ctrl-C. The code can be exchanged once; the token and the license are
 * created here.
 */
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
  await interrupted
}

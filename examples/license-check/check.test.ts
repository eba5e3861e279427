/** The four programs, each against a service that answers, fails, is gone, or is somebody else's. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { createAdmin, type UtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildsGo, findPython, hasPhp } from '../../test/security/support/license-programs.ts'
import { issuer, newKey, signingWorld, startTime } from '../../test/security/support/signing-world.ts'
import { startExample } from '../../test/package/start-example.ts'
import { quoted } from '../../test/support/shell.ts'
import { licenseRoutes } from './routes.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'license-check-test-'))
const hour = 3_600_000
const day = 24 * hour
const week = 7 * day

interface Language {
  /** Returns the command, or null where something is missing. */
  prepare(): string[] | null
  readonly needs: string
}

const sources = join(here, '../../test/support/sources.ts')

const languages: Readonly<Record<string, Language>> = {
  'Node.js': { prepare: () => [process.execPath, '--import', sources, join(here, 'check.ts')], needs: '' },
  PHP: {
    prepare: () => (hasPhp('sodium', 'intl') ? ['php', join(here, 'check.php')] : null),
    needs: 'Debian packages php-cli and php-intl',
  },
  Python: {
    prepare() {
      const python = findPython()
      return python === null ? null : [python, '-B', join(here, 'check.py')]
    },
    needs: 'Debian packages python3-jwt, python3-cryptography and python3-idna',
  },
  Go: {
    prepare() {
      const program = join(folder, 'check-go')
      return buildsGo(program, join(here, 'check.go')) ? [program] : null
    },
    needs: 'Debian packages golang-go and golang-golang-x-net-dev',
  },
}

const [old, next] = [newKey(), newKey()]
const memory = memoryStorage()
let storageFails = false
const storage = {
  ...memory,
  findLicense: (...args: Parameters<typeof memory.findLicense>) => {
    if (storageFails) throw new Error('The database is away.')
    return memory.findLicense(...args)
  },
}
const { api, clock, license } = signingWorld({ issuer, signingKey: old, allowWildcards: true }, storage)
const admin = createAdmin({ storage })
const rotated = signingWorld({ issuer, signingKey: [next, old] }, storage)
for (const world of [{ clock }, rotated]) world.clock.advance(Date.now() - startTime)

let routes: RequestListener = licenseRoutes(api)
let server: Server
let url: string

beforeAll(async () => {
  server = createServer((request, response) => routes(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(join(folder, 'license-keys.json'), JSON.stringify(rotated.api.licenseJwks()))
}, 120_000)

afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await Promise.all([api.close(), rotated.api.close()])
  rmSync(folder, { recursive: true })
})

const stored = join(folder, 'license.jwt')

beforeEach(() => {
  routes = licenseRoutes(api)
  storageFails = false
  rmSync(stored, { force: true })
})

/** Signs with the real key what the routes would not. */
function signed(header: object, claims: object, key = old): Promise<string> {
  const all = { sub: 'any', status: 'valid', domain_or_ip: 'shop.example', registered_to: 'Ada', ...claims }
  const [jwk] = api.licenseJwks().keys
  return new SignJWT({ iss: issuer, aud: 'shop-plugin', exp: Math.floor(Date.now() / 1000) + 60, ...all })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'license+jwt', kid: jwk?.kid ?? '', ...header })
    .sign(key)
}

/** A statement that was signed so long ago. */
async function signedAgo(milliseconds: number, key: string): Promise<string> {
  clock.advance(-milliseconds)
  const statement = await api.signLicense(key, { lifetimeSeconds: week / 1000, audience: 'shop-plugin' })
  clock.advance(milliseconds)
  return statement
}

/** Some of what vectors.test.ts asks of the functions, asked of the whole programs. */
const covered: readonly (readonly [licensed: string, host: string, isCovered: boolean])[] = [
  ['shop.example', 'www.shop.example:8443', true],
  ['shop.example', 'shop.example.evil.example', false],
  ['shop.example', '', false],
  ['*.bücher.example', 'eu.xn--bcher-kva.example', true],
  ['2001:db8::1', '[2001:DB8:0::1]:443', true],
]

describe.for(Object.entries(languages))('%s', ([name, { prepare, needs }]) => {
  let command: string[] | null = null

  beforeAll(() => {
    command = prepare()
    if (command === null) console.warn(`${name}: skipped, needs ${needs}.`)
  }, 300_000)

  beforeEach(({ skip }) => skip(command === null, `needs ${needs}`))

  /** Runs the program, and returns what it prints and logs; its exit code must say the same. */
  function run(key: string, host = 'shop.example', address = url): Promise<[outcome: string, log: string]> {
    const [program = '', ...args] = command ?? []
    const env = { PATH: process.env['PATH'], LICENSE_SERVER: address, LICENSE_FOLDER: folder }
    return new Promise((resolve, reject) => {
      execFile(program, [...args, key, host], { env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code
        if (code !== (stdout.startsWith('refused: ') ? 1 : 0)) {
          reject(new Error(`code ${code}\n${stdout}\n${stderr}`))
        } else resolve([stdout.trimEnd(), stderr])
      })
    })
  }

  /** Runs the program, and returns what it prints. Only what the owner should know is in its log. */
  async function check(...args: Parameters<typeof run>): Promise<string> {
    const [outcome, log] = await run(...args)
    const said = outcome === noStatement ? 'License check: the answer: ' : `License check: ${outcome}.`
    if (outcome === noStatement || outcome.startsWith('grace')) expect(log).toContain(said)
    else expect(log).toBe('')
    return outcome
  }

  const noStatement = 'refused: no statement holds; try again when the server can be reached'

  test('hosts that a license covers, and hosts that it does not', { timeout: 300_000 }, async () => {
    const outcomes = []
    for (const [licensed, host] of covered) {
      outcomes.push([licensed, host, (await check(await license('Ada', licensed), host)) === 'valid'])
    }
    expect(outcomes).toEqual(covered)
  })

  test('an outage is survived with the last statement, of storage and of the server', async () => {
    const key = await license('Ada', 'shop.example')
    storageFails = true
    expect(await check(key)).toBe(noStatement)
    storageFails = false
    expect(await check(key.toLowerCase())).toBe('valid')
    storageFails = true
    expect(await check(key)).toBe('valid')
    expect(await check(key, 'shop.example', 'http://127.0.0.1:1')).toBe('valid')
    expect(await check(key, 'other.example')).toMatch(
      /^refused: .* valid, for shop\.example, until 20.* UTC$/,
    )
  }, 60_000)

  test('a statement from a file counts, for every form of its key and for no other key', async () => {
    const key = await license('Ada', 'shop.example')
    const sold = await license('Grace', 'shop.example')
    // As `utility-api license sign` writes it.
    writeFileSync(stored, `${await signedAgo(0, key)}\n`)
    storageFails = true
    const typed = [key, ` ${key.toLowerCase()}\n`, key.replaceAll('-', ''), key.replaceAll('-', '–')]
    for (const each of [...typed, key.replaceAll('0', 'o').replaceAll('1', 'l')]) {
      expect([each, await check(each)]).toEqual([each, 'valid'])
    }
    const another = 'refused: the statement is for another license key'
    expect([await check(sold), await check('')]).toEqual([another, another])
  }, 60_000)

  test('without arguments it says how to call it', () => {
    const [program = '', ...args] = command ?? []
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
    expect({ failed: status !== 0, stdout, stderr }).toEqual({
      failed: true,
      stdout: '',
      stderr: expect.stringMatching(/^Usage: .* LICENSE_KEY HOST\n$/),
    })
  })

  test('after the lifetime there is a grace of three days, and then nothing', async () => {
    const key = await license('Ada', 'shop.example')
    const outcomes = []
    for (const age of [week - hour, week + hour, week + 3 * day - hour, week + 3 * day + hour]) {
      storageFails = false
      const statement = await signedAgo(age, key)
      writeFileSync(stored, statement)
      storageFails = true
      const end = new Date(expiryOf(statement) + 3 * day).toISOString().slice(0, 16).replace('T', ' ')
      outcomes.push((await check(key)).replace(`before ${end} UTC`, 'before the end'))
    }
    const grace = 'grace: the server must be reached before the end'
    expect(outcomes).toEqual([
      'valid',
      grace,
      grace,
      expect.stringMatching(/^refused: .* valid, for .*, until 20/),
    ])
    storageFails = false
    expect(await check(key)).toBe('valid')
  }, 60_000)

  test('a license that has ended is refused from the next answer on, however long ago that was', async () => {
    const key = await license('Ada', 'shop.example')
    expect(await check(key)).toBe('valid')
    const ends = [new Date(Date.now() - hour), new Date(Date.now() - 365 * day), new Date(0)]
    const untilEnd = (end: Date): string =>
      `refused: the server last said: valid, for shop.example, until ${end.toISOString().slice(0, 10)}`
    for (const expiresAt of ends) {
      await admin.updateLicense(key, { expiresAt })
      expect(await check(key)).toContain(untilEnd(expiresAt))
    }
    expect(await check(key, 'shop.example', 'http://127.0.0.1:1')).toContain(untilEnd(new Date(0)))
  }, 60_000)

  test('a license that becomes invalid is refused from the next answer on, without the server too', async () => {
    const key = await license('Ada', 'shop.example')
    expect(await check(key)).toBe('valid')
    await admin.updateLicense(key, { status: 'invalid' })
    expect(await check(key)).toMatch(/^refused: the server last said: invalid, for shop\.example, until 20/)
    storageFails = true
    expect(await check(key)).toMatch(/^refused: the server last said: invalid, for shop\.example, until 20/)
  }, 60_000)

  test('only the service itself can say that a license does not exist', async () => {
    const key = await license('Ada', 'shop.example')
    expect(await check(key)).toBe('valid')
    const answers: RequestListener[] = [
      (_, response) => response.writeHead(404).end('<h1>Not found</h1>'),
      (_, response) => response.writeHead(503).end(),
      (_, response) => response.destroy(),
    ]
    for (const answer of answers) {
      routes = answer
      expect(await check(key)).toBe('valid')
    }
    // A file that `utility-api license sign` wrote, served as it is.
    const statement = await signedAgo(0, key)
    routes = (_, response) => response.end(`${statement}\n`)
    rmSync(stored)
    expect(await check(key)).toBe('valid')
    expect(readFileSync(stored, 'utf8')).toBe(statement)
    routes = licenseRoutes(api)
    expect(await check('LIC-other')).toBe('refused: there is no such license')
    expect(readFileSync(stored, 'utf8')).not.toBe('')
    await admin.deleteLicense(key)
    expect(await check(key)).toBe('refused: there is no such license')
    expect(existsSync(stored)).toBe(false)
  }, 60_000)

  test('an answer that is not accepted is logged while the stored statement holds', async () => {
    const key = await license('Ada', 'shop.example')
    expect(await check(key)).toBe('valid')
    const answers = [
      await signed({}, { aud: 'theme' }),
      await signed({ kid: 'other' }, {}),
      '<h1>Log in to this network</h1>',
    ]
    for (const answer of answers) {
      routes = (_, response) => response.end(answer)
      const [outcome, log] = await run(key)
      expect(outcome).toBe('valid')
      expect(log).toMatch(/License check: the stored statement holds, but the answer does not: .{5,}\.\n$/)
    }
  }, 60_000)

  test('a statement of another key, type, algorithm, issuer or audience, or an altered one, is none', async () => {
    const genuine = await signed({}, {})
    const [header, claims, signature] = genuine.split('.')
    const altered = Buffer.from(JSON.stringify({ status: 'valid', domain_or_ip: 'shop.example' }))
    const statements = {
      genuine,
      'another key': await signed({}, {}, newKey()),
      'an unknown key': await signed({ kid: 'other' }, {}),
      'another type': await signed({ typ: 'JWT' }, {}),
      'another issuer': await signed({}, { iss: 'https://thief.example' }),
      'another audience': await signed({}, { aud: 'theme' }),
      'no signature': `${header}.${claims}.`,
      'no algorithm': `${Buffer.from('{"alg":"none","typ":"license+jwt"}').toString('base64url')}.${claims}.`,
      'altered claims': `${header}.${altered.toString('base64url')}.${signature}`,
      'a part more': `${genuine}.${signature}`,
      'a part less': `${header}.${claims}`,
      nothing: '',
    }
    const outcomes: Record<string, string> = {}
    for (const [what, statement] of Object.entries(statements)) {
      routes = (_, response) => response.end(statement)
      rmSync(stored, { force: true })
      outcomes[what] = await check('any')
    }
    const expected = Object.keys(statements).map((what) => [what, what === 'genuine' ? 'valid' : noStatement])
    expect(outcomes).toEqual(Object.fromEntries(expected))
  }, 120_000)

  test('two keys during a rotation', async () => {
    const key = await license('Ada', 'shop.example')
    for (const signer of [api, rotated.api]) {
      routes = licenseRoutes(signer)
      rmSync(stored, { force: true })
      expect(await check(key)).toBe('valid')
      expect(kidOf(readFileSync(stored, 'utf8'))).toBe(kidOfFirst(signer))
    }
  }, 60_000)
})

test('PHP says why no statement holds, and which file is missing', async ({ skip }) => {
  const [program = '', ...args] = languages['PHP']?.prepare() ?? []
  skip(program === '', 'needs php-cli and php-intl')
  const empty = mkdtempSync(join(folder, 'empty-'))
  const run = (files: string, statement: string): Promise<string> => {
    routes = (_, response) => response.end(statement)
    const env = { PATH: process.env['PATH'], LICENSE_SERVER: url, LICENSE_FOLDER: files }
    return new Promise((resolve) => {
      execFile(program, [...args, 'any', 'shop.example'], { env }, (_, _stdout, stderr) => resolve(stderr))
    })
  }
  const reasons = {
    'its key is not in license-keys.json': await signed({ kid: 'other' }, {}),
    'its signature is wrong': await signed({}, {}, newKey()),
    'its issuer or audience is not the one in this program': await signed({}, { aud: 'theme' }),
    'it never expires': await signed({}, { exp: undefined }),
    'not a license statement': '<h1>Not found</h1>',
    none: '',
  }
  for (const [reason, statement] of Object.entries(reasons)) {
    expect(await run(folder, statement)).toContain(
      `License check: the answer: ${reason}; the stored statement: none.`,
    )
  }
  expect(await run(empty, '')).toContain('license-keys.json is missing')
}, 60_000)

function kidOf(statement: string): unknown {
  return JSON.parse(Buffer.from(statement.split('.')[0] ?? '', 'base64url').toString()).kid
}

function expiryOf(statement: string): number {
  return JSON.parse(Buffer.from(statement.split('.')[1] ?? '', 'base64url').toString()).exp * 1000
}

function kidOfFirst(signer: UtilityApi): string | undefined {
  return signer.licenseJwks().keys[0]?.kid
}

test('the lines that the server prints do what they say', async () => {
  const example = await startExample('license-check', { TMPDIR: folder })
  await expect.poll(example.output).toContain('go run')
  const [, statementUrl = ''] = /curl (\S+)/.exec(example.output()) ?? []
  expect(await (await fetch(statementUrl)).text()).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}$/)
  const lines = /^export .*\nnode .*$/m.exec(example.output())?.[0] ?? ''
  const script = lines.replace('node ', `${quoted(process.execPath)} --import ${quoted(sources)} `)
  const printed = await new Promise((resolve) => {
    execFile('bash', ['-c', script], { cwd: here }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
  expect(printed).toBe('valid\n')
  expect(await example.stop()).toBe(0)
}, 60_000)

test.each(['/license/%zz', '/license/', '//', '/other'])('the routes have nothing at %s', async (path) => {
  expect((await fetch(`${url}${path}`)).status).toBe(404)
})

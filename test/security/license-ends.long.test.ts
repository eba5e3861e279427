/** Statements about licenses that end: none outlives its license, and a clock that is some minutes off reads them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, expect, test } from 'vitest'
import { buildsGo, findPython } from './support/license-programs.ts'
import { issuer, newKey, signingWorld, startTime } from './support/signing-world.ts'

const folder = mkdtempSync(join(tmpdir(), 'license-ends-'))
const minute = 60_000
const audience = 'shop-plugin'

afterAll(() => rmSync(folder, { recursive: true }))

/** A service with one license, whose end each statement moves. */
async function world(): Promise<{
  readonly jwks: string
  sign(at: number, expiresAt: number | null, lifetimeSeconds: number): Promise<string>
}> {
  const memory = memoryStorage()
  let end: number | null = null
  const storage = {
    ...memory,
    findLicense: async (...args: Parameters<typeof memory.findLicense>) => {
      const found = await memory.findLicense(...args)
      return found && { ...found, expiresAt: end }
    },
  }
  const { api, clock, license } = signingWorld({ issuer, signingKey: newKey() }, storage)
  const key = await license('Ada', 'shop.example')
  return {
    jwks: JSON.stringify(api.licenseJwks()),
    sign(at, expiresAt, lifetimeSeconds) {
      clock.advance(at - clock.now())
      end = expiresAt
      return api.signLicense(key, { lifetimeSeconds, audience })
    },
  }
}

function claimsOf(statement: string): { iat: number; exp: number } {
  return JSON.parse(Buffer.from(statement.split('.')[1] ?? '', 'base64url').toString())
}

/** A time at most this far away, either way; often at or beside the moment itself. */
function near(at: number, range: number): number {
  const [few, many] = [Math.round(Math.random() * 4000) - 2000, Math.round((Math.random() * 2 - 1) * range)]
  return at + (Math.random() < 0.1 ? few : many)
}

test('no statement outlives its license, nor its own lifetime', async () => {
  const { sign } = await world()
  const wrong: object[] = []
  for (let count = 0; count < 100_000; count += 1) {
    const at = near(startTime, 400 * 86_400_000)
    const lifetimeSeconds = 1 + Math.floor(Math.random() ** 4 * 315_000_000)
    const own = Math.floor(at / 1000) + lifetimeSeconds
    const end = near(Math.random() < 0.5 ? at : own * 1000, 40 * 86_400_000)
    const expiresAt = Math.random() < 0.1 ? null : end
    // oxlint-disable-next-line no-await-in-loop
    const { exp } = claimsOf(await sign(at, expiresAt, lifetimeSeconds))
    // By another way than the code: the last second that is within both.
    const isLast = (second: number): boolean =>
      second <= own && (expiresAt === null || second * 1000 <= expiresAt)
    if (!isLast(exp) || isLast(exp + 1)) wrong.push({ at, expiresAt, lifetimeSeconds, exp })
  }
  expect(wrong).toEqual([])
}, 300_000)

/** Statements with ten minutes left or more, by a clock that is up to five minutes ahead of this machine's or behind. */
async function fresh(): Promise<{ jwks: string; statements: readonly string[] }> {
  const { sign, jwks } = await world()
  const now = Date.now()
  const statements: string[] = []
  for (let count = 0; count < 1000; count += 1) {
    const minutes = [-5, 5, Math.random() * 10 - 5][count % 3] ?? 0
    const at = now + minutes * minute
    const expiresAt = at + 10 * minute + Math.random() ** 3 * 1e10
    // oxlint-disable-next-line no-await-in-loop
    statements.push(await sign(at, expiresAt, 600 + Math.floor(Math.random() ** 3 * 1e7)))
  }
  return { jwks, statements }
}

test('jose accepts each by a clock that is five minutes off', async () => {
  const { statements, jwks } = await fresh()
  const keys = createLocalJWKSet(JSON.parse(jwks))
  const options = { algorithms: ['EdDSA'], typ: 'license+jwt', issuer, audience, requiredClaims: ['exp'] }
  const accepted = await Promise.all(statements.map((each) => jwtVerify(each, keys, options)))
  expect(accepted).toHaveLength(1000)
})

// Each takes the file of keys, reads statements, one a line, and prints how many it accepts. Their options are what is
// usual: none has a tolerance.
const programs = {
  PyJWT: `import json, jwt, sys
key = jwt.PyJWK(json.load(open(sys.argv[1]))['keys'][0]).key
options = dict(algorithms=['EdDSA'], issuer=${JSON.stringify(issuer)}, audience='${audience}', options={'require': ['exp']})
print(sum(jwt.decode(line.strip(), key, **options)['status'] == 'valid' for line in sys.stdin))
`,
  'golang-jwt': `package main
import ("bufio"; "crypto/ed25519"; "encoding/base64"; "encoding/json"; "fmt"; "os"; "github.com/golang-jwt/jwt")
func main() {
	var set struct{ Keys []struct{ X string } }
	text, _ := os.ReadFile(os.Args[1])
	json.Unmarshal(text, &set)
	key, _ := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	accepted := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		token, err := jwt.Parse(lines.Text(), func(*jwt.Token) (interface{}, error) { return ed25519.PublicKey(key), nil })
		if err != nil { panic(err) }
		if token.Valid { accepted++ }
	}
	fmt.Println(accepted)
}
`,
}

test.for(['PyJWT', 'golang-jwt'] as const)('%s accepts each', async (library, { skip }) => {
  const source = join(folder, library === 'PyJWT' ? 'caller.py' : 'caller.go')
  writeFileSync(source, programs[library])
  const binary = join(folder, 'caller')
  const python = findPython()
  const command = library === 'PyJWT' ? python && [python, source] : buildsGo(binary, source) && [binary]
  skip(!command, 'needs the Debian packages python3-jwt, golang-go and golang-github-golang-jwt-jwt-dev')
  const { statements, jwks } = await fresh()
  const keys = join(folder, 'keys.json')
  writeFileSync(keys, jwks)
  const [program = '', ...args] = command || []
  const { stdout, stderr } = spawnSync(program, [...args, keys], {
    input: statements.join('\n'),
    encoding: 'utf8',
  })
  expect([stderr, stdout]).toEqual(['', '1000\n'])
})

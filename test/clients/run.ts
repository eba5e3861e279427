/**
 * Tries the token endpoint with the client libraries that are installed, and prints a table: `npm run test:clients`, or
 * `npm run test:clients -- python go` for some languages.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { libraries, type Authentication, type Library } from './libraries.ts'
import { prepare, runProgram, versionOf, type Outcome } from './programs.ts'
import { startClientsServer, type Seen } from './server.ts'

const redirectUri = 'http://127.0.0.1/callback'
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const codeChallenge = createHash('sha256').update(verifier).digest('base64url')

/** A generated secret, and imported ones that differ in what a client may make of them. */
const secrets: Readonly<Record<string, string | undefined>> = {
  generated: undefined,
  base64: 'q8+/3Wm0bC+dE/fG5hIjK+lMnOpQrStUvWxYz012345=',
  printable: Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index)).join(''),
  escapes: '100%25+%41%2B is what a secret may hold',
}

interface Job {
  readonly id: string
  readonly library: string
  readonly secret: string
  readonly clientSecret: string
  readonly auth: Authentication
  readonly verifier: string | null
}

const server = await startClientsServer()
const clients = await Promise.all(
  Object.entries(secrets).map(async ([secret, clientSecret]) => {
    const own = { redirectUris: [redirectUri], ...(clientSecret !== undefined && { clientSecret }) }
    return { secret, ...(await server.admin.createClient(own)) }
  }),
)
let count = 0

/** Every secret, with and without PKCE. */
async function jobsOf({ name, pkce, withoutPkce }: Library, auth: Authentication): Promise<Job[]> {
  const verifiers = [...(withoutPkce === false ? [] : [null]), ...(pkce === false ? [] : [verifier])]
  return Promise.all(
    clients.flatMap(({ secret, clientId, clientSecret }) =>
      verifiers.map(async (codeVerifier) => {
        count += 1
        const id = String(count)
        const challenge = codeVerifier === null ? {} : { codeChallenge }
        const options = { clientId, redirectUri, scope: 'profile', lifetimeSeconds: 600, ...challenge }
        const { code } = await server.admin.issueAuthorizationCode(options)
        const query = new URLSearchParams({
          response_type: 'code',
          client_id: clientId,
          redirect_uri: redirectUri,
          scope: 'profile',
          state: 's',
          ...(codeVerifier !== null && { code_challenge: codeChallenge, code_challenge_method: 'S256' }),
        })
        const pageUrl = `${server.issuer}/authorize`
        return {
          id,
          library: name,
          secret,
          auth,
          clientId,
          clientSecret,
          issuer: server.issuer,
          pageUrl,
          authorizeUrl: `${pageUrl}?${query}`,
          tokenUrl: `${server.issuer}/job/${id}/v4/oauth2/token`,
          redirectUri,
          code,
          verifier: codeVerifier,
        }
      }),
    ),
  )
}

/** Says how a request named its client. */
function manner({ authorization, contentType }: Seen, { clientSecret, secret }: Job): string {
  const body = contentType?.includes('json') === true ? 'JSON' : 'form'
  if (authorization === undefined) return `${body}`
  const sent = Buffer.from(authorization.slice('Basic '.length), 'base64').toString()
  if (secret === 'generated') return `Basic, ${body}`
  return `Basic ${sent.endsWith(`:${clientSecret}`) ? 'as it is' : 'encoded'}, ${body}`
}

async function isRight({ token = '' }: Outcome): Promise<boolean> {
  return server.api.verifyAccessToken(token, { scope: 'profile' }).then(
    ({ subject }) => subject === null || subject === 'ada',
    () => false,
  )
}

const rows: string[][] = [['Library', 'Version', 'Secret sent in', ...Object.keys(secrets)]]
let failed = 0

async function tryLibrary(
  library: Library,
  command: Parameters<typeof runProgram>[0],
  version: string,
): Promise<void> {
  for (const auth of library.auth ?? (['basic', 'body'] as const)) {
    const jobs = await jobsOf(library, auth)
    const outcomes = new Map((await runProgram(command, jobs)).map((outcome) => [outcome.id, outcome]))
    const cells = new Map<string, string>(Object.keys(secrets).map((secret) => [secret, 'green']))
    const manners = new Set<string>()
    for (const job of jobs) {
      const seen = server.seen.get(job.id) ?? []
      if (job.secret !== 'generated') for (const each of seen) manners.add(manner(each, job))
      const outcome = outcomes.get(job.id) ?? { id: job.id, error: 'no answer' }
      if (await isRight(outcome)) continue
      cells.set(job.secret, 'RED')
      failed += 1
      console.error(
        `${library.name}, ${auth}, ${job.secret}, ${job.verifier === null ? 'no ' : ''}PKCE: ${outcome.error}`,
      )
    }
    rows.push([library.name, version, [...manners].join('; '), ...cells.values()])
  }
}

const skipped: string[] = []
const languages = process.argv.slice(2)
for (const language of new Set(libraries.map(({ program }) => program))) {
  if (languages.length > 0 && !languages.includes(language)) continue
  const folder = mkdtempSync(join(tmpdir(), `clients-${language}-`))
  try {
    const own = libraries.filter(({ program }) => program === language)
    const versions = own.map((library) => [library, versionOf(library)] as const)
    const there = versions.filter((pair): pair is readonly [Library, string] => pair[1] !== null)
    skipped.push(
      ...versions.filter(([, version]) => version === null).map(([{ name, package: named = name }]) => named),
    )
    if (there.length === 0) continue
    const command = prepare(language, folder)
    for (const [library, version] of there) await tryLibrary(library, command, version)
  } catch (error) {
    failed += 1
    console.error(`${language}: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
await server.close()

const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
for (const row of rows)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
const names = new Set(rows.slice(1).map(([name]) => name))
console.log(`\n${names.size} libraries, ${count} exchanges, ${failed} failed.`)
if (skipped.length > 0) console.log(`Skipped, as they are not installed: ${skipped.join(', ')}.`)
process.exitCode = failed > 0 || names.size === 0 ? 1 : 0

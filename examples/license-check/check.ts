// What a product does to check its license: node check.ts LICENSE_KEY HOST
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose'
import { licenseIsGood } from 'utility-api'

const [key, host] = process.argv.slice(2)
if (key === undefined || host === undefined) {
  console.error('Usage: node check.ts LICENSE_KEY HOST')
  process.exit(2)
}
const { LICENSE_SERVER: server = 'http://127.0.0.1:3000', LICENSE_FOLDER: folder = '.' } = process.env
/** How long the product runs on, with a warning, after the stored statement has expired; 0: not at all. */
const graceSeconds = 3 * 86_400
/** What the server said last. */
const stored = join(folder, 'license.jwt')

// Shipped with the product: keys that were fetched from the server would prove nothing.
const keys = createLocalJWKSet(
  JSON.parse(await readFile(join(folder, 'license-keys.json'), 'utf8')) as JSONWebKeySet,
)

const outcome = await check(key, host)
console.log(outcome)
process.exitCode = outcome.startsWith('refused') ? 1 : 0

async function check(licenseKey: string, ownHost: string): Promise<string> {
  const answer = await ask(licenseKey)
  if (answer === 'unknown') {
    const before = await verified(await lastStatement())
    // A key that was mistyped says nothing of the license that is stored.
    if (typeof before !== 'string' && folded(String(before.sub)) === folded(licenseKey)) await rm(stored)
    return 'refused: there is no such license'
  }
  let claims = await verified(answer)
  const isAnswered = typeof claims !== 'string'
  if (isAnswered) await store(answer)
  if (typeof claims === 'string') {
    const why = claims
    claims = await verified(await lastStatement())
    // What is in the log is for you; a customer can do nothing about it.
    if (typeof claims === 'string') {
      console.error(`License check: the answer: ${why}; the stored statement: ${claims}.`)
      return 'refused: no statement holds; try again when the server can be reached'
    }
    if (answer !== '')
      console.error(`License check: the stored statement holds, but the answer does not: ${why}.`)
  }
  if (folded(String(claims.sub)) !== folded(licenseKey)) {
    return 'refused: the statement is for another license key'
  }
  const [status, domainOrIp] = [String(claims['status']), String(claims['domain_or_ip'])]
  const { exp = 0 } = claims
  // A server that answers has no need of grace.
  const end = exp + (isAnswered ? 0 : graceSeconds)
  if (!licenseIsGood({ status, domainOrIp, expiresAt: end * 1000 }, ownHost)) {
    return `refused: the server last said: ${status}, for ${domainOrIp}, until ${utc(exp)}`
  }
  if (Date.now() / 1000 < exp) return 'valid'
  const grace = `grace: the server must be reached before ${utc(end)}`
  console.error(`License check: ${grace}.`)
  return grace
}

async function lastStatement(): Promise<string> {
  return (await readFile(stored, 'utf8').catch(() => '')).trim()
}

function utc(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Returns a statement, `unknown` if the service says that the license does not exist, or `''` if it says nothing. */
async function ask(licenseKey: string): Promise<string> {
  try {
    const url = `${server}/license/${encodeURIComponent(licenseKey)}`
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    // A file that the command wrote ends in a line feed.
    const text = (await response.text()).trim()
    if (response.ok) return text
    // Any other 404 may come from a proxy.
    return response.status === 404 && text.includes('"license_not_found"') ? 'unknown' : ''
  } catch {
    return ''
  }
}

/** Returns the claims of a statement that a key of ours has signed for this product, also if it has expired; otherwise why not. */
async function verified(statement: string): Promise<JWTPayload | string> {
  if (statement === '') return 'none'
  try {
    const { payload } = await jwtVerify(statement, keys, {
      algorithms: ['EdDSA'],
      typ: 'license+jwt',
      issuer: 'https://shop.example',
      audience: 'shop-plugin',
      requiredClaims: ['exp'],
      currentDate: new Date(0),
    })
    return payload
  } catch (error) {
    return (error as Error).message
  }
}

/** Forms of one key are equal in it: a key may be typed in lower case, with blanks or dashes, or with O for 0. */
function folded(licenseKey: string): string {
  const separators = /[\t\n\r\p{Z}\p{Pd}\u00ad\u200b-\u200f\u2060\u2212\ufeff]/gu
  const symbols = licenseKey.normalize('NFKC').replaceAll(separators, '')
  // In ASCII alone: other letters, such as a dotless i, become ASCII letters in upper case.
  const upper = symbols.replaceAll(/[a-z]+/g, (each) => each.toUpperCase())
  return upper.replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}

/** Writes a file of its own and renames it, so that no crash leaves half a statement. */
async function store(statement: string): Promise<void> {
  await writeFile(`${stored}.new`, statement)
  await rename(`${stored}.new`, stored)
}

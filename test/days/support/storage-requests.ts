import { hashSecret } from '../../../src/domain/secret.ts'
import type { Scene, Server } from './day-scene.ts'
import { hex } from './ledger.ts'
import type { GivenCode, People } from './people.ts'
import { begin, send, type Request } from './send.ts'

export const exchange: Request = (scene, people, server) => {
  const { random } = scene
  const isRetry = people.unsure.codes.length > 0 && random.chance(40)
  return exchangeCode(
    scene,
    people,
    server,
    random.pick(isRetry ? people.unsure.codes : people.codes.slice(-4)),
    isRetry,
  )
}

/** Sends the newest code to two servers at once. */
export async function exchangeTwice(scene: Scene, people: People, servers: readonly Server[]): Promise<void> {
  const newest = people.codes.at(-1) as GivenCode
  const sendIt = (): Promise<void> => exchangeCode(scene, people, scene.random.pick(servers), newest, false)
  await Promise.all([sendIt(), sendIt()])
}

async function exchangeCode(
  scene: Scene,
  people: People,
  server: Server,
  given: GivenCode,
  isRetry: boolean,
): Promise<void> {
  const { ledger, clock } = scene
  const entry = ledger.codes.get(hex(hashSecret(given.code)))
  if (entry === undefined) return
  const { clientId, clientSecret } = given.client
  const wasSpent = entry.redemptions > 0
  const fields = { grant_type: 'authorization_code', code: given.code, redirect_uri: given.redirectUri }
  const status = await send(scene, server, {
    caller: clientId,
    method: 'POST',
    url: '/v4/oauth2/token',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...fields, client_id: clientId, client_secret: clientSecret }),
    check(answer, body) {
      if (answer === 200) {
        entry.answers += 1
        scene.must(entry.answers === 1, `code ${given.code}: sold twice`)
        const accessToken = String(body['access_token'])
        const hash = hashSecret(accessToken)
        scene.must(
          entry.tokenHash !== undefined && hex(entry.tokenHash) === hex(hash),
          `${accessToken}: not what is stored`,
        )
        people.tokens.push({ text: accessToken, hash })
        return
      }
      if (answer === 401)
        return scene.must(people.revokedClients.has(clientId), `${clientId}: 401, though not revoked`)
      scene.must(
        answer === 400 && body['error'] === 'invalid_grant',
        `exchange: ${answer} ${JSON.stringify(body)}`,
      )
      const now = clock.now()
      if (now >= entry.code.expiresAt) scene.note('code expired')
      else if (entry.redemptions > 0 && entry.tokenHash !== undefined) {
        scene.note('replay of a code')
        scene.must(
          !ledger.isLive(entry.tokenHash, now),
          `code ${given.code}: replayed, and its token is live`,
        )
        ledger.dead.set(hex(entry.tokenHash), entry.tokenHash)
      } else scene.must(!ledger.hasCode(hashSecret(given.code)), `code ${given.code}: refused for no reason`)
    },
  })
  if (isRetry && (status === 200 || status === 400)) scene.note('retry after an unknown outcome')
  if (status === 500 && !wasSpent) people.unsure.codes.push(given)
}

export const generate: Request = async (scene, people, server) => {
  const { random, ledger } = scene
  const reseller = random.pick(people.resellers)
  const number = random.chance(60) ? random.integer(people.orders + 2) : undefined
  if (number !== undefined) people.orders = Math.max(people.orders, number)
  const key = number === undefined ? undefined : `order-${number}`
  const registeredTo = key ?? `buyer-${(scene.sequence.now += 1)}`
  const seen = `${reseller.resellerId} ${key}`
  const before = people.answeredKeys.get(seen)
  const status = await send(scene, server, {
    caller: reseller.resellerId,
    method: 'POST',
    url: '/v2/reseller/licenses/generate',
    headers: {
      Authorization: `Bearer ${reseller.token}`,
      'X-Registered-To': registeredTo,
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
      ...(key !== undefined && { 'Idempotency-Key': key }),
    },
    check(answer, body) {
      scene.must(answer === 200, `generate: ${answer} ${JSON.stringify(body)}`)
      const data = body['data'] as { license_key: string; registered_to: string }
      scene.must(data.registered_to === registeredTo, 'generate: the license of somebody else')
      scene.must(
        ledger.owners.get(data.license_key) === reseller.resellerId,
        'generate: a license that is not stored',
      )
      if (before !== undefined) {
        scene.must(before === data.license_key, `${seen}: ${before}, then ${data.license_key}`)
        scene.note('idempotent answer')
      }
      const known = people.licenses.some(({ licenseKey }) => licenseKey === data.license_key)
      scene.must(!known || key !== undefined, `generate: ${data.license_key} was sold twice`)
      if (key !== undefined) people.answeredKeys.set(seen, data.license_key)
      if (!known) people.licenses.push({ licenseKey: data.license_key, resellerId: reseller.resellerId })
    },
  })
  if (status === 200 && people.unsure.keys.delete(seen)) scene.note('retry after an unknown outcome')
  if (status === 500 && key !== undefined) people.unsure.keys.add(seen)
}

export const update: Request = async (scene, people, server) => {
  const { random, ledger } = scene
  if (people.licenses.length === 0) return
  const { licenseKey, resellerId } = random.pick(people.licenses)
  const reseller = random.pick(people.resellers)
  const registeredTo = `user-${(scene.sequence.now += 1)}`
  await send(scene, server, {
    caller: reseller.resellerId,
    method: 'PUT',
    url: `/v2/reseller/${licenseKey}/update`,
    headers: { Authorization: `Bearer ${reseller.token}`, 'X-Registered-To': registeredTo },
    check(answer, body) {
      if (answer === 200)
        scene.must(ledger.written.has(registeredTo), `update ${licenseKey}: 200, and not written`)
      else {
        scene.note('owner refused')
        scene.must(
          answer === 401 && reseller.resellerId !== resellerId,
          `update: ${answer} ${JSON.stringify(body)}`,
        )
        scene.must(!ledger.written.has(registeredTo), `update ${licenseKey}: refused, and written`)
      }
    },
  })
}

/** Asks a server that only verifies whether a token is live. */
export const verify: Request = async (scene, people, server) => {
  if (people.tokens.length === 0) return
  const { text, hash } = scene.random.pick(people.tokens)
  const wasDead = scene.ledger.dead.has(hex(hash)) || !scene.ledger.isLive(hash, scene.clock.now())
  const { end } = begin(scene, server, 'gate')
  try {
    await server.api.verifyAccessToken(text)
    scene.must(!wasDead, `${text}: accepted after it was revoked`)
    scene.note('token verified')
  } catch (error) {
    const { code } = error as { code?: unknown }
    const isDead = !scene.ledger.isLive(hash, scene.clock.now())
    scene.must(
      code === 'database_error' || (code === 'invalid_token' && isDead),
      `verify ${text}: ${String(error)}`,
    )
  }
  end()
}

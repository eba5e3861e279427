import { bounds, type Scene, type Server } from './day-scene.ts'
import type { People } from './people.ts'
import { send } from './send.ts'
import { settled } from './under-way.ts'

type Sending = (person: number, number: number) => Promise<number>

/** Begins so many requests, of three callers in turn, and lets each go on until it does its work. */
async function fill(
  scene: Scene,
  server: Server,
  count: number,
  sending: Sending,
): Promise<Promise<number>[]> {
  const statuses: Promise<number>[] = []
  for (let number = 0; number < count; number += 1) {
    statuses.push(sending(number % 3, number))
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await authenticated(scene, server)
  }
  return statuses
}

/** Lets every request there is begin its work. */
export async function authenticated(scene: Scene, server: Server): Promise<void> {
  const isLookup = (label: string): boolean => label.startsWith(`${server.name} findCredential`)
  await settled()
  // oxlint-disable-next-line no-await-in-loop -- one thing after the other
  while (scene.underWay.release(isLookup)) await settled()
}

async function finish(scene: Scene, statuses: readonly Promise<number>[]): Promise<readonly number[]> {
  // oxlint-disable-next-line no-await-in-loop -- one thing after the other
  while (scene.underWay.release()) await settled()
  return Promise.all(statuses)
}

/** Counts the places of an idle server: as many requests as it has places are taken, and not one more. */
export async function countPlaces(scene: Scene, people: People, server: Server): Promise<void> {
  const update: Sending = (person) => {
    const { resellerId, token } = people.resellers[person] as People['resellers'][number]
    return send(scene, server, {
      caller: resellerId,
      method: 'PUT',
      url: `/v2/reseller/LIC-none/update`,
      headers: { Authorization: `Bearer ${token}`, 'X-Status': 'valid' },
      check: (status) => scene.must(status === 404, `${server.name}: ${status} on an idle server`),
    })
  }
  const look: Sending = (person, number) => {
    const { id, apiKey } = people.players[person] as People['players'][number]
    return send(scene, server, {
      caller: id,
      name: `own-${id}-${2000 + number}.example`,
      method: 'GET',
      url: '/v4/games/blockgame/lookup',
      headers: { Basic: apiKey, 'X-Address': `own-${id}-${2000 + number}.example` },
      check: (status) => scene.must(status === 200, `${server.name}: ${status} on an idle server`),
    })
  }
  const check: Sending = (person, number) => {
    const { id, accessToken } = people.askers[person] as People['askers'][number]
    return send(scene, server, {
      caller: id,
      name: `own-${id}-${2000 + number}.example`,
      method: 'GET',
      url: '/v3/tools/dnscheck',
      headers: {
        Authorization: `Bearer ${accessToken}`,
        'X-Domain': `own-${id}-${2000 + number}.example`,
        'X-Record-Type': 'TXT',
      },
      check: (answer) => scene.must(answer === 200, `${server.name}: ${answer} on an idle server`),
    })
  }
  for (const [name, sending, targets] of [
    ['storage', update, []],
    ['lookups', look, ['game']],
    ['checks', check, ['192.0.2.53', '198.51.100.53']],
  ] as const) {
    scene.trace(`${server.name} ${name}: counting places`)
    // oxlint-disable-next-line no-await-in-loop -- one kind after the other
    await countKind(scene, server, name, sending, targets)
  }
}

async function countKind(
  scene: Scene,
  server: Server,
  name: string,
  sending: Sending,
  targets: readonly string[],
): Promise<void> {
  const { must } = scene
  const statuses = await fill(scene, server, bounds.maxInFlight + 1, sending)
  for (const target of targets) {
    const open = [...server.questions].filter((question) => question.target === target).length
    must(
      open === bounds.maxLookups,
      `${server.name} ${name}: ${open} questions to ${target} with all places wanted`,
    )
  }
  const answered = await finish(scene, statuses)
  const refused = answered.filter((status) => status === 503).length
  must(refused === 1, `${server.name} ${name}: ${refused} of one request too many were refused`)
  must(
    server.questions.size === 0 && server.outstanding.size === 0,
    `${server.name} ${name}: not all has ended`,
  )
}

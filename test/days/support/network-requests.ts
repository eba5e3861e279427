import { bounds, type Scene } from './day-scene.ts'
import { begin, mayBeFull, mayBeGivenUp, send, type Request } from './send.ts'

/** A name of one caller alone, or one that all ask about. */
function nameOf(scene: Scene, caller: string): string {
  if (scene.random.chance(60)) return `shared-${scene.random.integer(3)}.example`
  return `own-${caller}-${scene.random.integer(1000)}.example`.toLowerCase()
}

/** Checks that an answer is one to this question, young enough, and one that this caller had a part in. */
function checkSerial(
  scene: Scene,
  serial: number,
  caller: string,
  name: string,
  cacheMs: number,
  beganAt: number,
): void {
  const question = scene.ledger.questions.get(serial)
  const what = `${name} of ${caller}: answer ${serial}`
  if (question === undefined) return scene.must(false, `${what} was never given`)
  scene.must(question.name === name, `${what} is about ${question.name}`)
  scene.must(question.askers.has(caller), `${what} was somebody else's`)
  const age = scene.clock.now() - (question.answeredAt ?? 0)
  const waited = scene.time.now - beganAt
  if ((question.answeredAt ?? 0) < scene.clock.now() - waited) scene.note('answer from the cache')
  // Answers wait for those of slower resolvers, as long as a check may take.
  scene.must(age <= cacheMs + waited + bounds.networkTimeoutMs || scene.jumped, `${what} is ${age} ms old`)
}

/** Lets the client go away while it waits, now and then. */
function mayLeave(scene: Scene): AbortSignal | undefined {
  if (!scene.random.chance(30)) return undefined
  const controller = new AbortController()
  scene.underWay.add('a client leaves', () => {
    scene.note('request aborted')
    controller.abort()
  })
  return controller.signal
}

function checkDnsAnswer(scene: Scene, body: unknown, caller: string, name: string, beganAt: number): void {
  for (const { dns_results: records } of body as { dns_results: { txt: string }[] }[]) {
    for (const { txt } of records) checkSerial(scene, Number(txt), caller, name, bounds.dnsCacheMs, beganAt)
  }
}

export const checkDns: Request = async (scene, people, server) => {
  const { id: caller, accessToken } = scene.random.pick(people.askers)
  const name = nameOf(scene, caller)
  const beganAt = scene.time.now
  const signal = mayLeave(scene)
  await send(scene, server, {
    caller,
    name,
    method: 'GET',
    url: '/v3/tools/dnscheck',
    headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': name, 'X-Record-Type': 'TXT' },
    ...(signal && { signal }),
    check(answer, body) {
      scene.must(answer === 200, `check: ${answer} ${JSON.stringify(body)}`)
      checkDnsAnswer(scene, body, caller, name, beganAt)
    },
  })
}

export const lookUp: Request = async (scene, people, server) => {
  const { id: caller, apiKey } = scene.random.pick(people.players)
  const name = nameOf(scene, caller)
  const beganAt = scene.time.now
  const signal = mayLeave(scene)
  await send(scene, server, {
    caller,
    name,
    method: 'GET',
    url: '/v4/games/blockgame/lookup',
    headers: { Basic: apiKey, 'X-Address': name },
    ...(signal && { signal }),
    check(answer, body) {
      scene.must(answer === 200, `lookup: ${answer} ${JSON.stringify(body)}`)
      const { online } = body['players'] as { online: number }
      checkSerial(scene, online, caller, name, bounds.gameCacheMs, beganAt)
    },
  })
}

/** A check within the program. */
export const ownCheck: Request = async (scene, _, server) => {
  const caller = `user-${scene.random.integer(2)}`
  const name = nameOf(scene, caller)
  const signal = mayLeave(scene)
  const { request, end } = begin(scene, server, caller, name)
  scene.trace(`${server.name} ← ${request.id} own check of ${caller} ${name}`)
  try {
    const results = await server.api.checkDns({ domain: name, recordType: 'TXT' }, { caller, signal })
    checkDnsAnswer(scene, results, caller, name, request.beganAt)
    scene.trace(`${server.name} → ${request.id} ${JSON.stringify(results).slice(0, 120)}`)
  } catch (error) {
    const { code, name: kind } = error as Error & { code?: unknown }
    scene.trace(`${server.name} → ${request.id} ${String(code)}`)
    const isFull = code === 'unavailable' && (mayBeFull(server) || server.state !== 'open')
    const isGone = kind === 'AbortError' && mayBeGivenUp(scene, server, signal)
    scene.must(isFull || isGone || server.state === 'killed', `own check: ${String(error)}`)
  }
  end()
}

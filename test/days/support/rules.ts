import { bounds, type OpenCall, type Scene, type Server } from './day-scene.ts'

const lookups = new Set(['findCredential', 'findClient'])
// Of the service itself, not of a request.
const own = new Set(['recordUse', 'ping'])
function mostOfOne(callers: Iterable<string | undefined>): number {
  const counts = new Map<string | undefined, number>()
  for (const caller of callers) counts.set(caller, (counts.get(caller) ?? 0) + 1)
  counts.delete(undefined)
  return Math.max(0, ...counts.values())
}

function checkCalls(scene: Scene, server: Server): void {
  const waited = [...server.calls].filter(({ method, timeLeftMs }) => timeLeftMs() > 0 && !own.has(method))
  const isLookup = ({ method }: OpenCall): boolean => lookups.has(method)
  const working = waited.filter((call) => !isLookup(call))
  const most = bounds.maxInFlight
  scene.must(waited.filter(isLookup).length <= most, `${server.name}: looks up too many callers at once`)
  scene.must(working.length <= most, `${server.name}: too many requests wait for storage`)
  const ofOne = mostOfOne(working.map(({ caller }) => caller))
  scene.must(ofOne <= most / 2, `${server.name}: one caller has more than half of the places`)
}

function checkQuestions(scene: Scene, server: Server): void {
  for (const { target, name } of server.questions) {
    const isWanted = [...server.outstanding].some((request) => request.name === name)
    scene.must(isWanted, `${server.name}: ${target} is asked for ${name}, and nobody waits`)
  }
  const targets = new Map<string, string[]>()
  for (const { target, name } of server.questions) targets.set(target, [...(targets.get(target) ?? []), name])
  for (const [target, names] of targets) {
    const most = target === 'game' ? bounds.maxLookups : bounds.maxPerResolver
    scene.must(names.length <= most, `${server.name}: ${names.length} questions to ${target} at once`)
    const callers = names.map((name) => /^own-(.*)-\d+\.example$/.exec(name)?.[1])
    scene.must(mostOfOne(callers) <= most / 2, `${server.name}: one caller has more than half of ${target}`)
  }
}

function checkClosing({ time, must }: Scene, { name, outstanding, calls, closedBy }: Server): void {
  // At 0, the timer that ends a call may still be to come.
  const isIdle = outstanding.size === 0 && [...calls].every(({ timeLeftMs }) => timeLeftMs() < 0)
  must(!isIdle, `${name}: close waits for nothing`)
  must(time.now <= closedBy, `${name}: close does not end`)
}

/** What must hold whenever nothing happens by itself. */
export function checkRules(scene: Scene, servers: readonly Server[], gate: Server): void {
  const { time, ledger, clock } = scene
  for (const server of servers) {
    server.most = server.outstanding.size
    if (server.state === 'killed') continue
    if (server !== gate) checkCalls(scene, server)
    checkQuestions(scene, server)
    for (const { id, beganAt, limitMs } of server.outstanding)
      scene.must(time.now - beganAt <= limitMs, `${server.name}: request ${id} is still not answered`)
    if (server.state === 'closing') checkClosing(scene, server)
    if (server.state === 'closed')
      scene.must(server.questions.size === 0, `${server.name}: closed with a question open`)
  }
  const now = clock.now()
  for (const hash of ledger.dead.values())
    scene.must(!ledger.isLive(hash, now), 'a revoked token came back to life')
}

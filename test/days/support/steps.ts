import { authenticated } from './places.ts'
import { issueCode, purge, revoke } from './people.ts'
import { checkDns, lookUp, ownCheck } from './network-requests.ts'
import { exchange, exchangeTwice, generate, update, verify } from './storage-requests.ts'
import { check, type Running } from './running.ts'
import { closeServer, startServer } from './servers.ts'

const requests = [
  exchange,
  exchange,
  exchange,
  generate,
  generate,
  update,
  update,
  checkDns,
  checkDns,
  lookUp,
  ownCheck,
]

/** Does one thing, as the seed decides: a request, a revocation, time, or what is under way. */
export async function takeStep(day: Running): Promise<void> {
  const { scene, people, admin, servers, gate } = day
  const { random, underWay, time } = scene
  const start = (work: Promise<unknown>): void => {
    const ended: Promise<void> = work.then(
      () => void day.open.delete(ended),
      (error: unknown) => scene.must(false, `not handled: ${(error as Error).stack ?? String(error)}`),
    )
    day.open.add(ended)
  }
  const draw = random.integer(100)
  if (draw < 28) start(random.pick(requests)(scene, people, random.pick(servers)))
  else if (draw < 29) start(exchangeTwice(scene, people, servers))
  else if (draw < 31) start(verify(scene, people, gate))
  else if (draw < 34) start(issueCode(scene, people, admin))
  else if (draw < 36) start(revoke(scene, people, admin))
  else if (draw < 37)
    start(random.chance(50) ? purge(admin) : Promise.resolve(scene.clock.jump(random.integer(90_000))))
  else if (draw < 38) changeServers(day, start)
  else if (draw < 40) await crowd(day, start)
  else if (draw < 50) {
    const next = time.untilNext() ?? 1
    const byMs = random.chance(30)
      ? next
      : random.integer(random.chance(4) ? 90_000 : random.pick([80, 80, 80, 1500]))
    scene.trace(`time: ${Math.ceil(byMs)} ms`)
    await time.advance(Math.ceil(byMs), () => check(day))
  } else for (let more = random.integer(8); more >= 0; more -= 1) underWay.release()
  await check(day)
}

/** Many requests at once come to one server: of all kinds, or of one. What they wait for may then be slow. */
async function crowd(day: Running, start: (work: Promise<unknown>) => void): Promise<void> {
  const { scene, people, servers } = day
  const { random, time } = scene
  const server = random.pick(servers)
  const kind = random.chance(60) ? random.pick([lookUp, checkDns, update, exchange]) : undefined
  for (let more = random.integer(24); more > 0; more -= 1)
    start((kind ?? random.pick(requests))(scene, people, server))
  if (random.chance(50)) return
  await authenticated(scene, server)
  await time.advance(600, () => check(day))
}

/** Closes or kills a server, and starts another in its place. */
function changeServers(day: Running, start: (work: Promise<unknown>) => void): void {
  const { scene, shared, servers } = day
  const server = scene.random.pick(servers)
  if (server.state !== 'open') return
  if (scene.random.chance(30)) {
    scene.note('server killed')
    scene.trace(`${server.name} is killed`)
    server.state = 'killed'
    server.outstanding.clear()
  } else start(closeServer(scene, server))
  // Requests go on to come to one that closes; none come to one that is gone.
  if (server.state === 'killed') servers.splice(servers.indexOf(server), 1)
  servers.push(startServer(scene, shared, `s${(day.started += 1)}`, scene.random.chance(40)))
}

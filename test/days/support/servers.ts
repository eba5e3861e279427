import { createAdmin, createUtilityApi, type Admin, type KeyGenerator, type RateLimiter } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { bounds, type Scene, type Server } from './day-scene.ts'
import { scheduledDns, scheduledGame } from './remotes.ts'
import { scheduledStore, schedulerOf } from './scheduled-store.ts'

/** What all servers share. */
export interface Shared {
  readonly storage: AdminStorage
  readonly keyGenerator: KeyGenerator
}

function emptyServer(name: string): Omit<Server, 'api'> {
  return {
    name,
    calls: new Set(),
    questions: new Set(),
    asked: [],
    outstanding: new Set(),
    most: 0,
    connections: [{ unwritten: 0 }, { unwritten: 0 }],
    state: 'open',
    closingSince: 0,
    closedBy: 0,
  }
}

function scheduledLimiter(scene: Scene, server: Server): RateLimiter {
  return {
    consume: (key) =>
      new Promise((resolve, reject) => {
        const draw = scene.faults ? scene.random.integer(100) : 0
        if (draw < 80) return resolve({ allowed: true })
        scene.underWay.add(`${server.name} limiter ${key}`, () => {
          if (draw < 84) return scene.note('limiter hung')
          if (draw < 88) return reject(new Error('The limiter failed.'))
          resolve(draw < 92 ? { allowed: false, retryAfterSeconds: 1 } : { allowed: true })
        })
      }),
  }
}

/** Starts a server of the real core. Everything that it asks for waits for the seed. */
export function startServer(
  scene: Scene,
  { storage, keyGenerator }: Shared,
  name: string,
  hasLimiter: boolean,
): Server {
  const server = emptyServer(name) as Server
  const serverOf = (): Server => server
  const locations = [
    { location: 'Here', ip: '192.0.2.53', provider: 'One' },
    { location: 'There', ip: '198.51.100.53', provider: 'Two' },
  ]
  server.api = createUtilityApi({
    storage: scheduledStore(schedulerOf(scene, true), storage, server),
    clock: scene.clock,
    keyGenerator,
    logger: false,
    maxInFlight: bounds.maxInFlight,
    storageTimeoutMs: bounds.storageTimeoutMs,
    ...(hasLimiter && { rateLimiter: scheduledLimiter(scene, server) }),
    dns: {
      client: scheduledDns(scene, serverOf),
      locations,
      timeoutMs: bounds.networkTimeoutMs,
      cacheTtlMs: bounds.dnsCacheMs,
      maxConcurrentPerResolver: bounds.maxPerResolver,
    },
    blockgame: {
      client: scheduledGame(scene, serverOf),
      timeoutMs: bounds.networkTimeoutMs,
      cacheTtlMs: bounds.gameCacheMs,
      maxConcurrent: bounds.maxLookups,
    },
  })
  return server
}

/** A program that provisions, with a store that is as slow as those of the servers. */
export function startAdmin(scene: Scene, { storage, keyGenerator }: Shared): Admin {
  const server = emptyServer('admin') as Server
  const scheduled = scheduledStore(schedulerOf(scene, false), storage, server)
  return createAdmin({ storage: scheduled, clock: scene.clock, keyGenerator })
}

/** Closes a server. What is under way there is answered first. */
export function closeServer(scene: Scene, server: Server): Promise<void> {
  server.state = 'closing'
  server.closingSince = scene.time.now
  // What is under way is waited for, and the rest given up; then the uses of credentials are reported, after another report
  // that has begun.
  const reports = 1 + Number([...server.calls].some(({ method }) => method === 'recordUse'))
  server.closedBy = scene.time.now + bounds.drainMs + reports * bounds.storageTimeoutMs + 10
  if (server.outstanding.size > 0) scene.note('closed with requests under way')
  scene.trace(`${server.name} closes`)
  return server.api.close().then(() => {
    if (server.state === 'closing') server.state = 'closed'
    scene.trace(`${server.name} is closed`)
  })
}

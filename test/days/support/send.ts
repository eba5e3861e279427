import { bounds, type Outstanding, type Scene, type Server } from './day-scene.ts'
import type { People } from './people.ts'

/** Sends a request that may be refused for what the store or the bounds do, and checks the rest. */
export type Request = (scene: Scene, people: People, server: Server) => Promise<unknown>

/** A request of a day. */
export interface Sent {
  readonly caller: string
  /** The name that it asks about, for requests that wait for networks. */
  readonly name?: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether the client may go away before it is answered. */
  readonly signal?: AbortSignal
  /** Checks an answer other than those that every operation may give. */
  readonly check: (status: number, body: Record<string, unknown>) => void
}

// A limiter that hangs is waited for, for as long again.
const limiterMs = 1000
const slackMs = 2

function limitOf(name: string | undefined): number {
  const network = name === undefined ? 0 : bounds.networkTimeoutMs
  return bounds.storageTimeoutMs + limiterMs + network + slackMs
}

/** Begins to count a request as outstanding. Returns what ends that. */
export function begin(
  scene: Scene,
  server: Server,
  caller: string,
  name?: string,
): { readonly request: Outstanding; end(): void } {
  const request = {
    id: (scene.sequence.now += 1),
    caller,
    name,
    beganAt: scene.time.now,
    limitMs: limitOf(name),
  }
  // A check that others wait for may be joined, for half of its time: also what one of its resolvers has answered already.
  if ([...server.outstanding].some((other) => other.name === name)) {
    for (const question of server.asked) {
      if (question.name !== name || scene.time.now > question.askedAt + bounds.networkTimeoutMs / 2) continue
      if (server.questions.has(question) && !question.askers.has(caller)) scene.note('flight shared')
      question.askers.add(caller)
    }
  }
  server.outstanding.add(request)
  server.most = Math.max(server.most, server.outstanding.size)
  return { request, end: () => void server.outstanding.delete(request) }
}

/** Whether the server may say that it is full: with fewer requests than a caller's share, none can be refused. */
export function mayBeFull({ most }: Server): boolean {
  return most > bounds.maxInFlight / 2
}

/** Whether a request may be given up: its client has gone, or closing has waited for it as long as it does. */
export function mayBeGivenUp(scene: Scene, server: Server, signal: AbortSignal | undefined): boolean {
  return (
    signal?.aborted === true ||
    (server.state !== 'open' && scene.time.now >= server.closingSince + bounds.drainMs)
  )
}

/** Checks that a 503 has a reason. */
function checkUnavailable(
  scene: Scene,
  server: Server,
  sent: Sent,
  message: string,
  request: Outstanding,
  unwritten: number,
): void {
  const what = `${server.name} ${request.id}: 503 ${message}`
  if (/shutting down|closing/i.test(message)) return scene.must(server.state !== 'open', what)
  if (/connection/.test(message)) {
    scene.note('connection used up')
    return scene.must(unwritten >= 16, what)
  }
  if (/given up/.test(message)) return scene.must(mayBeGivenUp(scene, server, sent.signal), what)
  if (/lookups/.test(message)) {
    scene.note('no turn in time')
    return scene.must(scene.time.now - request.beganAt >= bounds.networkTimeoutMs / 2 - slackMs, what)
  }
  scene.note(/this caller/.test(message) ? 'share used up' : 'server full')
  scene.must(mayBeFull(server), what)
}

/** Sends a request and checks its answer, when that comes. */
export async function send(scene: Scene, server: Server, sent: Sent): Promise<number> {
  const { random, underWay } = scene
  const connection = random.pick(server.connections)
  const unwritten = connection.unwritten
  connection.unwritten += 1
  const { request, end } = begin(scene, server, sent.caller, sent.name)
  scene.trace(
    `${server.name} ← ${request.id} ${sent.method} ${sent.url} of ${sent.caller} ${sent.name ?? ''}`,
  )
  const headers = new Map(
    Object.entries(sent.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const view = {
    method: sent.method,
    url: sent.url,
    header: (name: string) => headers.get(name.toLowerCase()) ?? null,
    body: async () => Buffer.from(sent.body ?? ''),
  }
  const wasOpen = server.state === 'open'
  const context = { ip: `192.0.2.${random.integer(3)}`, connection, requestId: `r${request.id}` }
  const reply = await server.api.dispatch(
    view,
    sent.signal === undefined ? context : { ...context, signal: sent.signal },
  )
  if (server.state === 'killed') return 0
  const body = JSON.parse(String(reply.body)) as Record<string, unknown>
  scene.trace(`${server.name} → ${request.id} ${reply.status} ${String(reply.body).slice(0, 120)}`)
  const written = (): void => {
    connection.unwritten -= 1
    reply.written()
  }
  // On the first connection, the client reads slowly.
  if (connection === server.connections[0] && scene.faults)
    underWay.add(`${server.name} ${request.id} is written`, written)
  else written()
  const message = String(body['message'] ?? body['error_description'] ?? '')
  if (reply.status === 503) checkUnavailable(scene, server, sent, message, request, unwritten)
  else if (reply.status === 500) {
    scene.must(!scene.counting, `${server.name} ${request.id}: 500, though nothing fails`)
    if (scene.time.now - request.beganAt >= bounds.storageTimeoutMs) scene.note('deadline met')
  } else if (reply.status !== 429) sent.check(reply.status, body)
  if (!wasOpen && reply.status !== 503)
    scene.must(false, `${server.name} ${request.id}: ${reply.status} after close`)
  end()
  return reply.status
}

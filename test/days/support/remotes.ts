import type { BlockgameClient, DnsClient } from 'utility-api'
import type { OpenQuestion, Scene, Server } from './day-scene.ts'

/** How a resolver or a game server ends a question. */
function fateOf({ random, faults }: Scene): 'answers' | 'fails' | 'hangs' {
  const draw = faults ? random.integer(100) : 99
  if (draw < 6) return 'fails'
  return draw < 14 ? 'hangs' : 'answers'
}

/** What DNS and game questions have in common: one opens, waits for the seed, and ends; or its signal ends it. */
function ask<Answer>(
  scene: Scene,
  server: Server,
  target: string,
  question: {
    readonly name: string
    readonly signal: AbortSignal | undefined
    readonly timeoutMs: number | undefined
  },
  answerOf: (serial: number) => Answer,
): Promise<Answer> {
  const { name, signal = new AbortController().signal, timeoutMs = 0 } = question
  const label = `${server.name} ${target} ${name}`
  scene.must(server.state !== 'closed', `${label}: asked after the server was closed`)
  scene.must(!signal.aborted, `${label}: asked when everybody has left`)
  scene.must(timeoutMs > 0, `${label}: asked without time`)
  const askers = [...server.outstanding].filter((each) => each.name === name).map(({ caller }) => caller)
  const open: OpenQuestion = {
    target,
    name,
    serial: (scene.sequence.now += 1),
    askedAt: scene.time.now,
    askers: new Set(askers),
    signal,
    answeredAt: undefined,
  }
  server.questions.add(open)
  server.asked.push(open)
  scene.ledger.questions.set(open.serial, open)
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => {
      server.questions.delete(open)
      reject(signal.reason as Error)
    })
    scene.underWay.add(label, () => {
      if (signal.aborted || server.state === 'killed') return
      const fate = fateOf(scene)
      if (fate === 'hangs') return scene.trace(`  ${label}: hangs`)
      server.questions.delete(open)
      open.answeredAt = scene.clock.now()
      if (fate === 'fails') reject(new Error('The network failed.'))
      else resolve(answerOf(open.serial))
    })
  })
}

export function scheduledDns(scene: Scene, serverOf: () => Server): DnsClient {
  return {
    query: ({ name, server, signal, timeoutMs }) =>
      ask(scene, serverOf(), server.ip, { name, signal, timeoutMs }, (serial) => ({
        status: 'NOERROR' as const,
        records: [
          { type: 'TXT' as const, host: name, ttl: 300, txt: String(serial), entries: [String(serial)] },
        ],
        cnameChain: [],
        transport: 'udp' as const,
        latencyMs: 1,
        ttlSeconds: 300,
      })),
    close: async () => {},
  }
}

export function scheduledGame(scene: Scene, serverOf: () => Server): BlockgameClient {
  return {
    status: ({ host, port = 25_565, signal, timeoutMs }) =>
      ask(scene, serverOf(), 'game', { name: host, signal, timeoutMs }, (serial) => ({
        ip: '203.0.113.25',
        port,
        players: { online: serial, max: serial, sample: [] },
        version: { name: host, protocol: 769 },
        latencyMs: 1,
        srvRecord: null,
        description: '',
        favicon: null,
      })) as never,
    close: async () => {},
  }
}

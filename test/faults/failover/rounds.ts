import { setTimeout as sleep } from 'node:timers/promises'
import { receivedBytes, startMember, type Cluster, type Member } from './cluster.ts'
import type { Forwarder } from './forwarder.ts'
import type { Settings } from './node.ts'
import { startProbes, type Probes } from './probe.ts'

/** What a fault finds when it strikes. */
export interface Scene {
  readonly cluster: Cluster
  readonly settings: Settings
  /** Where the servers reach the primary. */
  readonly front: Forwarder
  readonly origins: readonly string[]
  readonly resellerToken: string
  /** The time that a request has for all its storage calls. */
  readonly deadlineMs: number
  readonly promoteLagging: boolean
}

/** What was seen while the fault went on. */
export interface Sight {
  /** When there was a primary again, on the clock of `performance`; undefined when there always was one. */
  readonly promotedAt?: number
  /** Of reads and health while no commit could be confirmed. */
  readonly probes?: Probes
  /** Connections on the primary whose servers had gone. */
  readonly abandoned?: number
}

/** How long a fault stays unnoticed. */
const detectMs = 500

/** The faults, in the order in which they take turns. */
export const faultNames = [
  'primary killed',
  'primary frozen, connections cut',
  'primary frozen, connections hang',
  'standby killed',
  'commit waits canceled',
] as const

export type FaultName = (typeof faultNames)[number]

/** What each does. */
export const faults: Readonly<Record<FaultName, (scene: Scene) => Promise<Sight>>> = {
  async 'primary killed'(scene) {
    const { cluster } = scene
    const [lagging, current] = cluster.standbys
    lagging?.link.down()
    await sleep(500)
    current?.link.down()
    await sleep(300)
    cluster.primary.node.signal('SIGKILL')
    return failOver(scene)
  },
  async 'primary frozen, connections cut'(scene) {
    scene.cluster.primary.node.signal('SIGSTOP')
    await sleep(detectMs)
    scene.front.cut()
    return failOver(scene)
  },
  async 'primary frozen, connections hang'(scene) {
    scene.cluster.primary.node.signal('SIGSTOP')
    return failOver(scene)
  },
  async 'standby killed'({ cluster, settings }) {
    const [standby] = cluster.standbys
    standby?.node.signal('SIGKILL')
    await sleep(1000)
    if (standby !== undefined) await startMember(standby, settings)
    await sleep(1000)
    return {}
  },
  async 'commit waits canceled'(scene) {
    const { cluster, front, origins, resellerToken, deadlineMs } = scene
    for (const { link } of cluster.standbys) link.down()
    const stopProbes = startProbes(origins, resellerToken)
    // Until callers have given up, and longer.
    await sleep(deadlineMs + 3000)
    const probes = await stopProbes()
    const abandoned = (await connections(cluster.primary)) - front.open
    for (let round = 0; round < 10; round += 1) {
      await cluster.primary.node.query(cancelCommitWaits)
      await sleep(100)
    }
    cluster.primary.node.signal('SIGKILL')
    return { ...(await failOver(scene)), probes, abandoned }
  },
}

const cancelCommitWaits = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

async function connections({ node }: Member): Promise<number> {
  const rows = await node.query<{ count: string }>(
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  )
  return Number(rows[0]?.count)
}

/** What a cluster manager does: notices, promotes the standby that has most, and points everybody there. */
async function failOver({ cluster, front, promoteLagging }: Scene): Promise<Sight> {
  await sleep(detectMs)
  const ranked = await Promise.all(
    cluster.standbys.map(async (member) => ({ member, bytes: await receivedBytes(member) })),
  )
  ranked.sort((a, b) => b.bytes - a.bytes)
  const chosen = promoteLagging ? ranked.at(-1) : ranked[0]
  if (chosen === undefined) throw new Error('No standby is left.')
  const failed = cluster.primary
  await cluster.promote(chosen.member)
  failed.link.down()
  front.target = chosen.member.node.port
  return { promotedAt: performance.now() }
}

import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { Forwarder } from './forwarder.ts'
import { PostgresNode, type Settings } from './node.ts'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'

const names = ['n1', 'n2', 'n3'] as const

/** A standby, and the link that brings it the primary's log. */
export interface Member {
  readonly node: PostgresNode
  readonly link: Forwarder
}

/** A directory for data, gone when the program ends. */
export function makeDirectory({ user }: Binaries): string {
  const directory = mkdtempSync(join(tmpdir(), 'utility-api-failover-'))
  if (user !== undefined) chownSync(directory, user.uid, user.gid)
  process.on('exit', () => removeFolder(directory))
  return directory
}

/** A data directory that has been prepared and stopped, for all nodes of all rounds to begin with. */
export async function prepareTemplate(
  binaries: Binaries,
  directory: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  const template = join(directory, 'template')
  const options = ['-D', template, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(binaries.initdb, options, { ...binaries.user, stdio: 'ignore' })
  const node = new PostgresNode(binaries, 'template', template, await freePort())
  await node.start({ fsync: 'off' })
  await prepare(node.url)
  await node.stop()
  return template
}

/** Three servers, each of whose commits another one has to have on its disk: `ANY 1` of the two others. */
export class Cluster {
  /** All that still stand; the first was the primary at the start. */
  readonly members: readonly Member[]
  primary: Member

  constructor(members: readonly [Member, ...Member[]]) {
    this.members = members
    this.primary = members[0]
  }

  get standbys(): Member[] {
    return this.members.filter((member) => member !== this.primary)
  }

  /** Makes a standby the primary, and the others follow it. */
  async promote(member: Member): Promise<void> {
    await member.node.query('SELECT pg_promote(true, 20)')
    this.primary = member
    for (const { link } of this.standbys) {
      link.cut()
      link.target = member.node.port
    }
  }

  stop(): void {
    for (const { node, link } of this.members) {
      node.signal('SIGKILL')
      link.close()
      removeFolder(node.directory)
    }
  }
}

/** How many bytes of log it has on its disk. */
export async function receivedBytes({ node }: Member): Promise<number> {
  const rows = await node.query<{ bytes: string }>(
    "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0') AS bytes",
  )
  return Number(rows[0]?.bytes)
}

export async function startCluster(
  binaries: Binaries,
  template: string,
  settings: Settings,
): Promise<Cluster> {
  const members = await Promise.all(
    names.map(async (name) => {
      const directory = join(template, '..', name)
      execFileSync('cp', ['-a', template, directory], { ...binaries.user })
      const node = new PostgresNode(binaries, name, directory, await freePort())
      return { node, link: await new Forwarder().listen() }
    }),
  )
  const [first, ...others] = members
  if (first === undefined) throw new Error('three nodes')
  await startMember(first, settings)
  await Promise.all(
    others.map(async (member) => {
      execFileSync('touch', [join(member.node.directory, 'standby.signal')], { ...binaries.user })
      member.link.target = first.node.port
      await startMember(member, settings)
    }),
  )
  return new Cluster([first, ...others])
}

export function startMember({ node, link }: Member, settings: Settings): Promise<void> {
  return node.start({
    synchronous_standby_names: `ANY 1 (${names.join(', ')})`,
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=postgres application_name=${node.name}`,
    ...settings,
  })
}

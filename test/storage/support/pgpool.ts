import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { findBinaries } from '../../faults/failover/binaries.ts'
import { makeDirectory, prepareTemplate } from '../../faults/failover/cluster.ts'
import { PostgresNode } from '../../faults/failover/node.ts'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'
import { runServer } from '../../support/run-server.ts'

/** A pgpool-II before a primary and a standby, on loopback. Whatever it balances goes to the standby. */
export interface Balancer {
  /** Of an empty database, by way of pgpool-II. */
  readonly url: string
  /** The same database on the primary. */
  readonly primaryUrl: string
  readonly standbyUrl: string
  /** Lets the standby have every write of the primary, or none from now on. */
  follow(follows: boolean): Promise<void>
  stop(): Promise<void>
}

const program = '/usr/sbin/pgpool'

/** Why there is no pgpool-II to test with; null where there is one. */
export async function whyNoPgpool(): Promise<string | null> {
  if (!existsSync(program)) return `skipped: there is no ${program} (Debian: pgpool2)`
  return (await findBinaries()) === null ? 'skipped: there is no PostgreSQL that can be started here' : null
}

/** Starts all three. `settings` are lines of pgpool-II's configuration. */
export async function startPgpool(settings: readonly string[]): Promise<Balancer> {
  const binaries = await findBinaries()
  if (binaries === null) throw new Error('There is no PostgreSQL here.')
  const folder = makeDirectory(binaries)
  const ends: (() => Promise<void>)[] = [async () => removeFolder(folder)]
  const stop = async (): Promise<void> => {
    // oxlint-disable-next-line no-await-in-loop -- the last one first
    for (const end of ends.toReversed()) await end()
  }
  try {
    const template = await prepareTemplate(binaries, folder, async () => {})
    const [primary, standby] = await Promise.all(
      ['primary', 'standby'].map(async (name) => {
        const directory = join(folder, name)
        execFileSync('cp', ['-a', template, directory], { ...binaries.user })
        return new PostgresNode(binaries, name, directory, await freePort())
      }),
    )
    if (primary === undefined || standby === undefined) throw new Error('two nodes')
    ends.push(() => primary.stop())
    await primary.start({ fsync: 'off' })
    execFileSync('touch', [join(standby.directory, 'standby.signal')], { ...binaries.user })
    ends.push(() => standby.stop())
    await standby.start({
      fsync: 'off',
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres`,
    })
    await primary.query('CREATE DATABASE balanced')
    const follow = async (follows: boolean): Promise<void> => {
      const [position] = await primary.query<{ lsn: string }>('SELECT pg_current_wal_lsn() AS lsn')
      if (follows) await standby.query('SELECT pg_wal_replay_resume()')
      // oxlint-disable-next-line no-await-in-loop -- until it has all
      while (!(await hasReplayed(standby, position?.lsn ?? '')));
      if (!follows) await standby.query('SELECT pg_wal_replay_pause()')
    }
    await follow(true)
    const port = await freePort()
    const file = join(folder, 'pgpool.conf')
    writeFileSync(
      file,
      [...linesOf(folder, port, await freePort(), [primary.port, standby.port]), ...settings].join('\n'),
    )
    const found = /find_primary_node: primary node is 0/
    const pool = await runServer(program, ['-n', '-f', file], found, binaries.user)
    ends.push(() => pool.end('SIGINT'))
    const at = (to: number): string => `postgres://postgres@127.0.0.1:${to}/balanced`
    await untilTaken(at(port))
    return { url: at(port), primaryUrl: at(primary.port), standbyUrl: at(standby.port), follow, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function hasReplayed(standby: PostgresNode, position: string): Promise<boolean> {
  const [row] = await standby.query<{ has: boolean }>(
    `SELECT pg_last_wal_replay_lsn() >= '${position}' AS has`,
  )
  return row?.has === true
}

function linesOf(folder: string, port: number, adminPort: number, nodes: readonly number[]): string[] {
  return [
    "backend_clustering_mode = 'streaming_replication'",
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    `pcp_port = ${adminPort}`,
    `unix_socket_directories = '${folder}'`,
    `pcp_socket_dir = '${folder}'`,
    `pid_file_name = '${folder}/pgpool.pid'`,
    `logdir = '${folder}'`,
    'enable_pool_hba = off',
    "pool_passwd = ''",
    "sr_check_user = 'postgres'",
    'num_init_children = 40',
    'max_pool = 1',
    ...nodes.flatMap((node, index) => [
      `backend_hostname${index} = '127.0.0.1'`,
      `backend_port${index} = ${node}`,
      `backend_weight${index} = ${index}`,
      `backend_flag${index} = 'DISALLOW_TO_FAILOVER'`,
    ]),
  ]
}

async function untilTaken(url: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    client.on('error', () => {})
    try {
      // oxlint-disable-next-line no-await-in-loop -- until there is an answer
      await client.connect()
      // oxlint-disable-next-line no-await-in-loop -- as above
      return await client.end()
    } catch (error) {
      if (attempt === 40) throw error
      // oxlint-disable-next-line no-await-in-loop -- as above
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

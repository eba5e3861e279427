import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'
import { runServer, type RunningServer } from '../../support/run-server.ts'
import { makeFolderFor, serverUser } from '../../support/server-user.ts'
import { execute } from './mysql-server.ts'

/** A node of a cluster. */
export interface Node {
  /** Of the `test` database, on this node. */
  readonly url: string
  /** Sends the server a signal: SIGKILL, or SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void
  /** Starts it again after it was killed, as a server of its own that belongs to no cluster. */
  startAlone(): Promise<void>
  /** Cuts the node off from the others, or lets it join again. It goes on taking clients. */
  cutOff(isCut: boolean): Promise<void>
  /** Waits until the node says of itself that it takes part, or does not. */
  untilReady(isReady: boolean): Promise<void>
}

/** Three nodes on loopback that all take writes. */
export interface Cluster {
  readonly nodes: readonly Node[]
  stop(): Promise<void>
}

const program = '/usr/sbin/mariadbd'
const provider = '/usr/lib/galera/libgalera_smm.so'

/** Why there is no cluster to test with; null where there is one. */
export function whyNoGalera(): string | null {
  if (existsSync(program) && existsSync(provider) && existsSync('/usr/bin/rsync')) return null
  return `skipped: there is no ${program}, ${provider} or rsync (Debian: mariadb-server, galera-4, rsync)`
}

/** Starts three nodes. `settings` are options of the servers, which count more than those here. */
export async function startGalera(settings: readonly string[] = []): Promise<Cluster> {
  const servers: RunningServer[] = []
  const folder = makeFolderFor(serverUser('mysql'), 'utility-api-galera-')
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.end('SIGKILL')))
    removeFolder(folder)
  }
  try {
    return { nodes: await startNodes(folder, servers, settings), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Adds each server to `servers` as soon as it runs, so that a failure of a later one leaves none behind. */
async function startNodes(
  folder: string,
  servers: RunningServer[],
  settings: readonly string[],
): Promise<Node[]> {
  const user = serverUser('mysql')
  const ports = await distinctPorts(9)
  const group = (index: number): string => `127.0.0.1:${ports[index + 3]}`
  const members = [0, 1, 2].map(group).join(',')
  const nodes: Node[] = []
  for (const index of [0, 1, 2]) {
    const [port, data, temporary] = [ports[index], join(folder, `data${index}`), join(folder, `tmp${index}`)]
    // Each has its own, because a server that starts deletes the temporary tables there, whosever they are.
    // oxlint-disable-next-line no-await-in-loop -- one after the other: each joins those before
    await promisify(execFile)('mkdir', [temporary], user)
    const options = [
      '--no-defaults',
      `--datadir=${data}`,
      `--tmpdir=${temporary}`,
      `--socket=${join(folder, `socket${index}`)}`,
      `--pid-file=${join(folder, `pid${index}`)}`,
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      '--max-connections=300',
      '--innodb-buffer-pool-size=64M',
      '--innodb-log-file-size=32M',
      '--innodb-autoinc-lock-mode=2',
      '--binlog-format=ROW',
      '--skip-name-resolve',
      '--wsrep-on=ON',
      `--wsrep-provider=${provider}`,
      '--wsrep-cluster-name=utility',
      `--wsrep-cluster-address=gcomm://${index === 0 ? '' : members}`,
      `--wsrep-node-name=n${index}`,
      `--wsrep-node-address=127.0.0.1`,
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=127.0.0.1:${ports[index + 6]}`,
      `--wsrep-provider-options=base_port=${ports[index + 3]};gmcast.listen_addr=tcp://${group(index)};ist.recv_addr=127.0.0.1:${(ports[index + 6] ?? 0) + 1};evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S;evs.inactive_check_period=PT0.5S;gcache.size=16M`,
      ...settings,
    ]
    const initial = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve']
    // oxlint-disable-next-line no-await-in-loop -- as above
    await promisify(execFile)('mariadb-install-db', [...options.slice(0, 3), ...initial], {
      cwd: folder,
      ...user,
    })
    // oxlint-disable-next-line no-await-in-loop -- as above
    const start = (own: readonly string[] = []): Promise<RunningServer> =>
      runServer(program, [...options, ...own], /ready for connections/, user)
    // oxlint-disable-next-line no-await-in-loop -- as above
    servers.push(await start())
    const url = `mysql://root@127.0.0.1:${port}/test`
    const startAlone = async (): Promise<void> => {
      await servers[index]?.end('SIGKILL')
      servers[index] = await start(['--wsrep-on=OFF', '--wsrep-provider=none'])
    }
    nodes.push({ ...nodeAt(url, servers, index), startAlone })
    // oxlint-disable-next-line no-await-in-loop -- as above
    await nodes[index]?.untilReady(true)
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (index === 0) await execute(inMysql(url), 'CREATE DATABASE test')
  }
  return nodes
}

function nodeAt(url: string, servers: RunningServer[], index: number): Omit<Node, 'startAlone'> {
  return {
    url,
    signal: (signal) => servers[index]?.signal(signal),
    cutOff: async (isCut) =>
      void (await execute(url, `SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${isCut ? 1 : 0}'`)),
    async untilReady(isReady) {
      const wanted = isReady ? 'ON' : 'OFF'
      // oxlint-disable-next-line no-await-in-loop -- until it says so
      while ((await readiness(url)) !== wanted) await new Promise((resolve) => setTimeout(resolve, 50))
    },
  }
}

/** Another database of the same server, which is there before it is ready. */
function inMysql(url: string): string {
  return url.replace('/test', '/mysql')
}

async function readiness(url: string): Promise<string | undefined> {
  const [row] = (await execute(inMysql(url), "SHOW STATUS LIKE 'wsrep_ready'")) as { Value: string }[]
  return row?.Value
}

async function distinctPorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  // oxlint-disable-next-line no-await-in-loop -- until there are enough
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

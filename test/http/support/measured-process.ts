import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const sources = new URL('../../support/sources.ts', import.meta.url).href
const bin = fileURLToPath(new URL('../../../node_modules/.bin/', import.meta.url))

export interface Measured {
  /** Returns how the process ended, or null while it runs. */
  exitCode(): number | NodeJS.Signals | null
  /** Bytes held, garbage aside, and those that the machine sees. */
  memory(): Promise<{ readonly held: number; readonly rss: number }>
}

/** Starts a server of this folder that speaks, until the test ends. Returns what it says first, too. */
export async function startMeasured<Facts>(
  server: 'answers-server' | 'bodies-server',
  mount: string,
): Promise<Facts & Measured> {
  const program = fileURLToPath(new URL(`./${server}.ts`, import.meta.url))
  const flags = ['--max-old-space-size=256', '--expose-gc', '--import', sources]
  const [command, args] = mount === 'Bun' ? ['bun', []] : ['node', flags]
  const child = spawn(`${bin}${command}`, [...args, program, mount], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const exitCode = (): number | NodeJS.Signals | null => child.signalCode ?? child.exitCode
  const ask = async (): Promise<unknown> => {
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`The server on ${mount} has died (${exitCode()}).`)
    return JSON.parse(value)
  }
  return {
    ...((await ask()) as Facts),
    exitCode,
    async memory() {
      child.stdin.write('\n')
      return (await ask()) as Awaited<ReturnType<Measured['memory']>>
    },
  }
}

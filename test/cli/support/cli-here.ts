import { vi } from 'vitest'
import { run } from '../../../adapters/cli/run.ts'
import type { Outcome } from './cli.ts'

/** Runs a command line in this process, which spares the half second that a process takes to start. */
export async function runHere(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const stdout: string[] = []
  const stderr: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((text) => void stdout.push(`${text}\n`))
  const error = vi.spyOn(console, 'error').mockImplementation((text) => void stderr.push(`${text}\n`))
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const before = process.exitCode
  try {
    const code = await run(args)
    return { code, stdout: stdout.join(''), stderr: stderr.join('') }
  } finally {
    process.exitCode = before
    vi.unstubAllEnvs()
    log.mockRestore()
    error.mockRestore()
  }
}

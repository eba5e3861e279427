import { execFileSync } from 'node:child_process'

/** How many files this process may open. */
export const mostFiles: number = Number(execFileSync('sh', ['-c', 'ulimit -n'])) || Number.POSITIVE_INFINITY

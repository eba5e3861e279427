/** What a heap of 256 MB can hold. */
const most = 10_000

/** What Node.js and Bun tell about a process. Not all versions of its type have the option. */
interface Report {
  excludeNetwork?: boolean
  getReport(): { readonly userLimits?: { readonly open_files: { readonly soft: number | 'unlimited' } } }
}

/**
 * Returns how many connections a server may have: at most half of the files that its process may open. The other half is
 * left to what the process opens itself. Without a free descriptor, it could accept nobody and ask no database.
 */
export function mostConnections(): number {
  const report = process.report as object as Report
  const { excludeNetwork = false } = report
  // Otherwise it looks up the name of every address that the process is connected to, and waits for that.
  report.excludeNetwork = true
  const soft = report.getReport().userLimits?.open_files.soft
  report.excludeNetwork = excludeNetwork
  // Windows has no such limit.
  return typeof soft === 'number' ? Math.min(most, Math.floor(soft / 2)) : most
}

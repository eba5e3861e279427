const most = 10_000
/** What a connection may take of the heap. Unfinished headers of 850 fields take 60 KB. */
const heapShare = 300_000

/** What Node.js and Bun tell about a process. Not all versions of its type have the option. */
interface Report {
  excludeNetwork?: boolean
  getReport(): {
    readonly userLimits?: { readonly open_files: { readonly soft: number | 'unlimited' } }
    readonly javascriptHeap: { readonly memoryLimit: number }
  }
}

/**
 * Returns how many connections a server may have: at most half of the files that its process may open. The other half
 * is left to what the process opens itself. Without a free descriptor, it could accept nobody and ask no database. And
 * at most as many as the heap holds, whatever they send, because without memory, the process would end.
 */
export function mostConnections(): number {
  const report = process.report as object as Report
  const { excludeNetwork = false } = report
  // Otherwise it looks up the name of every address that the process is connected to, and waits for that.
  report.excludeNetwork = true
  const { userLimits, javascriptHeap } = report.getReport()
  report.excludeNetwork = excludeNetwork
  // Windows has no limit of files, and Bun none of its heap.
  const files = Number(userLimits?.open_files.soft) || Infinity
  const heap = javascriptHeap.memoryLimit || Infinity
  return Math.floor(Math.min(most, files / 2, heap / heapShare))
}

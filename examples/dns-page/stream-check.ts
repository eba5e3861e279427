// Answers one question of the page with a line of JSON for each location, as it answers, and a last one for the verdict.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { recordText, summarizeDnsCheck, UtilityApiError } from 'utility-api'
import type { DnsCheckResult, DnsOldCopy, RecordType, UtilityApi } from 'utility-api'

export async function streamCheck(
  api: Pick<UtilityApi, 'checkDns'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked = new URL(request.url ?? '', 'http://page').searchParams
  const domain = asked.get('name') ?? ''
  const recordType = asked.get('type') as RecordType
  const expected = expectedOf(asked.getAll('expect'))
  const compare = (results: readonly DnsCheckResult[], previous?: { oldCopies: DnsOldCopy[] }) =>
    summarizeDnsCheck(results, { recordType, ...(expected !== undefined && { expected }), previous })
  const send = (line: object): void => {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.write(`${JSON.stringify(line)}\n`)
  }

  // Whoever closes the page does not keep the resolvers busy.
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    // What the page was sent with the check before: it keeps it, so that this server need not.
    const previous = { oldCopies: JSON.parse(asked.get('oldCopies') ?? '[]') as DnsOldCopy[] }
    // Refuses what is no record before anybody is asked.
    compare([], previous)
    const results = await api.checkDns(
      { domain, recordType },
      {
        signal: gone.signal,
        caller: request.socket.remoteAddress,
        onAnswer(result, index) {
          const { verdict, longestTtlSeconds } = compare([result])
          send({ index, result, texts: result.dns_results.map(recordText), verdict, longestTtlSeconds })
        },
      },
    )
    const summary = compare(results, previous)
    const { verdict, differing, unanswered, groups } = summary
    const counts = { all: results.length, differing: differing.length, unanswered: unanswered.length }
    const waiting = 'arrived' in summary && {
      blocking: summary.blocking.map(({ location }) => location),
      oldCopies: summary.oldCopies,
      longestTtlSeconds: summary.longestTtlSeconds,
    }
    send({ verdict, groups: groups.length, ...counts, ...waiting })
    response.end()
  } catch (error) {
    if (gone.signal.aborted) return
    if (!(error instanceof UtilityApiError)) console.error(error)
    if (response.headersSent) response.destroy()
    else refuse(response, error)
  }
}

/** One record on each line; `none` expects that there are none. */
function expectedOf(lines: readonly string[]): string[] | undefined {
  const records = lines.map((line) => line.trim()).filter((line) => line !== '')
  if (records.length === 0) return undefined
  return records.length === 1 && records[0] === 'none' ? [] : records
}

function refuse(response: ServerResponse, error: unknown): void {
  const isTheirs =
    error instanceof UtilityApiError &&
    (error.code === 'invalid_request' || error.code === 'invalid_argument')
  const message = isTheirs ? error.message : 'The check is not possible at the moment.'
  response.writeHead(isTheirs ? 400 : 503, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ message }))
}

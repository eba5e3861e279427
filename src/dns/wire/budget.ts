import { maxRecordsJsonBytes, recordJsonBytes } from '../../domain/dns-answer-limit.ts'
import type { DnsRecord } from '../../domain/dns-record.ts'

/** Thrown for a message that breaks the format. A single object, since a hostile resolver could cause thousands. */
export const formatError: Error = new Error('Malformed DNS message')

/** Thrown for a message that ends before its last record does. */
export const cutError: Error = new Error('Incomplete DNS message')

/** Thrown for a message that would take too much memory to read. */
export const sizeError: Error = new Error('Too large DNS message')

/**
 * How many parts may be read in one message. The longest message has room for 65,000 strings, 32,767 labels, 16,000
 * options or 5,955 records. Without a limit, 64 KB of names that point to each other would keep a process busy for 0.4 s.
 */
export const maxSteps = 70_000

/** What reading one message has cost so far. Names behind pointers can make a message a hundred times as long. */
export class ReadingBudget {
  /** Labels, pointers, records, strings and options. */
  steps = 0
  /** Bytes of JSON that names and texts take at least. */
  textBytes = 0
  /** Bytes of JSON that the records take. */
  jsonBytes = 1

  /** Counts parts that are read. Throws {@link formatError} after the last one allowed. */
  spendSteps(count: number): void {
    this.steps += count
    if (this.steps > maxSteps) throw formatError
  }

  /** Counts text before it is created. Throws {@link sizeError} if no answer within the limit has that much. */
  spendText(bytes: number): void {
    this.textBytes += bytes
    if (this.textBytes > maxRecordsJsonBytes) throw sizeError
  }

  /** Counts a record. Throws {@link sizeError} if it is one too many. */
  spendRecord(record: DnsRecord): void {
    this.jsonBytes += recordJsonBytes(record)
    if (this.jsonBytes > maxRecordsJsonBytes) throw sizeError
  }
}

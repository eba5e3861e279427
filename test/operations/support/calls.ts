import type { Credential } from '../../../src/domain/access.ts'
import type { OperationCall } from '../../../src/operations/operation.ts'

/** A caller of an operation. */
export function callerNamed(ownerId: string): Credential {
  return { id: 'some', ownerId, subject: null, scope: '', createdAt: 0, expiresAt: null, revokedAt: null }
}

/** A call that never ends by itself. */
export function callWith(parts: Partial<OperationCall> = {}): OperationCall {
  return { requestId: 'some-id', timeLeftMs: () => 5000, signal: new AbortController().signal, ...parts }
}

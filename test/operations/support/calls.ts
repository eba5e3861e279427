import type { Credential } from '../../../src/domain/credentials.ts'
import { createOctetBudget, type OctetBudget } from '../../../src/bounds/octet-budget.ts'
import type { OperationCall } from '../../../src/operations/operation.ts'
import { SharedAnswer } from '../../../src/bounds/shared-answer.ts'

/** A caller of an operation. */
export function callerNamed(ownerId: string): Credential {
  return { id: 'some', ownerId, subject: null, scope: '', createdAt: 0, expiresAt: null, revokedAt: null }
}

/** A call that never ends by itself. */
export function callWith(parts: Partial<OperationCall> = {}): OperationCall {
  return {
    requestId: 'some-id',
    callerKey: 'test:me',
    timeLeftMs: () => 5000,
    signal: new AbortController().signal,
    ...parts,
  }
}

/** A budget that no test uses up by chance. */
export function ampleBudget(): OctetBudget {
  return createOctetBudget(64 * 1024 * 1024)
}

/** Returns the result of an operation, whether or not it is shared. */
export async function valueOf<Value>(
  answer: Value | SharedAnswer<Value> | PromiseLike<Value | SharedAnswer<Value>>,
): Promise<Value> {
  const given = await answer
  return given instanceof SharedAnswer ? given.value() : given
}

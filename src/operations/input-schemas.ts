import { z } from 'zod'
import { UtilityApiError } from '../domain/errors.ts'
import type { Parameter } from './operation.ts'

/** What to say of an input in which a schema has found a problem: the first, with the name that the parameter has on the wire. */
export function inputProblem(
  parameters: Iterable<readonly [field: string, Parameter]>,
  { issues: [issue] }: z.ZodError,
): UtilityApiError {
  const name = new Map(parameters).get(String(issue?.path[0]))?.name
  return new UtilityApiError('invalid_request', `${name ?? 'The request'} ${issue?.message ?? 'is invalid'}.`)
}

/** The message of a field that is absent or of the wrong type; the field's name is put before it. */
export function missingOr(otherwise: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is missing' : otherwise)
}

/** A required, non-empty string. */
export function requiredText(): z.ZodString {
  return z.string({ error: missingOr('must be a string') }).min(1, 'is missing')
}

/** A required string of visible ASCII characters and spaces: VSCHAR of RFC 6749, appendix A. */
export function visibleText(): z.ZodString {
  return requiredText().regex(/^[\x20-\x7e]+$/, 'must consist of visible ASCII characters')
}

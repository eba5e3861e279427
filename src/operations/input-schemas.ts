import { z } from 'zod'
import type { Refusal } from '../domain/errors.ts'

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

/** What a refinement is told whose failure has a refusal of its own, instead of `invalid_request` with the field's name. */
export function refuseWith(refusal: Refusal): { readonly params: { readonly refusal: Refusal } } {
  return { params: { refusal } }
}

import type * as z from 'zod'
import { refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { Parameter } from './operation.ts'

/**
 * Returns the error for the first problem that a schema found, with the name that the parameter has on the wire.
 *
 * @param mistake - What explains that something is missing, if there is such a thing.
 */
export function inputProblem(
  parameters: Iterable<readonly [field: string, Parameter]>,
  { issues: [issue] }: z.ZodError,
  mistake?: Refusal,
): UtilityApiError {
  if (issue?.message === 'is missing' && mistake !== undefined) return refused(mistake)
  if (issue?.code === 'custom' && issue.params !== undefined)
    return refused(issue.params['refusal'] as Refusal)
  const name = new Map(parameters).get(String(issue?.path[0]))?.name
  return new UtilityApiError('invalid_request', `${name ?? 'The request'} ${issue?.message ?? 'is invalid'}.`)
}

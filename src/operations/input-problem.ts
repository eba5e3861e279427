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
  const parameter = new Map(parameters).get(String(issue?.path[0]))
  const problem = issue?.message ?? 'is invalid'
  // Some send the fields of a JSON body instead, and would look there for what is missing.
  const where = problem === 'is missing' && parameter?.in === 'header' ? 'The header ' : ''
  return new UtilityApiError('invalid_request', `${where}${parameter?.name ?? 'The request'} ${problem}.`)
}

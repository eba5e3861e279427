import * as z from 'zod'
import { isOptions } from './arguments.ts'

/** Members that count as left out where they are undefined, because to leave them out grants nothing. */
export const harmless: z.core.$ZodRegistry<undefined> = z.registry<undefined>()

/**
 * Returns the schema of an object with these members. A map or a list is refused, because it would pass for an object
 * whose members were all left out.
 *
 * An optional member that is there, but undefined, is refused, so that a session that has ended cannot grant what leaving
 * its user out would grant, unless it is harmless.
 */
export function exactObject<Shape extends z.ZodRawShape>(
  shape: Shape,
  message: string,
): z.ZodType<z.output<z.ZodObject<Shape, z.core.$strict>>> {
  return z
    .custom<Record<string, unknown>>(isOptions, message)
    .transform((value, context) => {
      const given = { ...value }
      for (const [name, schema] of Object.entries(shape).filter(([each]) => each in value)) {
        // An object of a class may inherit its members.
        if (value[name] !== undefined) given[name] = value[name]
        else if (harmless.has(schema)) delete given[name]
        else if (!requiredNames(shape).includes(name))
          context.addIssue({ code: 'custom', path: [name], message: refusal })
      }
      return given
    })
    .pipe(z.strictObject(shape) as never)
}

const refusal = 'is undefined: pass a value, or leave it out on purpose'

/** Returns the members that an object with this shape cannot be without. */
export function requiredNames(shape: z.ZodRawShape): string[] {
  const { error } = z.strictObject(shape).safeParse({}, { jitless: true })
  return error?.issues.map(({ path }) => String(path[0])) ?? []
}

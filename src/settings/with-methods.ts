import * as z from 'zod'
import { lacks, storageProblem } from '../storage/storage-problem.ts'

/** The schema of an object that a program provides, such as a clock. */
export function withMethods<Type>(...names: (keyof Type & string)[]): z.ZodType<Type, Type> {
  return z.custom<Type>((value) => missingMethods(value, names).length === 0, {
    error: ({ input }) => methodsProblem(input, names),
  })
}

function methodsProblem(value: unknown, names: readonly string[]): string {
  const methods = `${names.length === 1 ? 'method' : 'methods'} ${names.join(', ')}`
  if (typeof value === 'function') {
    const { name } = value
    if (names.includes(name)) return `is a function: write { ${name} }`
    return `is a function: write ${/^\w+$/.test(name) ? name : 'it'}() to call it, or an object with the ${methods}`
  }
  if (typeof value !== 'object' || value === null) return `must be an object with the ${methods}`
  return lacks(missingMethods(value, names))
}

/** The schema of a storage, which says what to write instead of what people take for one. */
export function storageWith<Type>(...names: (keyof Type & string)[]): z.ZodType<Type, Type> {
  return z.custom<Type>((value) => missingMethods(value, names).length === 0, {
    error: ({ input }) => storageProblem(input, missingMethods(input, names)),
  })
}

export function missingMethods(value: unknown, names: readonly string[]): string[] {
  return names.filter((name) => typeof (value as Record<string, unknown> | null)?.[name] !== 'function')
}

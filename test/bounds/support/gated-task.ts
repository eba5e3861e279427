/** A task that ends when it is told to, and not before. */
export interface GatedTask {
  readonly task: () => Promise<string>
  readonly started: () => boolean
  readonly open: () => void
  readonly fail: () => void
}

export function gatedTask(): GatedTask {
  const gate = Promise.withResolvers<string>()
  let started = false
  return {
    open: () => gate.resolve('done'),
    fail: () => gate.reject(new Error('failed')),
    started: () => started,
    task: () => {
      started = true
      return gate.promise
    },
  }
}

/** Resolves when all that was ready to go on has done so. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

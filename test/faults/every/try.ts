import { storageContract, type StorageContractCase } from '../../../src/testing/storage-contract.ts'
import { History } from '../../histories/support/recording.ts'
import { settle } from './settle.ts'
import type { Place, World } from './place.ts'

/** What came of a case with a fault at one step. */
export interface Trial {
  /** How many steps there were. */
  readonly steps: number
  /** Whether the case was answered as without a fault. */
  readonly passed: boolean
  /** Whether the store lacks what the case needs. */
  readonly applies: boolean
  readonly wrong: readonly string[]
  readonly sentences: ReadonlySet<string>
  /** Groups of calls that have an order, and that were too large to look for one. */
  readonly right: number
  readonly undecided: number
}

/** Longer than any call may take. */
const hangsAfterMs = 30_000

/** The cases of the suite but the long history, which is one call after the other, as the short ones are. */
export function casesOf(
  place: Place,
): readonly (Pick<StorageContractCase, 'name'> & { tryAt(step: number): Promise<Trial> })[] {
  let worlds: { readonly world: World; readonly history: History }[] = []
  const make = async (): Promise<{ storage: World['storage']; second: World['second']; close(): void }> => {
    place.steps.end()
    const world = await place.make()
    const history = new History()
    worlds.push({ world, history })
    place.steps.begin(chosen)
    // What the case is done with is judged before it is closed.
    return { storage: history.record(world.storage), second: history.record(world.second), close() {} }
  }
  let chosen = 0

  async function tryAt(run: StorageContractCase['run'], step: number): Promise<Trial> {
    chosen = step
    worlds = []
    const outcome = await run().then(
      (answer) => ({ passed: true, applies: answer === 'passed', error: undefined }),
      (error: unknown) => ({ passed: false, applies: true, error }),
    )
    const wrong: string[] = []
    let [right, undecided] = [0, 0]
    const steps = place.steps.taken
    const sentences = new Set<string>()
    for (const { world, history } of worlds) {
      if (!(await history.settled(hangsAfterMs))) wrong.push('a call hangs')
      place.steps.end()
      world.lift()
      if (step === 0 && !outcome.passed) wrong.push(`without a fault: ${String(outcome.error)}`)
      if (step > 0 && steps >= step) {
        const verdict = await settle(world, history)
        wrong.push(...verdict.wrong)
        right += verdict.right
        undecided += verdict.undecided
      }
      for (const sentence of history.sentences) sentences.add(sentence)
      world.close()
    }
    return { steps, passed: outcome.passed, applies: outcome.applies, wrong, sentences, right, undecided }
  }

  return storageContract(make, { calls: 40 })
    .filter(({ name }) => !name.startsWith('a random history'))
    .map(({ name, run }) => ({ name, tryAt: (step) => tryAt(run, step) }))
}

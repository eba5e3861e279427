import type { AdminStorage } from 'utility-api/storage'
import { bindAdmin } from '../../../src/testing/contract/bound.ts'
import { answerOf } from '../../../src/testing/contract/calls.ts'
import { createModel, inAnyOrder, type Listed } from '../../../src/testing/contract/model.ts'
import { hasOrder, type SeenCall } from '../../../src/testing/contract/order.ts'
import { call as inTime } from '../../storage/support/call.ts'
import type { Lane, Race } from './race.ts'
import type { Call } from './requests.ts'
import { reads, setUp, type Readable } from './world.ts'

export function readable(storage: AdminStorage): Readable {
  const page = { limit: 100 }
  return {
    ...bindAdmin(storage),
    async list(what: Listed) {
      const { listing } = storage
      if (what === 'licenses') return (await listing?.licenses(page, inTime))?.licenses
      if (what === 'clients') return inAnyOrder((await listing?.clients(page, inTime))?.clients ?? [])
      if (what === 'resellers') return inAnyOrder((await listing?.resellers(page, inTime))?.resellers ?? [])
      return inAnyOrder((await listing?.credentials({ ...page, kind: what }, inTime))?.credentials ?? [])
    },
  }
}

/** Judges the races of two calls by the model. Those with the same answers and the same rows in the end are one to it. */
export function createJudge(calls: readonly [Call, Call]): {
  /** Returns what was seen if no order of the calls explains it. */
  judge(race: Race, store: Readable): Promise<string | undefined>
} {
  const start = createModel()
  void setUp(start)
  const known = new Map<string, boolean>()
  return {
    async judge({ lanes }, store) {
      const rows: string[] = []
      // oxlint-disable-next-line no-await-in-loop -- the last ones write
      for (const read of reads) rows.push(await answerOf(() => read(store)))
      const [a, b] = lanes
      const order = a.to < b.from ? 'before' : b.to < a.from ? 'after' : 'during'
      const text = `${calls[0].name} → ${a.answer}\n${order} ${calls[1].name} → ${b.answer}\n${rows.join('\n')}`
      const isRight = known.get(text) ?? explains(lanes, rows)
      known.set(text, isRight)
      return isRight ? undefined : text
    },
  }

  function explains(lanes: readonly [Lane, Lane], rows: readonly string[]): boolean {
    const asked = lanes.map(({ from, to, answer, hadFault }, index): SeenCall => ({
      steps: (calls[index] as Call).stepsOn(index === 0 ? 'a' : 'b', hadFault),
      answer,
      from,
      to,
    }))
    const last = Math.max(...lanes.map(({ to }) => to)) + 1
    const read = rows.map((answer, index): SeenCall => ({
      steps: [(model) => reads[index]?.(model as unknown as Readable)],
      answer,
      from: last + index,
      to: last + index,
    }))
    return hasOrder(start, [...asked, ...read]) === true
  }
}

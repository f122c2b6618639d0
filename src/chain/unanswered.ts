import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { SendOutcome, UnansweredMethod } from './nodes.ts'

/** What the nodes were asked for in vain, by method. */
export type UnansweredMethods = {
  /** Enough nodes gave the same answer. */
  readonly answered: (method: string) => void
  readonly failed: (method: string, error: RolekeeperError) => void
  /** Take note of what each node said to raw bytes. */
  readonly sent: (outcomes: readonly SendOutcome[]) => void
  /** Each method that was asked for more than once since its last answer, and of late; the longest first. */
  readonly list: () => readonly UnansweredMethod[]
}

const SEND = 'eth_sendRawTransaction'

/** Whether a node neither took the bytes nor said that their nonce, fee or balance is why. */
const isNotTaken = ({ outcome }: SendOutcome) => outcome === 'unknown' || outcome === 'rejected'

const notTaken = (outcomes: readonly SendOutcome[]) => {
  const outcomeText = outcomes
    .map(({ node, outcome, detail }) => `${node}: ${outcome} (${detail}).`)
    .join(' ')
  return new RolekeeperError('node.not_taken', `No node took what was sent. ${outcomeText}`, {
    fix: 'look at the nodes of `chain.nodes.send`, or add one.',
    retry: 'later',
  })
}

/** What nobody asked for any more for so long may have an answer by now. */
const LATELY_MS = 65_000

/** Keep since when each method has had no answer that counts. One failure says nothing: a block may just be gone. */
export function createUnanswered({ monotonicMs }: Pick<Clock, 'monotonicMs'>): UnansweredMethods {
  const failing = new Map<string, UnansweredMethod & { readonly lastMs: number; readonly count: number }>()
  const answered = (method: string) => void failing.delete(method)
  const failed = (method: string, error: RolekeeperError) => {
    const last = failing.get(method)
    const lastMs = monotonicMs()
    const sinceMs = last?.sinceMs ?? lastMs
    failing.set(method, { method, sinceMs, error, lastMs, count: (last?.count ?? 0) + 1 })
  }
  return {
    answered,
    failed,
    sent: (outcomes) => {
      if (outcomes.every(isNotTaken)) failed(SEND, notTaken(outcomes))
      else answered(SEND)
    },
    list: () => {
      for (const { method, lastMs } of failing.values())
        if (monotonicMs() - lastMs > LATELY_MS) answered(method)
      return [...failing.values()].filter(({ count }) => count > 1)
    },
  }
}

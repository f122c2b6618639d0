import type { Refusal } from '../errors.ts'
import {
  type Answer,
  forgetAnswer,
  forgetOrder,
  readAnswer,
  readSignerOrders,
  readSubmissions,
  type SignerOrder,
  type Submission,
  type Waiting,
} from './orders.ts'

/** What its author hears of an order: what came of it, or why nothing did. */
export type Reply = { readonly workflowId: string } | { readonly said: string } | Omit<Refusal, 'ok'>

/** What people order, as the keeper sees it that takes it. */
export type Mail = {
  /** How often it is worth to look, ms. */
  readonly everyMs: number
  /** The submissions that wait: what was replied to is not among them. */
  readonly submissions: () => Promise<readonly Waiting<Submission>[]>
  /** The orders about signers that wait. */
  readonly signerOrders: () => Promise<readonly Waiting<SignerOrder>[]>
  /** Keep the reply to an order for its author, and then let the order go. The same order has one reply. */
  readonly reply: (id: string, reply: Reply) => Promise<void>
  /** A person's answer about a held workflow that was given for exactly this hash; null without one. */
  readonly answer: (workflowId: string, hash: string) => Promise<Answer['verdict'] | null>
  /** Forget the answer about a workflow that has ended. */
  readonly forgetAnswer: (workflowId: string) => Promise<void>
}

/** Where the replies to a directory's orders are kept: in its journal. */
type ReplyStore = {
  readonly getValue: (key: string) => Promise<string | null>
  readonly setValue: (key: string, value: string) => Promise<void>
  readonly barrier: () => Promise<void>
}

/** Where a journal keeps the reply to an order. Pure. */
export const replyKey = (orderId: string) => `order:${orderId}`

/** A person's order is a file: it is looked for this often. */
const FILES_MS = 250

/** Take the orders of a directory, each a file: its reply is on disk before the file goes. */
export function fileMail(directory: string, journal: ReplyStore): Mail {
  /** Those that were not replied to: of the others, a process that ended left the file. */
  const unanswered = async <Order>(all: readonly Waiting<Order>[]) => {
    const waiting: Waiting<Order>[] = []
    for (const each of all) {
      if ((await journal.getValue(replyKey(each.id))) === null) waiting.push(each)
      else {
        await journal.barrier()
        forgetOrder(directory, each.id)
      }
    }
    return waiting
  }
  return {
    everyMs: FILES_MS,
    submissions: () => unanswered(readSubmissions(directory)),
    signerOrders: () => unanswered(readSignerOrders(directory)),
    reply: async (id, reply) => {
      await journal.setValue(replyKey(id), JSON.stringify(reply))
      await journal.barrier()
      forgetOrder(directory, id)
    },
    answer: async (workflowId, hash) => {
      const answer = readAnswer(directory, workflowId)
      return answer?.hash === hash ? answer.verdict : null
    },
    forgetAnswer: async (workflowId) => forgetAnswer(directory, workflowId),
  }
}

import type { Refusal } from '../errors.ts'
import type { Workflow } from '../workflow/workflow.ts'
import {
  type Answer,
  forgetAnswers,
  forgetOrder,
  type QueuedOrder,
  readAnswers,
  readSignerOrders,
  readSubmissions,
  type SignerOrder,
  type Submission,
  takeOrder,
  withdrawOrder,
  writeAnswer,
  writeSignerOrder,
  writeSubmission,
} from './orders.ts'

/** What came of a submission, and of an order about a signer. */
export type SubmittedWorkflow = { readonly workflowId: string }
export type ReplyText = { readonly said: string }

/** What the author of an order hears: what came of it, or why nothing did. */
export type Reply<Done = SubmittedWorkflow | ReplyText> = Done | Omit<Refusal, 'ok'>

/** What people order, as the keeper sees it that takes it. */
export type Mail = {
  /** How often it is worth to look, ms. */
  readonly everyMs: number
  /** The submissions that wait: what was replied to is not among them. */
  readonly submissions: () => Promise<readonly QueuedOrder<Submission>[]>
  /** The orders about signers that wait. */
  readonly signerOrders: () => Promise<readonly QueuedOrder<SignerOrder>[]>
  /** Whether an order still stands: from now on its author cannot take it back. */
  readonly take: (id: string) => Promise<boolean>
  /** Keep the reply to an order for its author, and then let the order go. The same order has one reply. */
  readonly reply: (id: string, reply: Reply) => Promise<void>
  /** People's answers about a held workflow that were given for exactly this hash. */
  readonly answers: (workflowId: string, hash: string) => Promise<readonly Answer[]>
  /** Forget the answers about a workflow that has ended. */
  readonly forgetAnswers: (workflowId: string) => Promise<void>
}

/** An order that was placed. */
export type Placed<Done> = {
  /** Null until somebody has taken it. */
  readonly reply: () => Promise<Reply<Done> | null>
  /** Take it back: nobody acts on it any more. @returns false where somebody has. */
  readonly withdraw: () => Promise<boolean>
}

/** What people order, as they send it. */
export type OutgoingMail = {
  /** Who takes orders, as messages name it, and what to do where nobody does. */
  readonly to: string
  readonly fix: string
  /** Where anybody takes orders at all, it is done in this time, ms. */
  readonly takenMsMax: number
  /**
   * Ask for a workflow. @param id a UUID of the caller's: the same order twice is one. Throws RolekeeperError
   * `order.not_written`, `order.too_large`, `order.too_many`, and `order.other` where the id stands for something else.
   */
  readonly submit: (id: string, submission: Submission) => Promise<Placed<SubmittedWorkflow>>
  /** Order something about a signer, as {@link submit} does. */
  readonly orderAbout: (id: string, order: SignerOrder) => Promise<Placed<ReplyText>>
  /** Answer a held workflow. Throws as {@link submit}. */
  readonly answer: (workflow: Pick<Workflow, 'id' | 'signer'>, answer: Answer) => Promise<void>
  readonly close: () => Promise<void>
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
/** A keeper that runs takes an order at once; one that has not by then is not running. */
const FILES_TAKEN_MS = 15_000

/** Take the orders of a directory, each a file: its reply is on disk before the file goes. */
export function fileMail(directory: string, journal: ReplyStore): Mail {
  /** Those that were not replied to: of the others, a process that ended left the file. */
  const unanswered = async <Order>(all: readonly QueuedOrder<Order>[]) => {
    const waiting: QueuedOrder<Order>[] = []
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
    take: async (id) => takeOrder(directory, id),
    reply: async (id, reply) => {
      await journal.setValue(replyKey(id), JSON.stringify(reply))
      await journal.barrier()
      forgetOrder(directory, id)
    },
    answers: async (workflowId, hash) =>
      readAnswers(directory, workflowId).filter((answer) => answer.hash === hash),
    forgetAnswers: async (workflowId) => forgetAnswers(directory, workflowId),
  }
}

/** Order by files of a directory; a later answer replaces an earlier one that was not taken. */
export function fileOutgoing(directory: string, journal: Pick<ReplyStore, 'getValue'>): OutgoingMail {
  const placed = <Done>(id: string): Placed<Done> => ({
    reply: async () => {
      const text = await journal.getValue(replyKey(id))
      return text === null ? null : JSON.parse(text)
    },
    withdraw: async () => withdrawOrder(directory, id) && (await journal.getValue(replyKey(id))) === null,
  })
  return {
    to: `keeper of ${directory}`,
    fix: 'start the keeper, or look why it does not answer; where it works in another directory, name that with --directory.',
    takenMsMax: FILES_TAKEN_MS,
    submit: async (id, submission) => {
      writeSubmission(directory, id, submission)
      return placed(id)
    },
    orderAbout: async (id, order) => {
      writeSignerOrder(directory, id, order)
      return placed(id)
    },
    answer: async ({ id }, answer) => writeAnswer(directory, id, answer),
    close: async () => undefined,
  }
}

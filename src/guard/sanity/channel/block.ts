import { refuse } from '../../../errors.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import {
  account,
  type Compared,
  type JudgedCase,
  type Judgement,
  type SanityCheck,
  unread,
} from '../judgement.ts'
import { checkLoosening } from '../loosening.ts'
import { blockedView, CHANNEL_VIEWS, channelPartyView } from './views.ts'

/** Judge that an account is blocked or let go on: we may, it changes something, and nothing else is blocked by it. */
function judgeBlock(about: JudgedCase): Judgement {
  const { subject, proposal, before, after } = about
  const channel = account(about, 'channelAddress')
  const whom = account(about, 'accountAddress')
  const wanted = subject.input.blocked === true
  const curator = before.ask(channelPartyView(channel, 'curator'))
  const [was, is] = [before.ask(blockedView(channel, whom)), after.ask(blockedView(channel, whom))]
  const [allWas, allAre] = [
    before.ask(blockedView(channel, channel)),
    after.ask(blockedView(channel, channel)),
  ]
  return {
    checkState: () => {
      const [who, isBlocked] = [curator(), was()]
      if (who === null || isBlocked === null) return unread('who may block whom')
      if (who !== subject.self) return refuse('not_curator', `The channel is curated by ${who}.`)
      if (isBlocked !== wanted) return wanted ? null : checkLoosening(proposal)
      return wanted
        ? refuse('already_blocked', `${whom} is blocked already.`)
        : refuse('not_blocked', `${whom} is not blocked.`)
    },
    checkOutcome: () => {
      const [isBlocked, all, everybody] = [is(), allWas(), allAre()]
      if (isBlocked === null || all === null || everybody === null) return unread('who is blocked afterwards')
      if (isBlocked === wanted && (whom === channel || all === everybody)) return null
      return refuse('block_not_as_asked', 'Afterwards others would be blocked than was asked for.')
    },
  }
}

/** Ask for whether the account is blocked now. */
function compareBlock(about: JudgedCase): () => Compared | null {
  const whom = account(about, 'accountAddress')
  const blocked = about.before.ask(blockedView(account(about, 'channelAddress'), whom))
  return () => {
    const isBlocked = blocked()
    if (isBlocked === null) return null
    const wanted = String(about.subject.input.blocked === true)
    return { fields: [{ name: `blocked ${whom}`, was: String(isBlocked), wanted }] }
  }
}

/** The judgement of who may use a channel. */
export const blockCheck: readonly [WorkflowType, SanityCheck] = [
  'role.curator.partnerChannelBlockedUpdate',
  {
    views: CHANNEL_VIEWS,
    relies: ['channelAddress', 'accountAddress', 'blocked'],
    callee: 'channelAddress',
    revalidations: ['channel_curator', 'intent_not_expired'],
    judge: judgeBlock,
    compare: compareBlock,
  },
]

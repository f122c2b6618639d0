import type { Address } from 'viem'
import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { type OpportunityParts, openProposal, opportunityOf } from '../../decide/open.ts'
import { type Checked, type Refusal, type RolekeeperError, refuse } from '../../errors.ts'
import { askerOf } from '../../guard/approval/approvers.ts'
import { exposureOf } from '../../guard/checks/check-request.ts'
import { sayOrder } from '../../guard/explain/input-text.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Signers } from '../../pipeline/transactions/safe.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Brief } from '../../workflow/brief.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import type { Rejections } from './rejections.ts'

/** What opening takes. */
type OpenerDeps = {
  readonly clock: { readonly nowMs: () => number }
  readonly nodes: { readonly chainId: number }
  readonly journal: Journal
  readonly alarm: (error: RolekeeperError) => void
  /** One work of the keeper after another: to open a proposal, to judge and take a budget. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
  /** The live keys of the role, with how many nonces each may have in flight. */
  readonly keys: readonly Key[]
  readonly signers: Pick<Signers, 'reasonsOf'>
  readonly rejections: Pick<Rejections, 'against' | 'isTakenBack'>
}

/** The live keys of an agent's role that work by the same policy, its own among them. Pure. */
export const keysLike = ({ role, policy }: AgentConfig, { agents }: Pick<RunConfig, 'agents'>) =>
  agents
    .filter((each) => each.role === role && each.mode === 'live' && each.policy === policy)
    .map(({ signer }) => signer)

type Key = { readonly address: Address; readonly window: number }

/** Opens a role's proposals, whether its agent made them or a person. */
type Opener = {
  readonly open: (proposal: Proposal, shadow: boolean) => ReturnType<typeof openProposal>
  readonly opportunityOf: (about: OpportunityParts, shadow: boolean) => string
}

/** Create the opener of a role's proposals. */
export function createOpener(
  who: { readonly role: Role; readonly signer: Address },
  { clock, nodes, journal, alarm, alone, keys, signers, rejections }: OpenerDeps,
): Opener {
  const openerOf = (shadow: boolean) => ({ ...who, chainId: nodes.chainId, shadow })
  return {
    open: (proposal, shadow) =>
      alone(async () => {
        // What is urgent waits for no window, and a key that is SAFE takes nothing.
        const able = keys.filter(({ address }) => signers.reasonsOf(address).length === 0)
        const isHere = shadow || proposal.urgent === true
        const left =
          isHere || able.length < 2 ? null : otherKeyHasRoom(who.signer, able, await journal.ofRole(who.role))
        const no = left ?? (shadow ? null : await rejections.against(proposal))
        const { isTakenBack } = rejections
        return (
          no ?? openProposal(proposal, openerOf(shadow), { nowMs: clock.nowMs, journal, alarm, isTakenBack })
        )
      }),
    opportunityOf: (about, shadow) => opportunityOf(about, openerOf(shadow)),
  }
}

/** Leave a proposal to another key of the role while this one's window of nonces is full and the other's is not. Pure. */
function otherKeyHasRoom(signer: Address, keys: readonly Key[], live: readonly Brief[]): Refusal | null {
  const free = keys.filter(({ address, window }) => {
    const counted = live.filter((workflow) => workflow.signer === address && !workflow.held)
    return counted.reduce((sum, { nonces }) => sum + nonces, 0) < window
  })
  if (free.length === 0 || free.some(({ address }) => address === signer)) return null
  const [other] = free
  return refuse('window_full', `The window of ${signer} is full; the role's key ${other?.address} has room.`)
}

/** What a person's order to a role takes. */
export type RoleOrders = {
  readonly mode: AgentConfig['mode']
  /** Find who submitted an order: of the approvers that the policy names, one who signed it. */
  readonly askerOf: (order: Parameters<typeof askerOf>[0]) => ReturnType<typeof askerOf>
  /** Count what an input exposes, by guard.effects and limits.pricesUsdMicros. */
  readonly exposureOf: (request: Pick<Proposal, 'workflowType' | 'input'>) => ReturnType<typeof exposureOf>
  /** Say in a line what an input asks for. */
  readonly say: (request: Pick<Proposal, 'workflowType' | 'input'>) => string
  /** Open what a person submitted, as a workflow of this role; again, it is the same one. */
  readonly open: (proposal: Proposal, shadow: boolean) => Promise<Checked<{ readonly workflowId: string }>>
  /** Find what was opened of an order already, as before a crash that came before its reply; null where nothing was. */
  readonly opened: (
    about: OpportunityParts,
    shadow: boolean,
  ) => Promise<{ readonly workflowId: string } | null>
}

/** Join what a person's order to a role takes. */
export const createRoleOrders = (
  { agent: { mode, signer }, ruleset, approval }: RolePolicy,
  opener: Opener,
  { journal, onOpened }: { readonly journal: Journal; readonly onOpened: (workflow: Workflow) => void },
): RoleOrders => {
  const opened: RoleOrders['opened'] = async (about, shadow) => {
    const known = await journal.byOpportunity(opener.opportunityOf(about, shadow))
    return known && { workflowId: known.id }
  }
  return {
    mode,
    askerOf: (order) => askerOf(order, approval),
    exposureOf: (request) => exposureOf(request, signer.address, ruleset),
    say: (request) => sayOrder(request, signer.address, ruleset),
    open: async (proposal, shadow) => {
      const now = await opener.open(proposal, shadow)
      if (now.ok) {
        onOpened(now.workflow)
        return { ok: true, workflowId: now.workflow.id }
      }
      const known = await opened(proposal, shadow)
      return known === null ? now : { ok: true, ...known }
    },
    opened,
  }
}

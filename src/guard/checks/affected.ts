import { type Address, zeroAddress } from 'viem'
import type { Log } from '../../chain/nodes.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Uses } from '../../workflow/uses.ts'
import type { ClearedCall } from '../calls/call.ts'
import { memberAt, placesOf } from '../policy/paths.ts'
import type { Subject } from '../policy/references.ts'
import { type Rule, rulesFor } from '../policy/rule.ts'
import { asAddress } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'
import { subjectOf } from './check-request.ts'
import { recipientsOf } from './effects.ts'

/**
 * Say what cleared calls are about, by their decoded arguments and by where the simulation shows our tokens to go: the
 * markets, whoever else they go to, name or pay, and the functions. What names no market is about one that is not known.
 * Pure.
 */
export function usesOf(calls: readonly ClearedCall[], logs: readonly Log[], subject: Subject): Uses {
  const all = calls.flatMap((call) => [call, ...call.inside])
  const named = all.map(addressesOf)
  const paid = recipientsOf(logs, subject.self).filter((to) => !named.some((list) => list.includes(to)))
  const uses = [...named, paid].flatMap((list) => addressUses(list, subject))
  return [
    ...uses,
    ...(['market', 'counterparty'] as const).filter((kind) => !uses.some((use) => use.startsWith(kind))),
    ...all.map(({ rule }) => `function ${rule.abi.name}`),
  ]
}

/**
 * Say as far as it is known what a proposal's calls will be about, by the rules and the contracts that the request names:
 * nothing is prepared in vain. The claim goes by the calls. Pure.
 */
export function usesAhead(proposal: Proposal, signer: Address, ruleset: Ruleset): Uses {
  const found = subjectOf(proposal, signer, ruleset)
  const rules = ruleset.rules.get(proposal.workflowType) ?? []
  if (!found.ok) return []
  const subject: Subject = { ...found.subject, deadlineS: 0n }
  const sure = rulesFor(rules, proposal.input).filter(({ optional }) => !optional)
  const { market, vault, fund } = subject
  const targets = sure.map(({ target }) => asAddress(target?.resolve(subject)))
  const about = [...targets, market?.address, vault?.address, fund?.address]
  const addresses = [...new Set(about.filter((each) => each !== undefined))]
  return [...addressUses(addresses, subject), ...sure.map(({ abi }: Rule) => `function ${abi.name}`)]
}

/** The addresses that a call goes to or names, each once. */
function addressesOf({ to, rule, args }: ClearedCall): readonly Address[] {
  const named = rule.leaves.flatMap(({ path }) =>
    placesOf(args, path).map((place) => asAddress(memberAt(args, path, place))),
  )
  const all = [to ?? undefined, ...named].filter((each) => each !== undefined)
  return [...new Set(all)]
}

/** Neither we, nor the tokens themselves, nor nobody is a counterparty. */
function addressUses(addresses: readonly Address[], { self, deployment }: Subject): Uses {
  return addresses
    .filter((each) => each !== self && each !== zeroAddress && !isToken(each, deployment))
    .flatMap((each) => [...(isMarket(each, deployment) ? [`market ${each}`] : []), `counterparty ${each}`])
}

const isToken = (address: Address, { assets }: Deployment) => assets.some((each) => each.address === address)
const isMarket = (address: Address, { markets }: Deployment) =>
  markets.some((each) => each.address === address)

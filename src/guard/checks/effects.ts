import { type Address, type Hex, toEventSelector } from 'viem'
import type { Log } from '../../chain/nodes.ts'
import { type Refusal, refuse } from '../../errors.ts'
import { amountText } from '../../units.ts'
import type { TokenChange } from '../../workflow/slot.ts'
import { pinsOf } from '../policy/deployment.ts'
import { type Effects, type Subject, sumOf } from '../policy/references.ts'

/** Source: EIP-20 and EIP-721, events. */
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const APPROVAL = toEventSelector('Approval(address,address,uint256)')
const APPROVAL_FOR_ALL = toEventSelector('ApprovalForAll(address,address,bool)')

/** An allowance that is read before and after the bundle; null where a read failed. Base units. */
export type AllowanceSeen = {
  readonly token: Address
  readonly spender: Address
  readonly before: bigint | null
  readonly after: bigint | null
  /** Whether the bundle itself approves it, and so must use it up. */
  readonly approved: boolean
}

const asAddress = (topic: Hex | undefined): Address | undefined =>
  topic === undefined ? undefined : `0x${topic.slice(26).toLowerCase()}`

const asUint = (data: Hex): bigint => (data === '0x' ? 0n : BigInt(data.slice(0, 66)))

/** Add up changes by token; tokens that net to zero are left out. Pure. */
export function sumChanges(changes: readonly TokenChange[]): readonly TokenChange[] {
  const sums = new Map<Address, bigint>()
  for (const { token, assets } of changes) sums.set(token, (sums.get(token) ?? 0n) + assets)
  return [...sums].filter(([, assets]) => assets !== 0n).map(([token, assets]) => ({ token, assets }))
}

/** Sum what logs say moved to and from an account, by token; tokens that net to zero are left out. Pure. */
export function loggedChanges(logs: readonly Log[], account: Address): readonly TokenChange[] {
  const own = account.toLowerCase()
  // Four topics are an ERC-721 transfer: its third argument is an id, not an amount.
  const transfers = logs.filter(({ topics }) => topics[0] === TRANSFER && topics.length === 3)
  return sumChanges(
    transfers.map(({ address, topics, data }) => {
      const out = asAddress(topics[1]) === own ? asUint(data) : 0n
      const into = asAddress(topics[2]) === own ? asUint(data) : 0n
      return { token: address, assets: into - out }
    }),
  )
}

/** Name who is paid by an account, as logs say, each once. Pure. */
export function recipientsOf(logs: readonly Log[], account: Address): readonly Address[] {
  const own = account.toLowerCase()
  const paid = logs.filter(({ topics }) => topics[0] === TRANSFER && asAddress(topics[1]) === own)
  return [...new Set(paid.flatMap(({ topics }) => asAddress(topics[2]) ?? []))]
}

/** A token of the deployment, or shares that the effects of the type let out: how much of them is what balances say. */
const mayLeave = (token: Address, subject: Subject): boolean =>
  subject.deployment.assets.some((asset) => asset.address === token) ||
  sharesOf(subject.effects, subject).includes(token)

/** Pinned contracts whose shares effects name: vaults and channels are tokens too, and none of deployment.assets. Pure. */
export function sharesOf(effects: Effects | undefined, subject: Subject): readonly Address[] {
  const { assets } = subject.deployment
  const named = [...(effects?.out ?? []), ...(effects?.in ?? [])].map(({ token }) => token.resolve(subject))
  const pinned = pinsOf(subject.deployment).map(({ address }) => address)
  return [...new Set(pinned)].filter(
    (each) => named.includes(each) && !assets.some(({ address }) => address === each),
  )
}

/** Refuse a token outside of the deployment that leaves us, and an approval that no read of ours covers. Pure. */
export function checkLogs(
  logs: readonly Log[],
  subject: Subject,
  allowances: readonly AllowanceSeen[],
): Refusal | null {
  for (const { address, topics } of logs) {
    if (asAddress(topics[1]) !== subject.self) continue
    if (topics[0] === TRANSFER && !mayLeave(address, subject)) {
      return refuse(
        'unknown_token_left',
        `The token ${address}, which is not in deployment.assets, would leave us.`,
      )
    }
    const spender = asAddress(topics[2])
    const isSeen = allowances.some((seen) => seen.token === address && seen.spender === spender)
    if (topics[0] === APPROVAL_FOR_ALL || (topics[0] === APPROVAL && !isSeen)) {
      return refuse(
        'unknown_approval',
        `${spender} would be approved to take ${address}; no rule asks for that.`,
      )
    }
  }
  return null
}

/** Refuse an allowance that is larger afterwards, or that the bundle approved and did not use up. Pure. */
export function checkAllowances(
  allowances: readonly AllowanceSeen[],
  { deployment }: Pick<Subject, 'deployment'>,
): Refusal | null {
  for (const { token, spender, before, after, approved } of allowances) {
    if (before === null || after === null) {
      return refuse(
        'read_failed',
        `The allowance of ${spender} over ${token} cannot be read, so nothing is signed.`,
      )
    }
    const limit = approved ? 0n : before
    if (after > limit) {
      const show = (assets: bigint) => amountText(assets, token, deployment)
      return refuse(
        'allowance_left',
        `${spender} could still take ${show(after)} afterwards; allowed is ${show(limit)}.`,
      )
    }
  }
  return null
}

/** Refuse tokens that leave beyond the policy's bounds, and tokens that do not come in as it demands. Pure. */
export function checkChanges(
  changes: readonly TokenChange[],
  effects: Effects,
  subject: Subject,
): Refusal | null {
  for (const { token, assets } of changes) {
    if (assets >= 0n) continue
    const bound = effects.out.find((item) => item.token.resolve(subject) === token)
    const limit = bound === undefined ? 0n : sumOf(bound.assetsMax, subject)
    if (limit === null || -assets > limit) {
      const show = (amount: bigint) => amountText(amount, token, subject.deployment)
      return refuse(
        'token_left',
        `${show(-assets)} would leave us; guard.effects allows ${limit === null ? 'none that is known' : show(limit)}.`,
      )
    }
  }
  for (const item of effects.in) {
    const token = item.token.resolve(subject)
    const least = sumOf(item.assetsMin, subject)
    const gained = changes.find((change) => change.token === token)?.assets ?? 0n
    if (least === null || gained < least) {
      const show = (amount: bigint) =>
        amountText(amount, typeof token === 'string' ? token : undefined, subject.deployment)
      return refuse(
        'token_missing',
        `${show(gained)} would come in; guard.effects demands ${least === null ? 'an amount that is not known' : show(least)}.`,
      )
    }
  }
  return null
}

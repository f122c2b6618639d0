import { encodeFunctionData, zeroAddress } from 'viem'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { partnerChannelAbi } from '../../contracts/abis.ts'
import { lower } from '../../indexer/logs.ts'
import { same } from '../same.ts'
import { channelIn } from './channel-shares.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'

const TYPE = 'role.curator.partnerChannelBlockedUpdate'
const REVALIDATE = ['channel_curator', 'intent_not_expired'] as const

/** Whom a channel's curator keeps out of it, or lets in again. */
export const channelBlock: Family = {
  preparers: [preparer(TYPE, update)],
  fields: {
    channel_block: (snapshot, entityId, field) => {
      const [channelAddress = '', account = ''] = entityId.split(':')
      const channel = channelIn(snapshot, channelAddress)
      return channel === undefined || field !== 'blocked' ? undefined : isBlocked(channel, account)
    },
  },
}

const isBlocked = (
  { entry }: { readonly entry: { readonly blocked: ReadonlySet<string> } },
  account: string,
): boolean => entry.blocked.has(account.toLowerCase())

function update(
  { channelAddress, accountAddress, blocked: next }: WorkflowInput<typeof TYPE>,
  { snapshot, freshness, principal }: Moment,
  { chainId }: Reads,
): Judgement {
  const channel = channelIn(snapshot, channelAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (channel === undefined) return blocked(null, [...reasons, 'channel_not_found'], REVALIDATE)
  const { state, address } = channel
  if (principal !== null && !same(state.curator, principal)) reasons.push('principal_not_curator')
  // It would stop every deposit and redemption without a word; the channel's own address is for that.
  if (same(accountAddress, zeroAddress)) reasons.push('account_is_zero')
  // What would change nothing is refused: its effect could not be distinguished from what was.
  if (isBlocked(channel, lower(accountAddress)) === next) reasons.push('block_unchanged')
  if (reasons.length > 0) return blocked(state, reasons, REVALIDATE)
  const calldata = encodeFunctionData({
    abi: partnerChannelAbi,
    functionName: 'setBlocked',
    args: [accountAddress, next],
  })
  const whom = same(accountAddress, address) ? 'the whole channel' : 'an account of the channel'
  return passed(
    state,
    intents(chainId, [{ target: address, calldata, label: `${next ? 'Block' : 'Unblock'} ${whom}` }]),
    [
      {
        entityType: 'channel_block',
        entityId: entityIdOf(address, accountAddress),
        field: 'blocked',
        expected: next,
      },
    ],
    REVALIDATE,
  )
}

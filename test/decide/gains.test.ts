import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Done } from '../../agents/agent.ts'
import { assessGain, rememberClaim } from '../../src/decide/gains.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { newDirectory } from '../support/directory.ts'
import { MARKET, proposalOf, TOKEN, workflowOf } from '../support/workflows.ts'

let journal: Journal
beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
})
afterEach(() => journal.close())

const realized = (assets: bigint) => ({ tokens: [{ token: TOKEN, assets }], gasWei: 3n, atMs: 1 })
const liquidation = workflowOf('succeeded', {
  id: 'l',
  opportunity: 'l',
  realized: { ...realized(-5n), claimId: 7n },
})
const settlement = (marketAddress: string = MARKET, claimId = '7') =>
  workflowOf('succeeded', {
    proposal: proposalOf({ input: { marketAddress, claimId } }),
    realized: realized(9n),
  })
const GAIN = { paid: '', received: '', gas: '', profit: '', profitUsdMicros: 1n, marked: true }
const assessed = async (workflow = settlement()) => {
  const seen: (readonly Done[])[] = []
  const gain = await assessGain(workflow, journal, (done) => {
    seen.push(done)
    return GAIN
  })
  return { gain, tokens: seen[0]?.map((each) => each.realized.tokens[0]?.assets) }
}

describe('a gain', () => {
  it('is of the liquidation and its settlement together', async () => {
    await journal.open(liquidation)
    await rememberClaim(liquidation, journal)
    expect(await assessed()).toEqual({ gain: GAIN, tokens: [-5n, 9n] })
    // Of each claim a value would stay for good.
    expect(await journal.getValue(`claim:31337:${MARKET}:7`)).toBeNull()
  })

  it('is not said of a claim of another market or number, or one that nobody remembers', async () => {
    await journal.open(liquidation)
    expect((await assessed()).gain).toBeNull()
    await rememberClaim(liquidation, journal)
    expect((await assessed(settlement(`0x${'00'.repeat(20)}`))).gain).toBeNull()
    expect((await assessed(settlement(MARKET, '8'))).gain).toBeNull()
  })

  it('is not said of a liquidation alone, which has only paid', async () => {
    expect((await assessed(liquidation)).gain).toBeNull()
  })
})

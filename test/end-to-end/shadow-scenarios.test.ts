import { createPublicClient, http } from 'viem'
import { expect, it } from 'vitest'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { SCENARIOS, type Scenario } from '../../sandbox/story/scenarios.ts'
import { shadow } from '../../src/cli/commands/shadow.ts'
import { createRoleSession, type RoleSession } from '../support/role-session.ts'

/** It goes on until this many workflows have their score, and one at least of each of these roles. */
const SCORED = 15
const ROLES_SCORED = ['liquidator', 'allocator', 'nav-reporter', 'asset-manager', 'rfq-bidder']

/** What the service's audit log holds of changes, each action once. */
async function audited({ sandbox: { info } }: RoleSession): Promise<ReadonlySet<string>> {
  const answer = await fetch(`${info.serviceUrl}/v1/audit-log?limit=100`, {
    headers: { authorization: `Bearer ${info.secretKey}` },
  })
  const { items } = (await answer.json()) as { items: readonly { action: string }[] }
  return new Set(items.map(({ action }) => action))
}

/** Of every role's signer, on the chain. */
const transactionCounts = ({ sandbox, config }: RoleSession) => {
  const chain = createPublicClient({ transport: http(sandbox.chain.rpcUrl, TO_CHAIN) })
  return Promise.all(config.agents.map(({ signer: { address } }) => chain.getTransactionCount({ address })))
}

async function score({ config: { directory } }: RoleSession): Promise<readonly { wouldHaveDone: number }[]> {
  let said = ''
  const nothing = () => {}
  const out = (text: string) => {
    said += text
  }
  const io = { out, err: nothing, outIsTty: false, errIsTty: false, env: {} }
  await shadow(['--directory', directory, '--json'], io)
  return said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** What troubles each role, all at once; what goes wrong for some seconds does so from the fourth second on. */
const TROUBLES: Scenario = {
  ...SCENARIOS.lively,
  markets: SCENARIOS['crash-with-congestion'].markets,
  rivalLiquidatorShare: SCENARIOS['crash-with-congestion'].rivalLiquidatorShare,
  lending: SCENARIOS['redemption-run'].lending,
  trade: SCENARIOS['rfq-competition'].trade,
  sourceFactor: SCENARIOS['source-off-by-1000'].sourceFactor,
  indexerStalls: SCENARIOS['indexer-stall'].indexerStalls,
  spells: { everyS: 4, forS: 1 },
}

it('signs nothing and changes nothing in shadow, and says what it would have done, whatever troubles its roles', async () => {
  const session = await createRoleSession(TROUBLES, 4)
  try {
    const before = await transactionCounts(session)
    const { keeper, until } = await session.begin('shadow')
    const scored = new Map<string, number>()
    await until((event) => {
      if (event.type === 'workflow' && event.state === 'shadowed')
        scored.set(event.role, (scored.get(event.role) ?? 0) + 1)
      const sum = [...scored.values()].reduce((all, count) => all + count, 0)
      return sum >= SCORED && ROLES_SCORED.every((role) => scored.has(role))
    })
    await keeper.stop({ drainMs: 0 })
    expect(session.sandbox.kms.calls()).toEqual([])
    expect(await audited(session)).toEqual(new Set(['prepareWorkflow', 'createStreamToken']))
    expect(await transactionCounts(session)).toEqual(before)
    const done = (await score(session)).reduce((sum, { wouldHaveDone }) => sum + wouldHaveDone, 0)
    expect(done).toBeGreaterThanOrEqual(SCORED)
  } finally {
    await session.stop()
  }
})

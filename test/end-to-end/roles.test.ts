import { createPublicClient, erc20Abi, http } from 'viem'
import { afterAll, beforeAll, expect, it, onTestFailed } from 'vitest'
import { SETTINGS_TYPES } from '../../agents/asset-manager/declared/settings-step.ts'
import { agents } from '../../agents/index.ts'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { SCENARIOS } from '../../sandbox/story/scenarios.ts'
import { assertContiguous } from '../../src/accounts/assert-contiguous.ts'
import { balancesOf } from '../../src/accounts/balances.ts'
import { periodOf } from '../../src/accounts/period.ts'
import { reasonText } from '../../src/guard/explain/reason-text.ts'
import { readJournal } from '../../src/journal/open.ts'
import { readAccounts } from '../../src/journal/sqlite/accounts.ts'
import { checkAccounts } from '../../src/keeper/money/check-accounts.ts'
import { createRoleSession, type RoleSession } from '../support/role-session.ts'
import { WAIT_MS_MAX } from '../support/until.ts'

/** What an owner sets is decided by the asset manager of a vault that it owns, and none in the sandbox is: declared.test.ts. */
const SETTINGS: ReadonlySet<string> = new Set(SETTINGS_TYPES)
/** What the roles are for; each must come from an agent's own decision. */
const WORKFLOW_TYPES = agents
  .flatMap(({ byHand, workflowTypes }) => (byHand ? [] : workflowTypes))
  .filter((type) => !SETTINGS.has(type))
/** Who is worked by hand does nothing here. */
const decides = (name: string) => agents.some(({ role, byHand }) => role === name && byHand !== true)
/**
 * Shorter offers, three of them always open, and rivals who improve: in this seed's first half a minute one oracle goes stale,
 * and lots are lost and won.
 */
const BUSIER = {
  ...SCENARIOS.busy,
  trade: { ...SCENARIOS.busy.trade, openS: [12, 16], overlapS: 10, graceS: 5, improves: 0.9 },
  // So that what is paid for bytes is in every sum below; the other tests are on a chain that charges gas alone.
  isOpStack: true,
} as const
/** Names what is missing before the test itself ends; all is there after some fifty blocks. */
const BLOCKS_MAX = 300n
/** As its world waits for it, a busy machine takes longer. */
const RUN_MS_MAX = 10 * WAIT_MS_MAX

async function pagesOf({ directory }: RoleSession['config']) {
  const accounts = readAccounts(directory)
  try {
    return await accounts.pages()
  } finally {
    await accounts.close()
  }
}

/** Accounts that have gone on since their opening: of signers, vaults and funds. */
const countsOf = (pages: Awaited<ReturnType<typeof pagesOf>>) =>
  ([undefined, 'vault', 'fund'] as const).map(
    (owner) =>
      new Set(periodOf(pages, 0).flatMap(({ page }) => (page.owner === owner ? page.signer : []))).size,
  )

/** Opening, all lines and closing of each account, and the chain at the block that each closes at, to the base unit. */
async function expectAccountsToSum({ config, sandbox }: RoleSession): Promise<void> {
  const pages = await pagesOf(config)
  assertContiguous(pages)
  const period = periodOf(pages, 0)
  const client = createPublicClient({ transport: http(sandbox.info.rpcUrl, TO_CHAIN) })
  for (const row of await checkAccounts(balancesOf(period), config)) {
    const { role, symbol, token, opening, received, paid, gas, unexplained, closing, onChain } = row
    const [address, blockNumber] = [row.signer, row.block]
    const seen =
      token === null
        ? client.getBalance({ address, blockNumber })
        : client.readContract({
            address: token,
            abi: erc20Abi,
            functionName: 'balanceOf',
            args: [address],
            blockNumber,
          })
    expect([role, symbol, unexplained, opening + received + paid + gas]).toEqual([role, symbol, 0n, closing])
    expect([role, symbol, await seen, onChain]).toEqual([role, symbol, closing, closing])
  }
}

/** What `explain` says of a figure that a person cannot read: without its token, by the name that code has for it, or by a number alone. */
const RECORDS_MAX = 10_000
const UNREADABLE = /base unit|[a-z]{2}[A-Z].* = | = -?\d{9,}(?![\da-f])/

/** Every figure of every decision of a run, as `explain` writes it. */
async function explained({ config }: RoleSession): Promise<readonly string[]> {
  return readJournal(config, async (journal) => {
    const [workflows, rows] = await Promise.all([
      journal.list(RECORDS_MAX),
      journal.decisions('', RECORDS_MAX),
    ])
    const all = [...workflows.map(({ role, proposal }) => ({ role, ...proposal })), ...rows]
    return all.flatMap((one) =>
      reasonText(one, config.deployment).map(([name, text]) => `${one.role} ${name} = ${text}`),
    )
  })
}

let session: RoleSession
beforeAll(async () => {
  session = await createRoleSession(BUSIER, 459)
})
afterAll(() => session.stop())

it("brings every workflow type of every role to success by the agents' own decisions, each role with its own key", {
  timeout: RUN_MS_MAX,
}, async () => {
  expect(WORKFLOW_TYPES).toHaveLength(18)
  // The sandbox set the stage with the asset manager's key: what is not final yet would be nobody's in its accounts.
  const client = createPublicClient({ transport: http(session.sandbox.info.rpcUrl, TO_CHAIN) })
  const begunAt = await client.getBlockNumber()
  const final = async () => (await client.getBlock({ blockTag: 'finalized' })).number
  await expect.poll(final).toBeGreaterThanOrEqual(begunAt)
  const { keeper, until, page } = await session.begin('live')
  const missing = new Set<string>(WORKFLOW_TYPES)
  onTestFailed(() => void process.stderr.write(`missing: ${[...missing].join(', ')}\n`))
  const all = until((event) => {
    if (event.type === 'workflow' && event.state === 'succeeded') missing.delete(event.workflowType)
    return missing.size === 0
  })
  const deadline = Promise.withResolvers<void>()
  const unwatch = client.watchBlockNumber({
    onBlockNumber: (number) => number > begunAt + BLOCKS_MAX && deadline.resolve(),
  })
  await Promise.race([all, deadline.promise])
  unwatch()
  expect([...missing]).toEqual([])
  const series = (await page('/metrics')).split('\n').filter((line) => /^\w/.test(line))
  expect(series.length).toBeLessThan(2_000)

  const { agents: staffed, deployment } = session.config
  // Of whom people work nothing moves, and a quiet account gets no page but its first.
  const moving = [staffed.filter(({ role }) => decides(role)), deployment.vaults, deployment.funds]
  const counted = async () => countsOf(await pagesOf(session.config))
  await expect.poll(counted).toEqual(moving.map(({ length }) => length))
  await keeper.stop({ drainMs: 0 })
  await expectAccountsToSum(session)
  const { workflows } = keeper.summary()
  for (const [role, { succeeded, quarantined }] of Object.entries(workflows)) {
    expect([role, succeeded > 0, quarantined]).toEqual([role, decides(role), 0])
  }
  const figures = await explained(session)
  expect(new Set(figures.map((line) => line.split(' ')[0])).size).toBe(
    staffed.filter(({ role }) => decides(role)).length,
  )
  expect(figures.filter((line) => UNREADABLE.test(line))).toEqual([])
  const signedWith = session.sandbox.kms
    .calls()
    .flatMap(({ operation, keyId }) => (operation === 'Sign' ? [keyId] : []))
  const keys = session.config.agents.flatMap(({ role, signer }) =>
    decides(role) && signer.kind === 'kms' ? [signer.keyId] : [],
  )
  expect(new Set(signedWith)).toEqual(new Set(keys))
})

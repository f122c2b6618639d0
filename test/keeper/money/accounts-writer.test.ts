import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { RolekeeperError } from '../../../src/errors.ts'
import { type Accounts, openAccounts } from '../../../src/journal/sqlite/accounts.ts'
import { createAccountsWriter } from '../../../src/keeper/money/accounts-writer.ts'
import { pricesOf } from '../../../src/keeper/money/shadow-scores.ts'
import { createScene, type Scene } from '../../guard/scene.ts'
import { newDirectory } from '../../support/directory.ts'

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(() => scene?.stop())

let accounts: Accounts
beforeEach(() => {
  const directory = newDirectory()
  accounts = openAccounts(directory)
  return async () => {
    await accounts.close()
    rmSync(directory, { recursive: true })
  }
})

it('raises an alarm where the chain left a block that accounts go on from, and says when they go on', async () => {
  const { liquidator, deployment, nodes } = scene
  const reported: string[] = []
  let heard = () => {}
  const report = (what: string) => {
    reported.push(what)
    heard()
  }
  const next = (run: () => void) =>
    new Promise<void>((resolve) => {
      heard = resolve
      run()
    })
  const page = async (isLeft: boolean) => {
    const last = await accounts.last(nodes.chainId, liquidator)
    return isLeft && last !== null
      ? { ...last, to: { ...last.to, hash: `0x${'99'.repeat(32)}` as const } }
      : last
  }
  let isLeft = false
  let nowMs = 0
  const kept = createAccountsWriter(
    {
      role: 'liquidator',
      signer: liquidator,
      worksFor: undefined,
      deployment,
      pricesUsdMicros: { sUSD: 1_000_000n },
      nativePriceUsdMicros: 3_000_000_000n,
    },
    {
      nodes,
      journal: { byNonce: async () => null },
      accounts: { last: () => page(isLeft), add: accounts.add },
      clock: { ...systemClock, monotonicMs: () => nowMs },
      log: { info: report, warn: report },
      alarm: ({ code, facts }: RolekeeperError) => report(`${code} ${facts.signer}`),
      metrics: {
        accounted: () => report('accounted'),
        accountsForked: (role, many) => report(`${role}: ${many} forked`),
      },
    },
  )
  const look = async () => {
    await scene.world.client.mine({ blocks: 70 })
    nowMs += 60_000
    await next(kept.begin)
    return reported.splice(0)
  }
  expect(await look()).toEqual(['liquidator: 0 forked'])
  isLeft = true
  expect(await look()).toEqual(['liquidator: 1 forked', `accounts.forked ${liquidator.toLowerCase()}`])
  isLeft = false
  expect(await look()).toEqual(['accounts go on where the chain had left them', 'liquidator: 0 forked'])
})

it('counts a token at the one price that the deployment states, whatever each policy counts it at in its limits', () => {
  const priced = (price: bigint | undefined, limit: bigint) => {
    const assets = scene.deployment.assets.map((each) =>
      each.symbol === 'sUSD' && price !== undefined ? { ...each, price } : each,
    )
    const ruleset = {
      deployment: { ...scene.deployment, assets },
      limits: { pricesUsdMicros: { sUSD: limit } },
    }
    return pricesOf({ policy: { fees: { nativePriceUsdMicros: 1n } }, ruleset }).pricesUsdMicros
  }
  for (const limit of [980_000n, 1_000_000n]) {
    expect(priced(1_010_000n, limit)).toEqual({ sUSD: 1_010_000n })
    expect(priced(undefined, limit)).toEqual({ sUSD: limit })
  }
})

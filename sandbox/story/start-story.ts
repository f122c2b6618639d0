import type { Hex } from 'viem'
import type { Clock } from '../../src/clock.ts'
import type { SandboxKeys } from '../cast/keys.ts'
import type { Chain } from '../chain/chain.ts'
import type { Transactions } from '../chain/transactions.ts'
import type { Deployment } from '../deploy/deploy.ts'
import type { Canonical } from '../indexer/canonical.ts'
import type { Fault } from '../service/faults/faults.ts'
import type { SandboxService } from '../service/service.ts'
import { createExitStory } from './exit-story.ts'
import { createFundStory } from './fund-story.ts'
import { createLendingStory } from './lending-story.ts'
import { type NavSources, startNavSources } from './nav-sources.ts'
import { createPartnerStory } from './partner-story.ts'
import { startRivalLiquidator } from './rival-liquidator.ts'
import { badSpellS, type Scenario } from './scenarios.ts'
import { createTradeStory } from './trade-story.ts'
import { type Beginning, type SideStory, startWeather, type Weather } from './weather.ts'

/** What the story is played with and on. */
type StoryOptions = {
  readonly scenario: Scenario
  /** Of all chance; absent, the chain's id for the side stories and the remembered one for the weather. */
  readonly seed: number | undefined
  readonly begins: Beginning
  readonly clock: Clock
  readonly rpcUrl: string
  readonly chain: Chain
  readonly chainId: number
  readonly deployment: Deployment
  readonly keys: SandboxKeys
  readonly transactions: Transactions
  readonly canonical: Canonical
  readonly service: SandboxService
  /** What the service does wrong whatever the scenario. */
  readonly fault: Fault
  /** Of the sandbox: gets the files of the custodians. */
  readonly directory: string
  readonly weatherFile: string
  readonly onTrouble: (cause: unknown) => void
}

/** What happens by itself. */
type Story = {
  readonly sources: NavSources
  readonly weather: Weather
}

/**
 * Start what happens by itself: value sources, the weather with the stories beside it, and the rival liquidator.
 * Unless it begins paused, the first tick is indexed by then: nobody finds markets without borrowers, whose cash an
 * allocator would call back before there are any.
 */
export async function startStory(
  options: StoryOptions,
  started: <Part extends { readonly stop: () => Promise<void> }>(part: Part) => Part,
): Promise<Story> {
  const { scenario, rpcUrl, chainId, deployment, keys, transactions, canonical, onTrouble } = options
  const seed = options.seed ?? chainId
  const { recoveryFund, rivalFund, sUSD } = deployment.contracts
  const { directory } = options
  const sources = started(await startNavSources({ rpcUrl, deployment, seed, scenario, directory }))
  const sideStories = [
    ...[recoveryFund, rivalFund].map(({ address }) =>
      createFundStory(rpcUrl, { fundAddress: address, quoteAsset: sUSD.address }, keys),
    ),
    createTradeStory({ deployment, keys, seed, trade: scenario.trade, snapshot: canonical.snapshot }),
    createLendingStory(rpcUrl, deployment, keys, scenario.lending),
    createExitStory(rpcUrl, deployment, keys),
    createPartnerStory(rpcUrl, deployment, keys, seed, options.service.save),
    sources.story,
    ...(scenario.indexerStalls ? [createStall(options)] : []),
  ]
  const weather = started(
    startWeather({ ...options, sideStories, file: options.weatherFile }, options.begins),
  )
  const share = scenario.rivalLiquidatorShare
  const isPaused = weather.isResting
  started(startRivalLiquidator({ canonical, keys, transactions, seed, share, isPaused, onTrouble }))
  if (options.begins !== 'paused') await indexed(await weather.opened, options)
  return { sources, weather }
}

/** Wait until a transaction is in an indexed block. */
function indexed(hash: Hex, { canonical, onTrouble }: StoryOptions): Promise<void> {
  return new Promise((resolve) => {
    const look = async () => {
      if ((await canonical.transaction(hash)) === null) return
      stopLooking()
      resolve()
    }
    // A look that fails is followed by the next block's.
    const stopLooking = canonical.onSnapshot(() => void look().catch(onTrouble))
    look().catch(onTrouble)
  })
}

/** The story of an indexer that stands still through each bad spell: it serves what it knew when the spell began. */
const createStall =
  ({ service, scenario, fault }: StoryOptions): SideStory =>
  async (_nowS, tick) => {
    const lagMs = badSpellS(scenario, tick) * 1_000
    service.setFault(lagMs === 0 ? fault : { ...fault, indexer: { lagMs, admits: true } })
    return []
  }

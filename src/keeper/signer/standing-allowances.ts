import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import { pinsOf } from '../../guard/policy/deployment.ts'
import { allowanceView } from '../../guard/reads/views.ts'
import type { Log } from '../../ops/log.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { StandingAllowance } from '../../workflow/workflow.ts'
import { createCachedRead } from '../cached-read.ts'

/** What contracts of a deployment may take from one signer, whoever allowed it, and whatever became of that. */
export type StandingAllowances = {
  /** What stands now, of what stood at the last look at all. Throws RolekeeperError `node.*` and `allowance.not_read`. */
  readonly now: () => Promise<readonly StandingAllowance[]>
  /** Ask already, beside what takes its time before a clearance; who asks within a second shares the answer. */
  readonly ahead: () => void
  /** Ask for these each time too: what workflows of ours allow may land, and stand, between two looks. */
  readonly expect: (pairs: readonly Pair[]) => void
  /** Look at all if that is due, and do not wait for it. */
  readonly begin: () => void
}

/** All pairs of an asset and a contract are looked at so often; those that stand at each clearance. */
const LOOK_EVERY_MS = 60_000
/** Where the looks fail for so long, what stands is not known, and nothing is cleared: one token that answers no more hides all. */
const LOOK_AGE_MS_MAX = 300_000
/** What was asked ahead is as old as this at most. No workflow ends by a final transaction in it, and what is in flight counts by itself. */
const AHEAD_MS = 1_000

type Pair = Pick<StandingAllowance, 'token' | 'spender'>

/** Look after the allowances of a signer: each asset of the deployment, and each contract that is none. */
export function createStandingAllowances(
  owner: Address,
  deployment: Deployment,
  { nodes, clock, log }: { readonly nodes: Pick<Nodes, 'calls'>; readonly clock: Clock; readonly log: Log },
): StandingAllowances {
  const assets = deployment.assets.map(({ address }) => address)
  const pinned = [...new Set(pinsOf(deployment).map(({ address }) => address))]
  const spenders = pinned.filter((address) => !assets.includes(address))
  const pairs = assets.flatMap((token) => spenders.map((spender) => ({ token, spender })))
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const look = async () => {
    const found = await standingOf(owner, pairs, nodes)
    lookedAtMs = clock.monotonicMs()
    return found
  }
  const all = createCachedRead(look, {
    clock,
    everyMs: () => LOOK_EVERY_MS,
    onFailed: (error) => log.warn('could not look for allowances', { signer: owner }, error),
  })
  const expected = new Map<string, Pair>()
  const keyed = (pairs: readonly Pair[]) =>
    pairs.map(({ token, spender }) => [`${token}:${spender}`, { token, spender }] as const)
  const ask = async () => {
    all.begin()
    const isKnown = clock.monotonicMs() - lookedAtMs < LOOK_AGE_MS_MAX
    const known = new Map([...keyed((isKnown ? all.last() : null) ?? (await all.get())), ...expected])
    return known.size === 0 ? [] : standingOf(owner, [...known.values()], nodes)
  }
  let early: { readonly atMs: number; readonly asked: ReturnType<typeof ask> } | undefined
  const shared = () =>
    early !== undefined && clock.monotonicMs() - early.atMs < AHEAD_MS ? early.asked : undefined
  return {
    now: () => shared() ?? ask(),
    ahead: () => {
      if (shared() !== undefined) return
      // Behind what its caller has just begun.
      early = { atMs: clock.monotonicMs(), asked: nextTurn().then(ask) }
      // Who shares it hears of it, and who comes later asks anew.
      early.asked.catch(() => {
        early = undefined
      })
    },
    expect: (allowed) => {
      const isNew = keyed(allowed).some(([key]) => !expected.has(key))
      for (const [key, pair] of keyed(allowed)) expected.set(key, pair)
      if (isNew) early = undefined
    },
    begin: all.begin,
  }
}

async function standingOf(
  owner: Address,
  pairs: readonly Pair[],
  nodes: Pick<Nodes, 'calls'>,
): Promise<readonly StandingAllowance[]> {
  const views = pairs.map(({ token, spender }) => allowanceView(token, owner, spender))
  const answers = await nodes.calls(views.map(({ call }) => call))
  return pairs.flatMap(({ token, spender }, index) => {
    const assets = views[index]?.decode(answers[index]) ?? null
    if (assets === null) {
      throw new RolekeeperError(
        'allowance.not_read',
        `${token} does not say what ${spender} may take from ${owner}.`,
        { fix: 'see whether it is a token; what cannot be read may stand.', retry: 'later' },
      )
    }
    return assets === 0n ? [] : [{ token, spender, assets }]
  })
}

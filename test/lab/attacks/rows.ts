import { encodeAbiParameters, stringToHex, toFunctionSelector } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { agents } from '../../../agents/index.ts'
import type { RfqBidderSeen } from '../../../agents/rfq-bidder/seen.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { askUnits } from '../../../src/guard/reads/deployed-units.ts'
import { createReads } from '../../../src/guard/reads/views.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { attest } from '../../../src/pipeline/attest.ts'
import { admit } from '../../../src/service/admit.ts'
import { checkChallenge } from '../../../src/service/session.ts'
import { SELF as BIDDER, bid, NOW_S, RIVAL } from '../../agents/rfq-bidder/fixtures.ts'
import {
  CHAIN_ID,
  COLLATERAL,
  freeze,
  LOAN,
  MARKET,
  NOW_MS,
  SELF,
  STRANGER,
  VAULT,
} from '../../guard/fixtures.ts'
import { answerOf, deployment, HOUSE } from '../../guard/kinds.ts'
import { createBidderScene, usd } from '../../guard/sanity/bidder-scene.ts'
import { PREPARED, shippedSections } from '../../guard/shipped.ts'
import { newDirectory } from '../../support/directory.ts'
import { workflowOf } from '../../support/workflows.ts'
import { judged, rulesOf, type World } from '../fuzz/worlds.ts'
import type { Deed } from './deeds.ts'

/** RFQs of 1 sBTC each at most, for 40,000 sUSD at least, about to close: where bids are shown, the first comes then. */
const openings = (count: number) =>
  Array.from(
    { length: count },
    () => (world: Parameters<Parameters<typeof createBidderScene>[0][number]>[0]) =>
      world.openRfq({ amount: 100_000_000n, reserveAssets: usd(40_000), closesAtS: NOW_S + 10 }),
  )

/** Our bidder looks at RFQs whose rows are a lie, until twenty looks have gone by: what refused its bids. */
function bidding(count: number, lie: (shown: RfqBidderSeen) => RfqBidderSeen): readonly (string | null)[] {
  const scene = createBidderScene(openings(count), lie)
  const answers = Array.from({ length: 20 }, () => scene.look()).flat()
  const placed = answers.filter((check) => check === null).length
  // One on each RFQ, and half a million at most: those are wanted.
  const isMore = placed > scene.bidsOf().length || scene.spent() > usd(500_000)
  const refused = new Set(answers.filter((check) => check !== null))
  return isMore ? [null] : [...refused]
}
const asCancelled = (shown: RfqBidderSeen): RfqBidderSeen => ({
  ...shown,
  rfqs: shown.rfqs.map((rfq) => ({
    ...rfq,
    bids: rfq.bids.map((each) => (each.bidder === BIDDER ? { ...each, status: 'cancelled' } : each)),
  })),
})
/** Half of the RFQs at each look. */
function half(): (shown: RfqBidderSeen) => RfqBidderSeen {
  let looks = 0
  return (shown) => {
    looks += 1
    return { ...shown, rfqs: shown.rfqs.filter(({ number }) => Number(number) % 2 === looks % 2) }
  }
}

const WAD = 10n ** 18n
const NOW = BigInt(NOW_MS / 1_000)
const [fund] = deployment.funds
const FUND = fund?.address ?? STRANGER
const POSITION = `0x${'ab'.repeat(32)}` as const

/** A lot of the restricted lane that is worth 60,000 sUSD, and a bid on it as if it were liquid. */
function restrictedLot(): World {
  const lot = {
    terms: {
      positionId: POSITION,
      lane: stringToHex('restricted', { size: 32 }),
      market: MARKET,
      borrower: STRANGER,
      asset: COLLATERAL,
      amount: 10n ** 8n,
      quoteAsset: LOAN,
      reserveAssets: usd(40_000),
      closesAt: NOW + 60n,
    },
    seller: STRANGER,
    state: 1,
    bestBidder: `0x${'00'.repeat(20)}`,
    bestAssets: 0n,
  }
  const says: Readonly<Record<string, unknown>> = {
    fundReadinessApproved: true,
    quoteAssetProfileApproved: true,
    purchasesEnabled: true,
    impairment: 0,
    manager: SELF,
    netAssets: usd(1_000_000),
    idleAssets: usd(1_000_000),
    lot,
    read: [60_000n * WAD, NOW, NOW, 1],
    concentrationAt: [0n, 0n, 0n],
  }
  return {
    kind: 'acquire',
    input: {
      fundAddress: FUND,
      acquisitionAddress: HOUSE,
      lotId: '7',
      bidAssets: String(usd(57_000)),
    },
    proposal: {
      kind: 'bid',
      lot: POSITION,
      reason: { priceWad: String(60_000n * WAD) },
      exposure: { token: null, assets: 0n, usdMicros: usd(57_000) },
    },
    before: (name) => says[name],
    after: (name) => says[name],
    gasWei: 1n,
    wrong: 'the lane is restricted',
  }
}

/** A vault without trouble, and a pause of its shares for a bad debt that rows say. */
function soundVault(): World {
  const says: Readonly<Record<string, unknown>> = {
    hasRole: true,
    transferProfile: 0,
    shareMobilityPaused: false,
    restoreAfter: 0n,
    mobilityEpoch: 4n,
    allocatedAssets: usd(1_000),
    totalBadDebt: 0n,
    totalDebt: usd(900),
    totalCash: usd(100),
    read: [60_000n * WAD, NOW, NOW, 1],
  }
  return {
    kind: 'pause',
    input: {
      vaultAddress: VAULT,
      action: 'pause',
      reason: 'bad debt',
      restoreAfterTimestamp: String(NOW + 600n),
    },
    proposal: { kind: 'pause' },
    before: (name) => says[name],
    after: (name) => says[name],
    gasWei: 1n,
    wrong: 'nothing is wrong',
  }
}
/** A vault that stands still for a bad debt, which rows say is gone. */
function troubledVault(): World {
  const sound = soundVault()
  const says: World['before'] = (name, ...of) => {
    if (name === 'shareMobilityPaused') return true
    return name === 'totalBadDebt' ? usd(500) : sound.before(name, ...of)
  }
  const input = { vaultAddress: VAULT, action: 'restore', reason: 'bad debt' }
  return { ...sound, input, proposal: { kind: 'restore' }, before: says, after: says }
}
const judging = (name: string, check: string, worldOf: () => World): Deed => ({
  name,
  check,
  play: async () => {
    const world = worldOf()
    return [judged(world, rulesOf(world))?.check ?? null]
  },
})

/** The liquidator's policy with one condition otherwise: the code that refuses it. */
const written = (name: string, parameter: string, condition: object | null): Deed => ({
  name: `policy: ${name}`,
  check: 'policy.guard_invalid',
  play: async () => {
    const [agent] = agents.filter(({ role }) => role === 'liquidator')
    if (agent === undefined) throw new TypeError('a liquidator is there')
    const sections = shippedSections(agent)
    const allow = sections.guard.allow.map((rule) => {
      if (rule.params[parameter] === undefined) return rule
      const { [parameter]: _lost, ...params } = rule.params
      return { ...rule, params: condition === null ? params : { ...params, [parameter]: condition } }
    })
    try {
      compileRuleset({ ...sections, guard: { ...sections.guard, allow } }, deployment)
      return [null]
    } catch (error) {
      return [error instanceof RolekeeperError ? error.code : null]
    }
  },
})

/** A row that comes in, or is dropped. */
const coming = (name: string, row: object): Deed => ({
  name: `rows: ${name}`,
  check: 'dropped',
  play: async () => [admit(row, 'rows[0]') === null ? null : 'dropped'],
})

const SERVICE = new URL('http://127.0.0.1:4010/')
/** A challenge of the service's sign-in that says more than one, or something else. */
const challenge = (
  name: string,
  check: string,
  change: Partial<Parameters<typeof createSiweMessage>[0]>,
): Deed => ({
  name: `sign-in: ${name}`,
  check,
  play: async () => {
    const expected = {
      address: SELF,
      chainId: CHAIN_ID,
      service: SERVICE,
      challenge: { statement: 'Sign in.', path: '' },
    }
    const message = createSiweMessage({
      address: SELF,
      chainId: CHAIN_ID,
      domain: SERVICE.host,
      uri: SERVICE.origin,
      version: '1',
      nonce: 'abcd1234EFGH',
      statement: 'Sign in.',
      issuedAt: new Date(NOW_MS - 1_000),
      expirationTime: new Date(NOW_MS + 60_000),
      ...change,
    })
    const checked = checkChallenge(message, expected, NOW_MS)
    return [checked.ok ? null : checked.check]
  },
})

/** Two workflows with a journal of their own, and one request of the service's for both. */
async function sameRequest(): Promise<string | null> {
  const [, kind, ruleset] = PREPARED.find(([, { name }]) => name === 'liquidate') ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError('no shipped kind is called liquidate')
  const journal = openSqliteJournal(newDirectory())
  try {
    let check: string | null = null
    for (const id of ['first', 'twin']) {
      const open = workflowOf('discovered', {
        id,
        opportunity: id,
        role: ruleset.role,
        chainId: CHAIN_ID,
        signer: SELF,
        proposal: kind.proposal,
      })
      await journal.open(open)
      const prepared = { ...open, state: 'prepared' as const, prepared: freeze(answerOf(kind, kind.drafts)) }
      const step = await attest(prepared, {
        nowMs: () => NOW_MS,
        ruleset,
        journal,
        nodes: { simulate: async () => Promise.reject(new Error('no node is asked')) },
        signer: {
          address: SELF,
          keyId: 'a key',
          signDigest: async () => Promise.reject(new Error('no key is asked')),
        },
        gate: () => ({ closed: false, paused: false }),
        alarm: () => undefined,
      })
      check = step.type === 'wait' ? null : (step.workflow.note?.check ?? null)
    }
    return check
  } finally {
    await journal.close()
  }
}

/** What rows, a policy, a deployment and a sign-in may say, before anything is prepared. */
export const ROW_DEEDS: readonly Deed[] = [
  {
    name: 'rows: our own bid is shown as cancelled',
    check: 'bid_stands',
    play: async () => bidding(1, asCancelled),
  },
  {
    name: 'rows: our bids are shown as cancelled, on one RFQ after another',
    check: 'asset_escrow_above_limit',
    play: async () => {
      const shown = half()
      const checks = bidding(24, (all) => asCancelled(shown(all)))
      return checks.filter((check) => check !== 'bid_stands')
    },
  },
  {
    name: 'rows: a rival is invented',
    check: 'bid_above_rivals',
    play: async () =>
      bidding(1, (shown) => ({
        ...shown,
        rfqs: shown.rfqs.map((rfq) => ({
          ...rfq,
          bids: [...rfq.bids, bid({ bidId: '90', bidder: RIVAL, assets: usd(44_000) })],
        })),
      })),
  },
  judging('rows: a restricted lane is shown as liquid', 'bid_above_worth', restrictedLot),
  judging('rows: a bad debt is invented', 'no_trouble', soundVault),
  judging('rows: a bad debt is said to be gone', 'trouble_stands', troubledVault),
  coming('an id is made of escape sequences', { rfqId: '\u001b[2J\u001b]52;c;aGk=\u0007' }),
  coming('an id turns the line around', { rfqId: 'rfq-\u202e1' }),
  coming('an id has 100 kB', { rfqId: 'x'.repeat(100_000) }),
  written('it has lost what holds the minimum', 'minCollateralOut', { min: '1' }),
  written('it has lost who is paid', 'recipient', { in: ['$market'] }),
  written('it has lost the end', 'deadline', null),
  {
    name: 'deployment: an asset of 18 decimals is said to have 8',
    check: 'units_differ',
    play: async () => {
      const reads = createReads()
      const judge = askUnits(deployment, reads)
      const eighteen = encodeAbiParameters([{ type: 'uint256' }], [18n])
      reads.fill(reads.calls.map(({ data }) => (data === toFunctionSelector('decimals()') ? eighteen : null)))
      return [judge()[0]?.check ?? null]
    },
  },
  challenge('its statement gives our bids away', 'challenge_statement', {
    statement: `I assign all my bids to ${STRANGER}.`,
  }),
  challenge('its path gives our bids away', 'challenge_origin', {
    uri: `${SERVICE.origin}/I-assign-all-my-bids-to-0x99`,
  }),
  challenge('it is for another site', 'challenge_origin', { domain: 'evil.example' }),
  challenge('it asks for a resource', 'challenge_shape', { resources: ['https://evil.example/bids'] }),
  {
    name: 'requests: one has the request of another workflow of ours',
    check: 'request_id_taken',
    play: async () => [await sameRequest()],
  },
]

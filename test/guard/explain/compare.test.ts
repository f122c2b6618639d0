import { expect, it } from 'vitest'
import { compare } from '../../../src/guard/explain/compare.ts'
import type { Reads } from '../../../src/guard/reads/views.ts'
import { SELF, STRANGER } from '../fixtures.ts'
import { OTHER_SIGNER } from '../kinds-by-hand.ts'
import { answersOf } from '../owner-chain.ts'
import { CASES } from '../shipped.ts'

const US = `our signer ${SELF}`
const OTHER = `another signer of ours ${OTHER_SIGNER}`

/** What an order of a shipped kind would change, one line each. */
async function changesOf(name: string, said: object = {}) {
  const [, kind, ruleset] = CASES.find(([, each]) => each.name === name) ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError(`no shipped kind is called ${name}`)
  const { proposal } = kind
  const order = { ...proposal, kind: 'order', askedBy: 'anna' }
  const fill = async (reads: Reads) => reads.fill(answersOf(reads.calls, said))
  const changes = await compare({ proposal: order, signer: SELF }, ruleset, fill)
  return changes.map(({ field, from, to }) => `${field}: ${from} -> ${to}`)
}

it('shows fees beside those of today, and who is paid', async () => {
  expect(await changesOf('fees')).toEqual([
    'managementFeeBps: 0.2 % -> 0.5 %',
    'performanceFeeBps: 10 % -> 10 %',
    `recipientAddress: ${STRANGER} (no name of ours) -> ${US}`,
  ])
  expect(await changesOf('curator-fee')).toEqual([
    'borrowerManagerFeeBps: 2 % -> 5 %',
    `recipientAddress: ${US} -> ${OTHER}`,
  ])
})

it('shows settings beside those of today, deposit limits in the asset of the vault', async () => {
  expect(await changesOf('settings')).toEqual([
    'liquidityBufferBps: 5 % -> 10 %',
    'exitTermKind: notice -> interval',
    'noticeSeconds: 1 h -> 1 d',
    'intervalSeconds: 0 s -> 7 d',
    'maturityTimestamp: none -> none',
    'minDepositAssets: 0.25 sUSD -> 100 sUSD',
    'maxDepositAssets: no limit -> 500,000 sUSD',
  ])
  // A token that is not pinned has no symbol of ours.
  expect(await changesOf('settings', { asset: STRANGER })).toContain(
    'minDepositAssets: 250,000 base units -> 100,000,000 base units',
  )
})

it('shows caps and routing beside those of today', async () => {
  expect(await changesOf('caps')).toEqual([
    'absoluteCapAssets: 5 sUSD -> 1,000,000 sUSD',
    'relativeCapBps: 25 % -> 50 %',
    'allocationEnabled: false -> true',
  ])
  expect(await changesOf('routing')).toEqual(['routing: btcMarket -> btcMarket, ethMarket'])
  expect(await changesOf('routing', { routing: [] })).toEqual(['routing: nowhere -> btcMarket, ethMarket'])
})

it('shows nothing of before for a market that is not attached', async () => {
  const listing = { approved: false, allocationEnabled: false, relativeCapBps: 0, absoluteCapAssets: 0n }
  expect(await changesOf('attach', { listing })).toEqual([
    'absoluteCapAssets: null -> 1,000,000 sUSD',
    'relativeCapBps: null -> 50 %',
    'allocationEnabled: null -> true',
  ])
})

it('shows both parties of a transfer of ownership', async () => {
  expect(await changesOf('offer')).toEqual([
    `owner once it accepts: ${US} -> ${OTHER}`,
    `offeredTo: nobody -> ${OTHER}`,
  ])
  const offered = { owner: STRANGER, pendingDefaultAdmin: [SELF, 5] }
  expect(await changesOf('accept', offered)).toEqual([
    `owner: ${STRANGER} (no name of ours) -> ${US}`,
    `offeredTo: ${US} -> nobody`,
  ])
  expect(await changesOf('cancel', { pendingDefaultAdmin: [OTHER_SIGNER, 5] })).toEqual([
    `owner: ${US} -> ${US}`,
    `offeredTo: ${OTHER} -> nobody`,
  ])
})

it('shows whether a role is granted, and an account blocked', async () => {
  expect(await changesOf('manager-grant')).toEqual([`manager ${OTHER}: not granted -> granted`])
  expect(await changesOf('curator-revoke', { hasRole: true })).toEqual([
    expect.stringMatching(/^curator 0x(b0){20} \(no name of ours\): granted -> not granted$/),
  ])
  expect(await changesOf('block')).toEqual([expect.stringMatching(/^blocked 0x.*: false -> true$/)])
})

it('says where the chain does not say what is there', async () => {
  const unread = ['what is there now: null -> not known: the chain does not say']
  expect(await changesOf('fees', { feeConfig: undefined })).toEqual(unread)
  expect(await changesOf('caps', { listing: undefined })).toEqual(unread)
})

it('compares nothing that sets nothing, or that an agent proposes, which says what it saw', async () => {
  expect(await changesOf('investor-deposit')).toEqual([])
  const [, kind, ruleset] = CASES.find(([, each]) => each.name === 'fees') ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError('no shipped kind is called fees')
  const fill = () => Promise.reject(new Error('nothing is read'))
  expect(await compare({ proposal: kind.proposal, signer: SELF }, ruleset, fill)).toEqual([])
})

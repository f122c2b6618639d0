import type { Address, Hex } from 'viem'
import type { SimulationRequest, SimulationResult } from '../../../src/chain/nodes.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { checkFinal } from '../../../src/guard/checks/check-final.ts'
import { recheck } from '../../../src/guard/checks/recheck.ts'
import { recheckPublic } from '../../../src/guard/checks/recheck-public.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import { CHAIN_ID, NOW_MS, SELF } from '../../guard/fixtures.ts'
import type { Kind } from '../../guard/kind.ts'
import { deployment } from '../../guard/kinds.ts'
import { attemptOf, slotOf, workflowOf } from '../../support/workflows.ts'
import { type ChainAttack, honestly, waiting, withHead } from './chain.ts'

/** When the world is another: as it is cleared, between that and the signature, or once it is public and is raised. */
export const MOMENTS = ['cleared', 'signed', 'raised'] as const
type Moment = (typeof MOMENTS)[number]

const hash = (byte: string): Hex => `0x${byte.repeat(32)}`
/** An address of its own behind each proxy. */
const behind = (address: Address, byte: string): Address => `0x${byte}${address.slice(4)}`

type Pin = Deployment['vaults'][number]
const proxied = <P extends Pin>(pin: P): P => ({
  ...pin,
  proxy: { implementation: behind(pin.address, '17'), codeHash: hash('18') },
})
const beaconed = <P extends Pin>(pin: P): P => ({
  ...pin,
  proxy: {
    implementation: behind(pin.address, '17'),
    codeHash: hash('18'),
    beacon: { address: behind(pin.address, '19'), codeHash: hash('1a') },
  },
})

/** The deployment with every contract of it a proxy. */
const PROXIES: Deployment = {
  ...deployment,
  assets: deployment.assets.map(proxied),
  markets: deployment.markets.map(beaconed),
  vaults: deployment.vaults.map(proxied),
  funds: deployment.funds.map(beaconed),
  contracts: deployment.contracts.map(proxied),
}

/** Do the honest thing until the moment, and then what the attack says: the check that refuses it, or `ok`; null: no fit. */
export async function playAt(
  moment: Moment,
  kind: Kind,
  rules: Ruleset,
  attack: ChainAttack | null,
): Promise<string | null> {
  const options = waiting(kind, { ...rules, deployment: PROXIES })
  let [isHostile, fits] = [moment === 'cleared', true]
  const simulate = async (request: SimulationRequest): Promise<SimulationResult> => {
    const honest = honestly(kind, request, PROXIES)
    if (!isHostile || attack === null) return honest
    const shown = attack.on(honest, request)
    if (shown === null) fits = false
    if (shown instanceof RolekeeperError) throw shown
    return shown ?? honest
  }
  const said = (checked: { readonly ok: true } | { readonly ok: false; readonly check: string }) =>
    fits ? (checked.ok ? 'ok' : checked.check) : null
  const nodes = { chainId: CHAIN_ID, simulate }
  const cleared = await checkFinal(options, { nodes })
  if (moment === 'cleared' || !cleared.ok) return said(cleared)
  const { clearance } = cleared
  isHostile = true
  const { ruleset, nowMs } = options
  if (moment === 'signed') {
    return said(await recheck({ workflow: { ...options.workflow, clearance }, ruleset, nowMs }, { nodes }))
  }
  const slots = clearance.payloads.map((each, index) =>
    slotOf({ ...each, index, nonce: 7 + index, signer: SELF, attempts: [attemptOf()] }),
  )
  const workflow = { ...workflowOf('in_flight'), ...options.workflow, clearance, slots }
  return said(await recheckPublic({ workflow, ruleset, pending: [], nowMs: NOW_MS }, { nodes }))
}

/** The codes of a look that are not of the contracts themselves are the first byte's. */
const withCode =
  (byte: string, code: Hex | null): ChainAttack['on'] =>
  (honest, { codeAt = [] }) => {
    const found = codeAt.map((at) => at.startsWith(`0x${byte}`))
    if (!found.includes(true)) return null
    return { ...honest, codeHashes: honest.codeHashes.map((each, index) => (found[index] ? code : each)) }
  }
const withWords =
  (change: (word: bigint, index: number) => bigint): ChainAttack['on'] =>
  (honest, { slots = [] }) =>
    slots.length === 0 ? null : { ...honest, words: honest.words.map(change) }
/** What beacons say of what they have run. */
const withBeacon =
  (said: Hex | null): ChainAttack['on'] =>
  (honest, { before }) => {
    const isAsked = before.map(({ to }) => to?.startsWith('0x19') === true)
    if (!isAsked.includes(true)) return null
    return { ...honest, before: honest.before.map((each, index) => (isAsked[index] ? said : each)) }
  }
const OTHER = BigInt(`0x${'99'.repeat(20)}`)

/** What contracts and nodes may show at any of the moments. */
export const LATER_ATTACKS: readonly ChainAttack[] = [
  {
    name: 'a proxy runs something else',
    incident: 'PAID Network, 2021',
    on: withWords((word) => (word === 0n ? 0n : OTHER)),
    check: 'implementation_changed',
  },
  {
    name: 'a proxy runs nothing',
    on: withWords(() => 0n),
    check: 'implementation_changed',
  },
  {
    name: 'the nodes do not say what a proxy runs',
    on: (honest, { slots = [] }) => (slots.length === 0 ? null : { ...honest, words: [] }),
    check: 'implementation_changed',
  },
  {
    name: 'a beacon has another implementation run',
    on: withBeacon(`0x${'99'.repeat(20).padStart(64, '0')}`),
    check: 'implementation_changed',
  },
  { name: 'a beacon does not say what is run', on: withBeacon(null), check: 'implementation_changed' },
  {
    name: 'what a proxy runs was destroyed and made anew',
    incident: 'Tornado Cash governance, 2023',
    on: withCode('17', hash('99')),
    check: 'code_changed',
  },
  {
    name: 'what a proxy runs is destroyed',
    incident: 'Parity wallet library, 2017',
    on: withCode('17', null),
    check: 'code_changed',
  },
  { name: 'a beacon has other code', on: withCode('19', hash('99')), check: 'code_changed' },
  {
    name: 'every contract has other code',
    on: (honest) => ({ ...honest, codeHashes: honest.codeHashes.map(() => hash('99')) }),
    check: 'code_changed',
  },
  {
    name: 'the nodes do not say what code there is',
    on: (honest) => ({ ...honest, codeHashes: [] }),
    check: 'code_changed',
  },
  {
    name: 'the head is of half an hour ago',
    on: withHead({ timestampS: NOW_MS / 1_000 - 1_800 }),
    check: 'head_stale',
  },
  {
    name: 'one node shows what the others do not',
    on: () => new RolekeeperError('node.disagreement', 'The nodes do not agree.', { fix: 'none' }),
    check: 'nodes_disagree',
  },
]

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { agents } from '../../../agents/index.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { invariant, RolekeeperError } from '../../../src/errors.ts'
import { checkFile } from '../../../src/keeper/policy-tools/file.ts'
import { DURATION, decimal, NATIVE, type Units } from '../../../src/units.ts'
import { address } from '../../guard/kind.ts'
import { deployment } from '../../guard/kinds.ts'

/** One number of a policy, and what was written for it. */
export type Slip = { readonly path: readonly string[]; readonly was: string; readonly is: string }

/** What becomes of a policy with a slip: a start refuses it, `policy check` lists it, or nobody says a word. */
export type Verdict = 'refused' | 'listed' | 'silent'

type Tried = Slip & { readonly verdict: Verdict; readonly says: string }

/** The roles of the shipped policies. */
export const ROLES = agents.map(({ role }) => role)

/** Slips that nothing is said of, and why they cost nothing. */
const HARMLESS: readonly (readonly [path: string, is: string, why: string])[] = [
  [
    'fees.baseFee',
    '100 %',
    'the first offer covers the base fee of the head alone: it lands later, and is replaced',
  ],
  ['strategy.yields.gainOverCostMin', '100 %', 'what is moved still brings more than it costs'],
]

/** Say why a slip that loads in silence costs nothing; null where that is not known. Pure. */
export const harmless = ({ path, is }: Slip): string | null =>
  HARMLESS.find(([known, as]) => known === path.join('.') && as === is)?.[2] ?? null

const AMOUNT = /^([0-9][0-9,]*)(?:\.([0-9]+))?( \S+)?$/
/** Numbers that name something: an id, a version. */
const NAMES = ['version', 'id']

/** Write what a person may have written instead of a number; nothing for a text that is none. Pure. */
export function slipsOf(text: string): readonly string[] {
  const [, whole, fraction = '', after = ''] = AMOUNT.exec(text) ?? []
  if (whole === undefined) return []
  const [amount, decimals] = [BigInt(whole.replaceAll(',', '') + fraction), fraction.length]
  if (amount === 0n) return [`1${after}`]
  const times = decimal(amount * 1_000n, decimals)
  const part = decimal(amount, decimals + 3)
  const units = [DURATION, NATIVE].flatMap((each) => neighboursOf(after.trim(), each))
  return [
    // What counts without a unit has no groups of three.
    ...[times, part, '0'].map((number) => (after === '' ? number.replaceAll(',', '') : number + after)),
    ...(after === ' %' ? ['100 %'] : []),
    ...units.map((unit) => `${decimal(amount, decimals)} ${unit}`),
  ]
}

function neighboursOf(unit: string, units: Units): readonly string[] {
  const names = [...units].toSorted(([, one], [, other]) => (one < other ? -1 : 1)).map(([name]) => name)
  const at = names.indexOf(unit)
  return at < 0 ? [] : names.filter((_, index) => Math.abs(index - at) === 1)
}

/**
 * Write every slip of every number of a shipped policy, and see what becomes of it.
 * @param directory where the files are written.
 * @param oneIn one of so many of them is tried.
 */
export function tryAll(role: string, directory: string, oneIn = 1): readonly Tried[] {
  const { value } = loadWithIncludes(`policies/${role}.yaml`)
  const [config, file] = [join(directory, 'run.yaml'), join(directory, 'policy.yaml')]
  writeFileSync(config, stringify(RUN))
  writeFileSync(file, owned(value))
  invariant(saidOf(file, config).length === 0, `nothing is said of the ${role}'s policy as it is shipped`)
  const slips = leavesOf(value, []).flatMap(({ path, text }) =>
    slipsOf(text).map((is): Slip => ({ path, was: text, is })),
  )
  return slips
    .filter((_, index) => index % oneIn === 0)
    .map((slip) => {
      writeFileSync(file, owned(withLeaf(value, slip.path, slip.is)))
      return { ...slip, ...verdictOf(file, config) }
    })
}

function verdictOf(file: string, config: string): { readonly verdict: Verdict; readonly says: string } {
  try {
    const [says] = saidOf(file, config)
    return says === undefined ? { verdict: 'silent', says: '' } : { verdict: 'listed', says }
  } catch (error) {
    if (error instanceof RolekeeperError) return { verdict: 'refused', says: error.shortMessage }
    throw error
  }
}

function saidOf(file: string, config: string): readonly string[] {
  const { lints, far } = checkFile(file, config)
  return [...lints, ...far].map(({ problem }) => problem)
}

type Leaf = { readonly path: readonly string[]; readonly text: string }

function leavesOf(value: unknown, path: readonly string[]): readonly Leaf[] {
  if (typeof value === 'string')
    return NAMES.some((name) => path.includes(name)) ? [] : [{ path, text: value }]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...path, key]))
}

function withLeaf(value: unknown, [key, ...rest]: readonly string[], is: string): unknown {
  if (key === undefined) return is
  const copy = Array.isArray(value) ? [...value] : { ...Object(value) }
  Reflect.set(copy, key, withLeaf(Reflect.get(Object(value), key), rest, is))
  return copy
}

/** The tokens of an owner, by those of the shipped policies. */
const SYMBOLS: Readonly<Record<string, string>> = { sUSD: 'USDC', sBTC: 'cbBTC', sETH: 'wstETH' }

/** Write a policy as an owner does, for tokens of other names. */
const owned = (value: unknown): string =>
  stringify(value).replace(/\bs(?:USD|BTC|ETH)\b/g, (symbol) => SYMBOLS[symbol] ?? symbol)

/** A run configuration of the contracts that the shipped policies name. */
const RUN = {
  environment: 'sandbox',
  deployment: {
    ...deployment,
    assets: deployment.assets.map((asset) => ({ ...asset, symbol: SYMBOLS[asset.symbol] ?? asset.symbol })),
    vaults: ['primeVault', 'growthVault'].map((name, index) => ({
      ...deployment.vaults[0],
      ...(index === 0 ? { name } : { name, address: address('b7') }),
    })),
  },
  service: { assumptions: {} },
}

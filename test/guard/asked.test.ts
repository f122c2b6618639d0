import { type Address, decodeFunctionData, type Hex, keccak256, stringToHex, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { askedBy, checkFinal, type FinalOptions } from '../../src/guard/checks/check-final.ts'
import { slotsOf } from '../../src/guard/reads/pins.ts'
import { TOKEN_VIEWS } from '../../src/guard/reads/views.ts'
import type { Ruleset } from '../../src/guard/ruleset.ts'
import { PLAIN } from '../../src/guard/sanity/judgement.ts'
import type { Attestation } from '../../src/workflow/workflow.ts'
import {
  CHAIN_ID,
  COLLATERAL,
  deployment,
  freeze,
  LOAN,
  MARKET,
  NOW_MS,
  OTHER_MARKET,
  SELF,
  VAULT,
} from './fixtures.ts'
import type { Kind } from './kind.ts'
import { answerOf, DESK, deployment as everything, kindOf, NAV_DIGEST } from './kinds.ts'
import { CASES } from './shipped.ts'

const SIGNATURE: Hex = `0x${'11'.repeat(65)}`
const [ORACLE] = deployment.markets.map(({ oracle }) => oracle)
const [FUND] = everything.funds.map(({ address }) => address)
const HOUSE = everything.contracts.find(({ name }) => name === 'acquisitionHouse')?.address

const rulesOf = (name: string): Ruleset => {
  const found = CASES.find(([, { name: each }]) => each === name)
  if (found === undefined) throw new TypeError(`no shipped kind is called ${name}`)
  const [, , ruleset] = found
  // Rules and effects alone: what a judgement reads of its own has tests of its own.
  return { ...ruleset, sanity: new Map([...ruleset.sanity.keys()].map((type) => [type, PLAIN])) }
}

const optionsOf = (kind: Kind, attestation?: Attestation): FinalOptions => {
  const ruleset = rulesOf(kind.name)
  return {
    workflow: {
      role: ruleset.role,
      chainId: CHAIN_ID,
      signer: SELF,
      proposal: kind.proposal,
      prepared: freeze(answerOf(kind, kind.drafts)),
      ...(attestation === undefined ? {} : { attestation }),
    },
    ruleset,
    signer: { nextNonce: 7, pending: [], maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 1n, standing: [] },
    nowMs: NOW_MS,
  }
}

const askedFor = (name: string) => {
  const asked = askedBy(optionsOf(kindOf(name)), CHAIN_ID)
  if (asked === null) throw new TypeError(`${name} is refused`)
  return asked
}

/** The allowances of ours that are read, token by spender. */
const allowancesIn = (calls: readonly { readonly to: Address; readonly data: Hex }[]) =>
  calls.flatMap(({ to, data }) => {
    const { functionName, args } = decodeFunctionData({ abi: TOKEN_VIEWS, data })
    return functionName === 'allowance' ? [`${to} ${args[1].toLowerCase()}`] : []
  })

describe('what a bundle relies on', () => {
  it.each<readonly [string, readonly (Address | undefined)[]]>([
    ['liquidate', [LOAN, COLLATERAL, MARKET, ORACLE, VAULT]],
    ['settle', [LOAN, COLLATERAL, MARKET, ORACLE]],
    ['allocate', [LOAN, COLLATERAL, MARKET, ORACLE, VAULT]],
    // The market that is only an argument of the call.
    ['reallocate', [LOAN, MARKET, OTHER_MARKET, VAULT]],
    // The house is only an argument, the quote asset only the fund's.
    ['acquire', [LOAN, FUND, HOUSE]],
    ['rfq-place', [LOAN, DESK]],
    ['rfq-cancel', [LOAN, DESK]],
  ])('has its code read: %s', (name, contracts) => {
    expect(askedFor(name).codeAt).toEqual(expect.arrayContaining([...contracts]))
  })

  it('has what a proxy runs read where EIP-1967 keeps it', () => {
    const slots = ['implementation', 'beacon'].map((name) =>
      toHex(BigInt(keccak256(stringToHex(`eip1967.proxy.${name}`))) - 1n, { size: 32 }),
    )
    expect(slotsOf(VAULT)).toEqual(slots.map((slot) => ({ of: VAULT, slot })))
  })

  it('is nothing more than that', () => {
    expect(askedFor('rfq-finalize').codeAt).toEqual([DESK])
  })

  it.each([
    ['liquidate', [`${LOAN} ${MARKET}`, `${COLLATERAL} ${MARKET}`]],
    ['settle', [`${LOAN} ${MARKET}`, `${COLLATERAL} ${MARKET}`]],
    // Tokens that only the effects name: what comes in, and what is moved.
    ['rfq-cancel', [`${LOAN} ${DESK}`]],
    ['acquire', [`${LOAN} ${FUND}`]],
    [
      'auction-bid',
      [`${LOAN} ${everything.contracts.find(({ name }) => name === 'recoveryAuction')?.address}`],
    ],
  ])('has allowances that are read before and after: %s', (name, pairs) => {
    const { before, after } = askedFor(name)
    expect(allowancesIn(before)).toEqual(pairs)
    expect(allowancesIn(after)).toEqual(pairs)
  })
})

describe('a call that carries a signature', () => {
  const nodes = {
    chainId: CHAIN_ID,
    simulate: async () => Promise.reject(new Error('nothing is simulated unsigned')),
  }

  it.each([
    ['nobody has judged', undefined],
    ['is only recorded', { digest: NAV_DIGEST }],
  ])('is not cleared while it %s', async (_name, attestation) => {
    const checked = await checkFinal(optionsOf(kindOf('report'), attestation), { nodes })
    expect(checked).toMatchObject({ ok: false, check: 'not_signed' })
  })

  it('is asked about once it is there', () => {
    const asked = askedBy(optionsOf(kindOf('report'), { digest: NAV_DIGEST, signature: SIGNATURE }), CHAIN_ID)
    expect(asked?.bundle[0]?.data).toContain(SIGNATURE.slice(2))
  })
})

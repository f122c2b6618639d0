import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { orderLines } from '../../../src/cli/orders/order-lines.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { bound, freeze, SELF, STRANGER, VAULT } from '../../guard/fixtures.ts'
import { answerOf, deployment, kindOf } from '../../guard/kinds.ts'
import { newDirectory } from '../../support/directory.ts'
import { policyFileOf } from '../../support/policies.ts'
import { workflowOf } from '../../support/workflows.ts'

const folder = newDirectory()
const configured = (name: string, address: string) => {
  const file = join(folder, name)
  const config = {
    environment: 'sandbox',
    agents: [
      {
        role: 'vault-owner',
        mode: 'live',
        policy: policyFileOf('vault-owner'),
        signer: { keystore: { address } },
      },
    ],
    service: { assumptions: {} },
    deployment: {
      ...deployment,
      assets: deployment.assets.map((asset) => ({ ...asset, decimals: String(asset.decimals) })),
    },
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}
const CONFIG = configured('run.yaml', SELF)

const fees = kindOf('fees')
const proposal = { ...fees.proposal, kind: 'order', askedBy: 'anna@here' }
const { prepared: _, ...order } = workflowOf('discovered', { ...bound(proposal), role: 'vault-owner' })
const prepared = freeze(answerOf(fees, fees.drafts))
const linesOf = (changes: Partial<Workflow>, config = CONFIG) =>
  orderLines({ ...order, ...changes }, deployment, config)

const INPUT = [
  'Input:',
  `  vaultAddress       a vault ${VAULT}`,
  '  managementFeeBps   0.5 %',
  '  performanceFeeBps  10 %',
  `  recipientAddress   our signer ${SELF}`,
]

describe('an order, as it is shown', () => {
  it('is its input until it is prepared', async () => {
    expect(await linesOf({})).toEqual(INPUT)
  })

  it('is besides its calls once they are, as the guard reads them', async () => {
    expect(await linesOf({ prepared })).toEqual([
      ...INPUT,
      'Calls:',
      expect.stringMatching(
        /^ {2}a vault 0x(7a){20}\.setFeeConfig\(managementFeeBps: 0\.5 %, performanceFeeBps: 10 %, recipient: our signer 0x(5e){20}\)$/i,
      ),
    ])
  })

  it('says what the policy clears not, before the calls as they came', async () => {
    const other = kindOf('curator-fee')
    const lines = await linesOf({ prepared: freeze(answerOf(fees, other.drafts)) })
    expect(lines.slice(INPUT.length + 1)).toEqual([
      expect.stringMatching(/^ {2}not cleared by the policy of now: \w+: /),
      expect.stringMatching(/^ {2}.+ of a vault 0x(7a){20}$/),
    ])
  })

  it('says why its calls cannot be read', async () => {
    const last = async (changes: Partial<Workflow>, config?: string) =>
      (await linesOf(changes, config)).at(-1)
    const absent = join(folder, 'absent.yaml')
    expect(await last({ prepared }, absent)).toBe(
      'Calls: 1, not decoded: give the run configuration with --config.',
    )
    const others = configured('others.yaml', STRANGER)
    expect(await last({ prepared }, others)).toBe(
      `Calls: 1, not decoded: ${others} has no agent of this role and signer.`,
    )
    const none = { ...prepared, answer: { ...prepared.answer, transactions: [] } }
    expect(await last({ prepared: none })).toBe('Calls: the service prepared none.')
  })

  it('is nothing for what an agent proposed', async () => {
    expect(await linesOf({ proposal: { ...proposal, kind: 'tighten' }, prepared })).toEqual([])
  })
})

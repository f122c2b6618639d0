import { type Hex, parseSignature } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import { beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError, refuse } from '../../src/errors.ts'
import { pinsOf } from '../../src/guard/policy/deployment.ts'
import { proveEntered } from '../../src/journal/entered.ts'
import type { LedgerEntry } from '../../src/journal/journal.ts'
import type { Gate } from '../../src/ops/control.ts'
import { attest } from '../../src/pipeline/attest.ts'
import type { PreparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import type { Step } from '../../src/workflow/step.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { CHAIN_ID, freeze, NOW_MS } from '../guard/fixtures.ts'
import { answerOf, kindOf, NAV_DIGEST } from '../guard/kinds.ts'
import { NAV_RULE, ROLE, rulesetOf } from '../guard/rules.ts'
import * as saving from '../guard/saving.ts'
import { workflowOf } from '../support/workflows.ts'

const ruleset = rulesetOf([NAV_RULE], [{ workflowType: NAV_RULE.workflowType }])
const kind = kindOf('report')
const digest = NAV_DIGEST
const pinnedCode = (at: Hex) =>
  pinsOf(ruleset.deployment).find(({ address: pinned }) => pinned === at)?.codeHash ?? null
const privateKey = generatePrivateKey()
const { address } = privateKeyToAccount(privateKey)

let told: string[]
let ledger: Map<Hex, LedgerEntry>
let gate: Gate
let asked: Hex[]
/** Which workflow a request of the service's is for. */
let requests: Map<string, string>
/** What the gate is once the digest is on disk. */
let gateAfter: Gate | undefined
/** What the key answers in the place of a signature. */
let refusal: RolekeeperError | undefined
let alarms: string[]
beforeEach(() => {
  told = []
  ledger = new Map()
  gate = { closed: false, paused: false }
  asked = []
  requests = new Map()
  gateAfter = undefined
  refusal = undefined
  alarms = []
})

const workflow = (
  answer: PreparedWorkflow = answerOf(kind, kind.drafts),
  changes: Partial<Workflow> = {},
): Workflow => ({
  ...workflowOf('prepared'),
  role: ROLE,
  chainId: CHAIN_ID,
  signer: address,
  proposal: kind.proposal,
  prepared: freeze(answer),
  ...changes,
})

const run = (each: Workflow, key = privateKey, rules = ruleset): Promise<Step> =>
  attest(each, {
    nowMs: () => NOW_MS,
    ruleset: rules,
    nodes: {
      simulate: async ({ codeAt = [] }) => ({
        block: {
          number: 100n,
          hash: '0x',
          parentHash: '0x',
          timestampS: NOW_MS / 1_000,
          baseFeePerGasWei: 1n,
        },
        timestampS: NOW_MS / 1_000 + 1,
        pending: [],
        before: [],
        bundle: [],
        after: [],
        codeHashes: codeAt.map(pinnedCode),
        words: [],
        following: [],
      }),
    },
    journal: {
      enterDigest: async (entry) => {
        told.push('entered')
        if (!ledger.has(entry.digest)) ledger.set(entry.digest, entry)
      },
      writeBound: async (next, requestId) => {
        const holder = requests.get(requestId) ?? next.id
        requests.set(requestId, holder)
        return holder === next.id ? next : 'taken'
      },
      ordered: async (entries) => {
        told.push('on disk')
        for (const entry of entries) proveEntered(entry, ledger.get(entry.digest) ?? null)
        gate = gateAfter ?? gate
      },
    },
    signer: {
      address,
      keyId: 'a key',
      signDigest: async (hash) => {
        told.push('signed')
        asked.push(hash)
        if (refusal !== undefined) throw refusal
        const { r, s, yParity } = parseSignature(await sign({ hash, privateKey: key, to: 'hex' }))
        return { r, s, yParity: yParity === 0 ? 0 : 1 }
      },
    },
    gate: () => gate,
    alarm: ({ code }) => alarms.push(code),
  })

const recorded = workflow(undefined, { attestation: { digest } })

describe('attesting typed data', () => {
  it('records the digest, enters it into the ledger, waits for the disk, and asks the key for it alone', async () => {
    const first = await run(workflow())
    expect(first).toMatchObject({ type: 'written', workflow: { state: 'prepared', attestation: { digest } } })
    expect(told).toEqual([])
    const second = await run(recorded)
    expect(told).toEqual(['entered', 'on disk', 'signed'])
    expect(asked).toEqual([digest])
    expect(ledger.get(digest)).toMatchObject({ kind: 'typed_data', workflowId: recorded.id, nonce: null })
    expect(second).toMatchObject({ type: 'moved', workflow: { state: 'attested', attestation: { digest } } })
    const { attestation } = second.type === 'moved' ? second.workflow : recorded
    expect(attestation?.signature).toMatch(/^0x[0-9a-f]{130}$/)
  })

  it('asks a key again that denies it, and says so: a permission that is back signs what still holds', async () => {
    const facts = { fix: 'allow it.', retry: 'never' } as const
    refusal = new RolekeeperError('kms.denied', 'The KMS denies us the key (Sign).', facts)
    const first = await run(recorded)
    const note = { check: 'kms.denied', message: 'The KMS denies us the key (Sign). Fix: allow it.' }
    expect(first).toMatchObject({ type: 'moved', workflow: { state: 'prepared', note } })
    const noted = first.type === 'moved' ? first.workflow : recorded
    for (const count of [2, 3, 4]) {
      expect(await run(noted)).toEqual({ type: 'wait', ms: 1_000 })
      expect(alarms).toHaveLength(count)
    }
    expect(alarms[0]).toBe('kms.denied')
    refusal = undefined
    const signed = await run(noted)
    expect(signed).toMatchObject({ type: 'moved', workflow: { state: 'attested' } })
    expect(signed.type === 'moved' && signed.workflow.note).toBeUndefined()
    expect(new Set(asked)).toEqual(new Set([digest]))
  })

  it('ends by the key’s denial where the answer is too old before it is back', async () => {
    const note = { check: 'kms.denied', message: 'The KMS denies us the key (Sign).' }
    const old = { ...recorded, note, prepared: { ...freeze(answerOf(kind, kind.drafts)), receivedAtMs: 0 } }
    const why = expect.stringMatching(/^The KMS denies us the key \(Sign\)\. By now: \w+: ./)
    const ended = { state: 'refused', note: { check: 'kms.denied', message: why } }
    expect(await run(old)).toMatchObject({ workflow: ended })
    expect(asked).toEqual([])
  })

  it('counts a wrong key, which does not come back, as a failed step', async () => {
    refusal = new RolekeeperError('kms.wrong_key', 'It is another key.', { fix: 'x', retry: 'never' })
    await expect(run(recorded)).rejects.toBe(refusal)
  })

  it('signs nothing other than what it recorded first', async () => {
    const other = workflow(undefined, { attestation: { digest: `0x${'11'.repeat(32)}` } })
    expect(await run(other)).toMatchObject({
      workflow: { state: 'refused', note: { check: 'digest_changed' } },
    })
    expect(asked).toEqual([])
  })

  it('asks no key for an answer under the request of another workflow, or of its twin', async () => {
    await run(workflow())
    expect(await run({ ...workflow(), id: 'wf-twin' })).toMatchObject({
      workflow: { state: 'refused', note: { check: 'request_id_taken' } },
    })
    expect(await run(recorded)).toMatchObject({ workflow: { state: 'attested' } })
    expect(asked).toEqual([digest])
  })

  it('asks no key for what the rules refuse', async () => {
    const answer = answerOf(kind, kind.drafts)
    const [intent] = answer.transactions
    if (intent === undefined) throw new TypeError('one intent')
    const hostile = { ...answer, transactions: [{ ...intent, target: address }] }
    expect(await run(workflow(hostile, { attestation: { digest } }))).toMatchObject({
      workflow: { state: 'refused', note: { check: 'target_not_allowed' } },
    })
    expect(told).toEqual([])
  })

  it.each([
    { closed: true, paused: false },
    { closed: false, paused: true },
  ])('waits while the gate is %o', async (held) => {
    gate = held
    expect(await run(recorded)).toMatchObject({ type: 'wait' })
    expect(asked).toEqual([])
  })

  it.each([
    [{ closed: true, paused: false }, { type: 'wait' }],
    [{ closed: false, paused: true }, { type: 'wait' }],
    [
      { closed: false, paused: false, safe: refuse('signer_safe', 'in doubt') },
      { workflow: { state: 'refused', note: { check: 'signer_safe' } } },
    ],
  ])('asks no key where the gate became %o while the digest went to disk', async (after, step) => {
    gateAfter = after
    expect(await run(recorded)).toMatchObject(step)
    expect(told).toEqual(['entered', 'on disk'])
  })

  it('signs nothing for a signer in SAFE', async () => {
    gate = { closed: false, paused: false, safe: refuse('signer_safe', 'in doubt') }
    expect(await run(recorded)).toMatchObject({
      workflow: { state: 'refused', note: { check: 'signer_safe' } },
    })
    expect(asked).toEqual([])
  })

  it('takes no digest that stands in the ledger for something else', async () => {
    ledger.set(digest, {
      digest,
      kind: 'typed_data',
      signer: address,
      workflowId: 'another',
      nonce: null,
      atMs: 0,
    })
    await expect(run(recorded)).rejects.toThrow(/does not hold the digest/)
    expect(asked).toEqual([])
  })

  it('takes no signature of another key', async () => {
    await expect(run(recorded, generatePrivateKey())).rejects.toThrow(/not the signer's/)
  })
})

describe('what is done by preparing it', () => {
  const done = (changes: Partial<PreparedWorkflow> = {}) =>
    run(workflow({ ...saving.HONEST, ...changes }, { proposal: saving.proposal }), privateKey, saving.ruleset)

  it('is confirmed with nothing signed and no nonce, and awaits what it asked for, also while all is killed', async () => {
    gate = { closed: true, paused: true }
    expect(await done()).toMatchObject({
      type: 'written',
      workflow: {
        state: 'confirmed',
        slots: [],
        realized: { tokens: [], gasWei: 0n },
        awaiting: { postconditions: saving.POSTCONDITIONS, sinceMs: NOW_MS },
      },
    })
    expect([told, asked]).toEqual([[], []])
  })

  it('is left to a person where the answer is not what we asked for, and refused where it was blocked', async () => {
    expect(await done({ canonicalPostconditions: [] })).toMatchObject({
      workflow: { state: 'quarantined', note: { check: 'postconditions_missing' } },
    })
    const preflight = {
      ...saving.HONEST.preflight,
      status: 'blocked' as const,
      blockedReasons: ['not_owner'],
    }
    expect(await done({ preflight, status: 'prepared' })).toMatchObject({
      workflow: { state: 'refused', note: { check: 'preflight_blocked' } },
    })
  })

  it('is left to a person where the request of its answer is another workflow’s', async () => {
    requests.set(saving.HONEST.requestId, 'another')
    expect(await done()).toMatchObject({
      workflow: { state: 'quarantined', note: { check: 'request_id_taken' } },
    })
  })
})

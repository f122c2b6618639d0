import { approvalHash, approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { askerOf } from '../../../src/guard/approval/approvers.ts'
import {
  answerText,
  createPersonKey,
  type Identity,
  signText,
} from '../../../src/guard/approval/person-key.ts'
import { RecentReservations } from '../../../src/journal/sqlite/recent-reservations.ts'
import { checkAsked, createHold, endUnapproved } from '../../../src/keeper/stages/approval-hold.ts'
import { reservationOf } from '../../../src/pipeline/transactions/reservation.ts'
import type { Hold, Workflow } from '../../../src/workflow/workflow.ts'
import { NOW_MS, SELF, STRANGER } from '../../guard/fixtures.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { proposalOf, TOKEN, workflowOf } from '../../support/workflows.ts'
import type { Deed } from './deeds.ts'

const asset = { address: TOKEN, codeHash: `0x${'c0'.repeat(32)}`, symbol: 'sUSD', decimals: 6 } as const
const section = { always: [], aboveAssets: {}, expiresAfter: '15 min' }
const compile = (more: object) =>
  compileApproval(approvalPolicy([asset]).parse({ ...section, ...more }), { assets: [asset] })

const [anna, ben, carl, eve] = [createPersonKey(), createPersonKey(), createPersonKey(), createPersonKey()]
const TWO = compile({
  always: ['role.liquidator.liquidate'],
  approvers: { anna: { key: anna.publicKey }, ben: { key: ben.publicKey }, carl: { key: carl.publicKey } },
  quorum: '2',
})
const TENTHS = compile({ aboveAssets: { sUSD: '100 sUSD' } })

const liquidation = PREPARED.find(([, { name }]) => name === 'liquidate')
if (liquidation === undefined) throw new TypeError('no shipped kind is called liquidate')
const [, { proposal }, shipped] = liquidation
const { deployment } = shipped
const [vault] = deployment.vaults
if (vault === undefined) throw new TypeError('a vault is pinned')
/** Two vaults, by our names. */
const vaults = [
  { ...vault, name: 'prime' },
  { ...vault, name: 'growth', address: STRANGER },
]
const ruleset = { ...shipped, deployment: { ...deployment, vaults } }
const open = workflowOf('discovered', { role: ruleset.role, signer: SELF, proposal })
const deps = { ruleset, approval: TWO, apart: [], nowMs: () => NOW_MS }

type Key = ReturnType<typeof createPersonKey>
/** What somebody says who calls themselves by a name, signed with a key of theirs. */
const says = (name: string, key: Key, id: string, hash: string): Identity => ({
  user: 'x@y',
  name,
  signature: signText(answerText('approve', id, hash), key.privatePem),
})
type Answers = (id: string, hash: string) => readonly { readonly by: Identity; readonly hash?: string }[]
const both: Answers = (id, hash) => [{ by: says('anna', anna, id, hash) }, { by: says('ben', ben, id, hash) }]

/** Ask people about a workflow, and answer so: as it is then, with its hold. */
async function asked(answers: Answers, workflow: Workflow = open): Promise<Workflow & { hold: Hold }> {
  const hold = createHold({
    ...deps,
    journal: { spending: async () => ({ rows: [], revision: '' }) },
    nodes: { calls: async () => [] },
    mail: {
      everyMs: 250,
      answers: async (id, hash) => answers(id, hash).map((each) => ({ verdict: 'approve', hash, ...each })),
    },
  })
  let now = workflow
  for (let look = 0; look < 2; look += 1) {
    const step = await hold(now)
    if (step !== null && step.type !== 'wait') now = step.workflow
  }
  if (now.hold === undefined) throw new TypeError('it is not held')
  return { ...now, hold: now.hold }
}

/** The check before a key is asked, of a workflow that somebody says is approved and prepared. */
function proven(workflow: Workflow, by: Partial<typeof deps> = {}): string | null {
  const step = endUnapproved({ ...workflow, state: 'prepared' }, { ...deps, ...by })
  return step?.type === 'moved' ? (step.workflow.note?.check ?? null) : null
}
const answered = (name: string, answers: Answers, workflow?: Workflow): Deed => ({
  name: `approval: ${name}`,
  check: 'approval_missing',
  play: async () => [proven(await asked(answers, workflow))],
})
const recorded = (
  name: string,
  check: string,
  change: (held: Workflow & { hold: Hold }) => Workflow,
): Deed => ({
  name: `approval: ${name}`,
  check,
  play: async () => [proven(change(await asked(both)))],
})

/** Who approves what they may not, or says that others did. */
export const PEOPLE_DEEDS: readonly Deed[] = [
  answered('one approves where two are asked', (id, hash) => [{ by: says('anna', anna, id, hash) }]),
  answered('one approves twice where two are asked', (id, hash) => [
    { by: says('anna', anna, id, hash) },
    { by: says('anna', anna, id, hash) },
  ]),
  answered('who submitted it is one of the two who approve', both, {
    ...open,
    proposal: { ...proposal, askedBy: 'anna' },
  }),
  answered('somebody else signs as one of the two who approve', (id, hash) => [
    { by: says('anna', anna, id, hash) },
    { by: says('ben', eve, id, hash) },
  ]),
  answered('somebody whom the policy does not name approves', (id, hash) => [
    { by: says('anna', anna, id, hash) },
    { by: says('eve', eve, id, hash) },
  ]),
  answered('a name without a signature approves', (id, hash) => [
    { by: says('anna', anna, id, hash) },
    { by: { user: 'x@y', name: 'ben' } },
  ]),
  answered('an approval of another hash is answered', (id, hash) => [
    { by: says('anna', anna, id, hash) },
    { by: says('ben', ben, id, '0'.repeat(hash.length)), hash: '0'.repeat(hash.length) },
  ]),
  answered('an approval of another hash is handed over as one of this', (id, hash) => [
    { by: says('anna', anna, id, hash) },
    { by: says('ben', ben, id, '0'.repeat(hash.length)) },
  ]),
  answered('an approval of another workflow is handed over', (_id, hash) => [
    { by: says('anna', anna, 'another', hash) },
    { by: says('ben', ben, 'another', hash) },
  ]),
  recorded(
    'a record says that nobody had to be asked',
    'approval_missing',
    ({ hold: _none, ...held }) => held,
  ),
  recorded('a record says approved, and keeps no answer', 'approval_missing', (held) => ({
    ...held,
    hold: { ...held.hold, approvals: [], approvedAtMs: NOW_MS },
  })),
  recorded('a record keeps names without what proves them', 'approval_missing', (held) => ({
    ...held,
    hold: {
      ...held.hold,
      approvals: held.hold.approvals.map((each) => ({ ...each, identity: { user: 'x@y', name: each.by } })),
    },
  })),
  recorded('two vaults swap names once one of them is approved', 'approval_outdated', (held) => ({
    ...held,
    proposal: { ...held.proposal, input: { ...held.proposal.input, vaultAddress: STRANGER } },
  })),
  {
    name: 'approval: the screen showed something else than our rules do',
    incident: 'Bybit, 2025',
    check: 'approval_outdated',
    play: async () => {
      const held = await asked(() => [])
      const shown = { ...held.hold.shown, effects: ['leaves us: nothing'] }
      const hash = approvalHash(held, { ...held.hold, shown })
      const approvals = both(held.id, hash).map(({ by }) => ({
        by: by.name ?? '',
        identity: by,
        atMs: NOW_MS,
      }))
      return [proven({ ...held, hold: { ...held.hold, shown, hash, approvals, approvedAtMs: NOW_MS } })]
    },
  },
  {
    name: 'approval: it was approved by the rules of before',
    check: 'approval_outdated',
    play: async () => [proven(await asked(both), { ruleset: { ...ruleset, hash: 'b2' } })],
  },
  {
    name: 'approval: ten parts pass where the whole asks',
    check: 'approval_adds_up_assets',
    play: async () => {
      const claims = Array.from({ length: 11 }, (_, index) => {
        const exposure = { token: TOKEN, assets: 10_000_000n, usdMicros: 10_000_000n }
        const workflow = workflowOf('in_flight', { id: `w${index}`, proposal: proposalOf({ exposure }) })
        return reservationOf(workflow, NOW_MS - 600_000 + index * 1_000)
      })
      const [last] = claims.slice(-1)
      if (last === undefined) throw new TypeError('eleven are claimed')
      const sums = new RecentReservations(claims.slice(0, -1)).sums(
        last.role,
        [NOW_MS - 86_400_000],
        last.workflowId,
      )
      const checked = checkAsked(last, sums ?? [], TENTHS, NOW_MS)
      return [checked.ok ? null : checked.check]
    },
  },
  {
    name: 'approval: somebody whom the policy does not name submits an order',
    check: 'submitter_unproven',
    play: async () => {
      const by = says('eve', eve, 'an order', '0')
      const checked = askerOf({ id: 'an order', contentHash: '0', by }, TWO)
      return [checked.ok ? null : checked.check]
    },
  },
]

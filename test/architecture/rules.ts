import * as floors from './floors.ts'
import * as guests from './guests.ts'
import * as shapes from './shapes.ts'
import type { Rule } from './tree.ts'
import * as waits from './waits.ts'

/** What a change would put into the tree: texts by their paths. */
export type Seed = Readonly<Record<string, string>>

/** A rule, changes that it has to catch, and changes that come near and are right. */
export type Held = {
  readonly rule: Rule
  readonly caught: readonly Seed[]
  readonly allowed?: readonly Seed[]
}

const ROOMS =
  'chain/nodes config/config decide/decision-loop errors fleet/seats guard/approval journal/journal keeper/keeper observe/observe ops/log pipeline/pipeline queue/queue service/client service/contract/roles sign/signer units readable workflow/workflow clock'
const everything = ROOMS.split(' ').map((name) => `import '../${name}.ts'`)

/** Statements on so many lines. */
const lines = (count: number) => 'void 0\n'.repeat(count)
/** A function of so many lines, from the first to the brace that closes it. */
const smallFiles = Array.from({ length: 1_000 }, (_, index) => [`src/chain/part-${index}.ts`, lines(160)])
const folders = Array.from({ length: 18 }, (_, index) => [`src/room-${index}/a.ts`, ''])

/** Every rule of the house, by what it says. */
export const RULES: Readonly<Record<string, Held>> = {
  'every room has a floor': {
    rule: floors.roomsHaveFloors,
    caught: [{ 'src/extra/a.ts': '' }, { 'src/staff.ts': '' }],
    allowed: [{ 'src/chain/a.ts': '', 'agents/own-role/agent.ts': '' }],
  },
  'imports lead down': {
    rule: floors.arrowsLeadDown,
    caught: [
      { 'src/journal/a.ts': "import '../keeper/keeper.ts'" },
      { 'src/sign/a.ts': "import type { Workflow } from '../workflow/workflow.ts'" },
      { 'src/errors.ts': "export const a: import('./chain/nodes.ts').Nodes | null = null" },
      { 'src/ops/a.ts': "const a = await import('../guard/approval.ts')" },
    ],
    allowed: [{ 'src/pipeline/a.ts': "import '../guard/approval.ts'\nimport '../../agents/agent.ts'" }],
  },
  'no room but keeper imports all': {
    rule: floors.noRoomImportsAll,
    caught: [{ 'src/cli/a.ts': everything.join('\n') }],
    allowed: [{ 'src/keeper/a.ts': everything.join('\n') }],
  },
  'two folders of one room do not import each other': {
    rule: floors.siblingsLeadOneWay,
    caught: [
      {
        'src/keeper/term/a.ts': "import type { B } from '../seats/b.ts'",
        'src/keeper/seats/c.ts': "import '../term/d.ts'",
      },
    ],
    allowed: [
      {
        'src/keeper/term/a.ts': "import '../seats/b.ts'",
        'src/keeper/doctor/a.ts': "import './checks/b.ts'",
        'src/keeper/doctor/checks/c.ts': "import '../d.ts'",
      },
    ],
  },
  'no files import each other in a circle, types included': {
    rule: floors.noCircles,
    caught: [
      {
        'src/chain/a.ts': "import type { B } from './b.ts'\nexport type A = B",
        'src/chain/b.ts': "import type { A } from './a.ts'\nexport type B = A[]",
      },
      {
        'src/chain/a.ts': "import './b.ts'",
        'src/chain/b.ts': "import './c.ts'",
        'src/chain/c.ts': "export type C = import('./a.ts').A",
      },
      { 'src/chain/a.ts': "import './a.ts'" },
    ],
    allowed: [
      {
        'src/chain/a.ts': "import './b.ts'\nimport './c.ts'",
        'src/chain/b.ts': "import './d.ts'",
        'src/chain/c.ts': "import './d.ts'",
        'src/chain/d.ts': '',
      },
    ],
  },
  'every import leads somewhere': {
    rule: floors.importsExist,
    caught: [{ 'src/chain/a.ts': "import './gone.ts'" }],
  },
  'agents are pure': {
    rule: floors.agentsArePure,
    caught: [
      { 'agents/allocator/a.ts': "import '../liquidator/decide.ts'" },
      { 'agents/allocator/a.ts': "import type { Journal } from '../../src/journal/journal.ts'" },
      { 'agents/agent.ts': "import type { Nodes } from '../src/chain/nodes.ts'" },
      { 'agents/allocator/a.ts': "import { request } from 'undici'" },
      { 'agents/allocator/a.ts': "import { keccak256 } from 'viem'" },
      { 'agents/allocator/a.ts': "import 'node:fs'" },
      { 'agents/protocol/a.ts': 'export const now = () => Date.now()' },
      { 'agents/protocol/a.ts': 'export const now = Date.now' },
      { 'agents/allocator/a.ts': 'export const id = () => crypto.randomUUID()' },
    ],
    allowed: [
      {
        'agents/allocator/a.ts':
          "import { z } from 'zod'\nimport type { Address } from 'viem'\nimport '../protocol/health.ts'\nimport '../agent.ts'",
      },
    ],
  },
  'outside agents/ no file of a role is known': {
    rule: floors.rolesAreData,
    caught: [{ 'src/keeper/a.ts': "import type { Book } from '../../agents/liquidator/book.ts'" }],
    allowed: [{ 'src/keeper/a.ts': "import '../../agents/index.ts'" }],
  },
  'the guard takes no arithmetic from the agents': {
    rule: floors.guardRederives,
    caught: [
      { 'src/guard/a.ts': "import '../../agents/protocol/health.ts'" },
      {
        'src/guard/a.ts': "import '../observe/a.ts'",
        'src/observe/a.ts': "import '../../agents/protocol/health.ts'",
      },
    ],
  },
  'a verb of the pipeline imports no other': {
    rule: floors.verbsStandAlone,
    caught: [
      { 'src/pipeline/attest.ts': "import type { ClearDeps } from './clear.ts'" },
      { 'src/pipeline/transactions/a.ts': "import '../clear.ts'" },
    ],
    allowed: [{ 'src/pipeline/attest.ts': "import './transactions/fees.ts'" }],
  },
  'vendors stay at home': {
    rule: guests.vendorsStayHome,
    caught: [
      { 'src/guard/a.ts': "import { request } from 'undici'" },
      { 'src/keeper/a.ts': "import type { Logger } from 'pino'" },
      { 'src/journal/a.ts': "import 'left-pad'" },
      { 'agents/allocator/a.ts': "import { CronPattern } from 'croner'" },
      { 'src/keeper/a.ts': "import { DatabaseSync } from 'node:sqlite'" },
      { 'src/pipeline/a.ts': "import { privateKeyToAccount } from 'viem/accounts'" },
      { 'src/keeper/a.ts': "import { createRequire } from 'node:module'" },
      { 'src/guard/a.ts': "export const a = () => fetch('https://service.example')" },
    ],
    allowed: [{ 'src/ops/a.ts': "import 'pino'\nimport 'node:fs'\nimport 'zod'" }],
  },
  'only chain/ talks to nodes': {
    rule: guests.nodesAreAskedByChain,
    caught: [
      { 'src/guard/a.ts': "import { createPublicClient } from 'viem'" },
      { 'src/guard/a.ts': "import * as viem from 'viem'" },
    ],
    allowed: [{ 'src/guard/a.ts': "import { keccak256 } from 'viem'" }],
  },
  'the sandbox is a guest': {
    rule: guests.sandboxIsGuest,
    caught: [
      { 'src/keeper/a.ts': "import type { SandboxInfo } from '../../sandbox/info.ts'" },
      { 'src/cli/run.ts': "import './target/sandbox-process.ts'" },
      { 'src/cli/sandboxed.ts': "import '../../sandbox/main.ts'" },
    ],
  },
  'the sandbox knows nothing of the product but the contract': {
    rule: guests.guestKnowsContract,
    caught: [
      { 'sandbox/a.ts': "import '../src/service/json.ts'" },
      { 'sandbox/a.ts': "import '../agents/protocol/health.ts'" },
    ],
    allowed: [{ 'sandbox/a.ts': "import '../src/service/contract/roles.ts'\nimport '../src/clock.ts'" }],
  },
  'witnesses know nothing of what they witness': {
    rule: guests.witnessesStandApart,
    caught: [
      { 'test/lab/conformance/a.ts': "import '../../../src/service/contract/operations.ts'" },
      { 'test/support/webhook-witness/a.ts': "import '../sandbox.ts'" },
    ],
  },
  'nothing that ships imports a test': {
    rule: guests.testsStayBehind,
    caught: [{ 'sandbox/a.ts': "import '../test/support/sandbox.ts'" }],
  },
  'a program of the lab needs no test runner': {
    rule: guests.programsRunAlone,
    caught: [
      {
        'test/lab/chaos/main.ts': "import '../../support/a.ts'",
        'test/support/a.ts': "import { vi } from 'vitest'",
      },
    ],
    allowed: [{ 'test/lab/chaos/a.test.ts': "import { vi } from 'vitest'" }],
  },
  'no signer is in reach of the shadow': {
    rule: guests.shadowSignsNothing,
    caught: [
      { 'src/pipeline/shadow-a.ts': "import './attest.ts'" },
      { 'src/keeper/stages/shadow.ts': "import './live.ts'" },
      { 'src/pipeline/shadow-a.ts': "import type { Signer } from '../sign/signer.ts'" },
      {
        'src/pipeline/shadow-a.ts': "import './claim.ts'",
        'src/pipeline/claim.ts': "import '../sign/kms.ts'",
      },
    ],
    allowed: [{ 'src/pipeline/shadow-a.ts': "import type { AttestDeps } from './attest.ts'" }],
  },
  'no object literal is spread into another': {
    rule: shapes.literalsAreWhole,
    caught: [
      { 'src/chain/a.ts': 'export const a = (b: number) => ({ ...{ b }, c: 1 })' },
      { 'agents/allocator/a.ts': 'export const a = [{ b: { ...{ c: 1 } } }]' },
    ],
    allowed: [
      { 'src/chain/a.ts': 'export const a = (b: object) => ({ ...b, ...(b === a ? { c: 1 } : {}) })' },
      { 'src/chain/b.ts': "export const b = [...['--port', '1'], 2]" },
    ],
  },
  'half of the files are under 150 lines': {
    rule: shapes.mostFilesAreSmall,
    caught: [Object.fromEntries(smallFiles)],
  },
  'src/ has at most 20 entries': {
    rule: shapes.srcIsSurveyable,
    caught: [Object.fromEntries(folders)],
  },
  'names say something': {
    rule: shapes.namesSaySomething,
    caught: [
      'src/utils/a.ts',
      'src/chain/helpers.ts',
      'src/chain/Node.ts',
      'src/chain/index.ts',
      'src/guard/hands/a.ts',
      'src/decide/recent.ts',
    ].map((path) => ({ [path]: '' })),
    allowed: [{ 'src/chain/core-rate.ts': '' }],
  },
  'nothing is re-exported': {
    rule: shapes.nothingIsReExported,
    caught: [
      { 'src/chain/a.ts': "export * from './nodes.ts'" },
      { 'src/chain/a.ts': "export type { Nodes } from './nodes.ts'" },
    ],
  },
  'no file only forwards': {
    rule: shapes.nothingOnlyForwards,
    caught: [
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport { b }" },
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport const a = b" },
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport const a = (x: number) => b(x)" },
      {
        'src/chain/a.ts':
          "import { type B, b } from './b.ts'\nexport type A = B\nexport async function a(x: number) {\n  return await b(x)\n}",
      },
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport const a = (...all: number[]) => b(...all)" },
      { 'src/chain/a.ts': "import * as b from './b.ts'\nexport const a = b.b" },
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport default b" },
    ],
    allowed: [
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport const a = (x: number) => b(x, 2)" },
      { 'src/chain/a.ts': "import { b } from './b.ts'\nexport const a = b\nexport const c = 1" },
    ],
  },
  "nothing branches on a role's name": {
    rule: shapes.noBranchOnRoles,
    caught: [
      { 'src/keeper/a.ts': "export const a = (role: string) => role === 'liquidator'" },
      { 'src/keeper/a.ts': "export const a = (role: string) => { switch (role) { case 'rfq-bidder': } }" },
      { 'src/keeper/a.ts': 'export const a = { allocator: 1 }' },
      { 'src/keeper/a.ts': 'export const a = (role: string) => role === `liquidator`' },
      { 'src/keeper/a.ts': 'export type A = { liquidator: string }' },
      { 'src/keeper/a.ts': 'export const a = (by: Record<string, string>) => by.allocator' },
      { 'src/observe/nav-reporter/a.ts': '' },
    ],
    allowed: [{ 'src/guard/sanity/liquidator/liquidator.ts': "export const a = 'liquidator'" }],
  },
  'roles are spelled one way': {
    rule: shapes.rolesAreSpelledOneWay,
    caught: [{ 'agents/navReporter/agent.ts': '' }],
  },
  'test/ mirrors agents/, src/ and sandbox/': {
    rule: shapes.testsMirror,
    caught: [
      { 'test/signing/a.test.ts': '' },
      { 'test/chain/inner/a.test.ts': '' },
      { 'test/sandbox/bank/a.test.ts': '' },
      { 'test/hands.test.ts': '' },
      { 'test/bench/main.ts': '' },
    ],
    allowed: [
      { 'test/guard/sanity/a.test.ts': '', 'test/agents/protocol/a.test.ts': '', 'test/lab/bench/a.ts': '' },
    ],
  },
  'every test runs, on real modules': {
    rule: shapes.testsAreRun,
    caught: [
      { 'test/chain/a.test.ts': "it.skip('is slow', () => {})" },
      { 'test/chain/a.test.ts': "it.concurrent.skip('is slow', () => {})" },
      { 'test/chain/a.test.ts': "it.skipIf(process.env.CI)('is slow', () => {})" },
      { 'test/chain/a.test.ts': "it('is lucky', { retry: 2 }, () => {})" },
      { 'test/chain/a.test.ts': "vi.doMock('../../src/chain/nodes.ts')" },
    ],
  },
  'a test waits for events, judges by no clock, and draws the same each day': {
    rule: waits.testsAwaitEvents,
    caught: [
      'await systemClock.sleep(500)',
      'await new Promise((resolve) => setTimeout(resolve, 20))',
      'await page.waitForTimeout(1_000)',
      'const tookMs = performance.now() - beganMs',
      'expect(Date.now() - beganMs).toBeLessThan(1_000)',
      'await vi.waitFor(() => expect(told).toBe(true))',
      'await expect.poll(() => told, { timeout: 1_000 }).toBe(true)',
      "it('is quick', async () => {\n}, 5_000)",
      "it('is quick', { timeout: 5_000 }, async () => {})",
      'const signal = AbortSignal.timeout(300)',
      'expect(tookMs).toBeLessThan(LIMIT_MS)',
      'fc.configureGlobal({ seed: 7 })',
      'fc.assert(property, { seed: Date.now() })',
    ].map((text) => ({ 'test/chain/a.test.ts': `${text}\n` })),
    allowed: [
      {
        'test/chain/a.test.ts':
          'await until(() => expect(told).toBe(true))\nawait expect.poll(() => told, { interval: 20 }).toBe(true)\nconst atMs = Date.now()\n',
      },
    ],
  },
}

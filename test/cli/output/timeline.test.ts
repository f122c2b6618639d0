import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createTimeline } from '../../../src/cli/output/timeline.ts'
import { placeText } from '../../../src/cli/target/place.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import type { Role } from '../../../src/service/contract/roles.ts'

const MARKET = `0x${'a1'.repeat(20)}` as const
const VAULT = `0x${'b2'.repeat(20)}` as const
const BORROWER = `0x3f2a${'0'.repeat(32)}77c1`
const SUBJECT = `${MARKET}:${VAULT}:${BORROWER}`
const HASH = `0x9c${'0'.repeat(58)}4e21`
const [WETH, USD] = [`0x${'c1'.repeat(20)}`, `0x${'c2'.repeat(20)}`] as const
const pinned = (address: `0x${string}`) => ({ address, codeHash: '0x' as const })
/** The market goes by its assets, the vault by its name. */
const known: Deployment = {
  namespace: '',
  funds: [],
  contracts: [],
  assets: [
    { ...pinned(WETH), symbol: 'sBTC', decimals: 8 },
    { ...pinned(USD), symbol: 'sUSD', decimals: 6 },
  ],
  markets: [
    {
      ...pinned(MARKET),
      loanAsset: USD,
      collateralAsset: WETH,
      oracle: `0x${'c3'.repeat(20)}`,
      oracleCodeHash: '0x',
    },
  ],
  vaults: [{ ...pinned(VAULT), name: 'prime' }],
}
const ID = 'a1b2c3d4e5f60718293a4b5c6d7e8f90'

const at = (ms: number) => new Date(Date.UTC(2026, 10, 21) + ms).toISOString()
const price = (ms: number, priceWad: string): KeeperEvent => ({
  type: 'price',
  at: at(ms),
  marketId: MARKET,
  symbol: 'sBTC/sUSD',
  priceWad,
})
const health = (ms: number, healthFactorWad: string): KeeperEvent => ({
  type: 'health',
  at: at(ms),
  subject: SUBJECT,
  healthFactorWad,
})
const state = (
  ms: number,
  durationMs: number,
  reached: Extract<KeeperEvent, { type: 'workflow' }>['state'],
  more: object = {},
): KeeperEvent => ({
  type: 'workflow',
  id: ID,
  role: 'liquidator',
  workflowType: 'role.liquidator.liquidate',
  state: reached,
  at: at(ms),
  durationMs,
  subject: SUBJECT,
  ...more,
})
const slot = (
  ms: number,
  durationMs: number,
  reached: 'signed' | 'sent' | 'mined' | 'final' | 'reopened',
): Extract<KeeperEvent, { type: 'slot' }> => ({
  type: 'slot',
  id: ID,
  role: 'liquidator',
  at: at(ms),
  nonce: 4,
  purpose: 'payload',
  state: reached,
  durationMs,
  hash: HASH,
  ...(reached === 'mined' ? { blockNumber: '118' } : {}),
})
const decision = (ms: number, proposals: number): KeeperEvent => ({
  type: 'decision',
  role: 'liquidator',
  at: at(ms),
  proposals,
  passedOver: 12,
})

const story: readonly KeeperEvent[] = [
  {
    type: 'ready',
    at: at(0),
    environment: 'sandbox',
    chainId: 71_304,
    directory: '.rolekeeper',
    opsUrl: 'http://127.0.0.1:9464',
    signers: [{ role: 'liquidator', address: `0x1f3a${'0'.repeat(32)}9c0d` }],
    resumed: 1,
  },
  price(100, '64120000000000000000000'),
  health(110, '1013200000000000000'),
  decision(120, 0),
  price(1_100, '64119000000000000000000'),
  price(2_100, '61002110000000000000000'),
  health(2_110, '987100000000000000'),
  decision(2_120, 1),
  state(2_121, 0, 'discovered', {
    summary:
      'health 0.987: repay 1,234.50 sUSD, seize 0.0213 sBTC (+5.00 %), haircut 0.62 %, gas $0.03, expect +$41.20',
  }),
  state(2_123, 2, 'requested'),
  state(2_164, 41, 'prepared'),
  state(2_165, 1, 'attested'),
  state(2_188, 23, 'cleared'),
  state(2_190, 2, 'in_flight'),
  slot(2_252, 62, 'signed'),
  slot(2_258, 6, 'sent'),
  slot(3_190, 932, 'mined'),
  slot(5_190, 2_000, 'final'),
  state(5_191, 3_001, 'confirmed'),
  state(6_210, 1_019, 'succeeded'),
  {
    type: 'gain',
    id: ID,
    role: 'liquidator',
    at: at(6_210),
    paid: '1,234.50 sUSD',
    received: '0.0213 sBTC',
    gas: '$0.03',
    profit: '+$41.20',
    profitUsdMicros: '41200000',
    marked: true,
  },
  health(6_300, '1002000000000000000'),
  decision(16_300, 0),
  {
    type: 'alarm',
    at: at(20_000),
    code: 'slot.stuck',
    message: 'Nonce 5 has been open for 61 s; the limit is 60 s.',
    fix: 'check the sending nodes.',
  },
  {
    type: 'summary',
    at: at(60_000),
    durationMs: 60_000,
    workflows: {
      liquidator: {
        succeeded: 10,
        refused: 1,
        expired: 0,
        reverted: 0,
        superseded: 0,
        partial: 0,
        cancelled: 0,
        unconfirmed: 0,
        quarantined: 0,
        shadowed: 0,
        parked: 1,
      },
    },
    money: {
      liquidator: {
        saidUsdMicros: '1412204999',
        realizedUsdMicros: '1237690000',
        markedUsdMicros: '-3000000',
        gasUsdMicros: '-900000',
      },
    },
  },
]

const drawn = (events: readonly KeeperEvent[], colour = false) => {
  const timeline = createTimeline({ colour, known })
  return events.flatMap((event) => timeline([event]))
}

describe('the timeline', () => {
  it('says where to see what came of a run that could not be added up before its end', () => {
    const summary = story.find((event) => event.type === 'summary')
    if (summary?.type !== 'summary') throw new TypeError('there is no summary')
    const [line] = drawn([{ ...summary, money: null }])
    expect(line).toContain('· what came of it: rolekeeper pnl · in')
    expect(line).not.toContain('realised')
  })

  it('says who pulled a switch and why, and who took it back', () => {
    const event = { type: 'control', at: at(0), givenAt: at(0), by: 'anna@ops-1', reason: null } as const
    const lines = drawn([
      { ...event, verb: 'pause', role: 'allocator', reason: 'a bad oracle' },
      { ...event, verb: 'resume', role: 'allocator' },
      { ...event, verb: 'kill', by: null },
      { ...event, verb: 'unkill' },
    ])
    expect(lines).toEqual([
      '    0.0s  ‖ paused     allocator, by anna@ops-1: a bad oracle',
      '    0.0s  ● resumed    allocator, by anna@ops-1',
      '    0.0s  ■ killed     every role, by somebody, by hand',
      '    0.0s  ● unkilled   every role, by anna@ops-1',
    ])
  })

  it('tells the story of a liquidation', () => {
    expect(`\n${drawn(story).join('\n')}\n`).toMatchInlineSnapshot(`
      "
          0.0s  ● ready      sandbox chain 71304 · liquidator 0x1f3a…9c0d · http://127.0.0.1:9464 · 1 resumed
          0.1s  · price      sBTC/sUSD         64,120.00
          2.1s  ▼ price      sBTC/sUSD         61,002.11    -4.86 %
          2.1s  ▽ under      sBTC/sUSD prime 0x3f2a…77c1  health 1.0132 → 0.9871, under water
          2.1s  ◆ decided    a1b2c3  liquidator     liquidation sBTC/sUSD prime 0x3f2a…77c1
                             health 0.987: repay 1,234.50 sUSD, seize 0.0213 sBTC (+5.00 %), haircut 0.62 %, gas $0.03, expect +$41.20
          2.1s  │ requested  a1b2c3      2 ms
          2.2s  │ prepared   a1b2c3     41 ms
          2.2s  │ attested   a1b2c3      1 ms
          2.2s  │ cleared    a1b2c3     23 ms
          2.2s  │ in_flight  a1b2c3      2 ms
          2.3s  │ signed     a1b2c3     62 ms  nonce 4  0x9c00…4e21
          2.3s  │ sent       a1b2c3      6 ms  nonce 4  0x9c00…4e21
          3.2s  │ mined      a1b2c3    932 ms  nonce 4  0x9c00…4e21  block 118
          5.2s  │ final      a1b2c3       2 s  nonce 4  0x9c00…4e21
          5.2s  │ confirmed  a1b2c3    3.00 s
          6.2s  ✓ succeeded  a1b2c3  liquidator     liquidation sBTC/sUSD prime 0x3f2a…77c1  after 4.08 s
          6.2s  + gained     a1b2c3  liquidator     paid 1,234.50 sUSD, received 0.0213 sBTC, gas $0.03: +$41.20 (marked, nothing was sold)
          6.3s  △ above      sBTC/sUSD prime 0x3f2a…77c1  health 0.9871 → 1.0020, safe again
         16.3s  · watching   12 looked at, nothing to do
         20.0s  ! alarm      slot.stuck: Nonce 5 has been open for 61 s; the limit is 60 s. Fix: check the sending nodes.
         60.0s  ■ summary    liquidator: 10 succeeded, 1 refused, 1 parked, expected +$1,412.20, realised +$1,237.69, marked -$3.00 · in 1 min
      "
    `)
  })

  it('names who did what on each line, also where roles come up one by one, and in order', () => {
    const ready = { ...story[0], signers: [] } as KeeperEvent
    const up = (ms: number, role: Role): KeeperEvent => ({
      type: 'role',
      at: at(ms),
      role,
      signer: `0x${'2'.repeat(40)}`,
      state: 'up',
    })
    const other = { id: 'f'.repeat(32), role: 'rfq-bidder', subject: 'auction:77' } as const
    const bid = { ...other, workflowType: 'role.lender.distressedRecoveryFundV3AuctionBid' }
    const lines = drawn([
      ...[ready, up(1_000, 'liquidator'), up(2_000, 'rfq-bidder')],
      ...[state(3_000, 0, 'discovered'), state(2_900, 0, 'discovered', bid)],
      ...[state(4_000, 9, 'superseded', { ...bid, check: 'outbid', message: 'It was outbid.' })],
      state(5_000, 9, 'succeeded'),
    ])
    expect(lines.slice(3)).toEqual([
      '    3.0s  ◆ decided    a1b2c3  liquidator     liquidation sBTC/sUSD prime 0x3f2a…77c1',
      '    3.0s  ◆ decided    ffffff  rfq-bidder     auction bid auction 77',
      '    4.0s  ✗ superseded ffffff  rfq-bidder     auction bid auction 77  after 1 s  outbid: It was outbid.',
      '    5.0s  ✓ succeeded  a1b2c3  liquidator     liquidation sBTC/sUSD prime 0x3f2a…77c1  after 2 s',
    ])
  })

  it('draws the same lines for the same events, and only adds colour to them', () => {
    expect(drawn(story)).toEqual(drawn(story))
    const coloured = drawn(story, true)
    expect(coloured.join('')).toContain('\u001b[')
    expect(coloured.map(stripVTControlCharacters)).toEqual(drawn(story))
  })

  it('draws the slots of a workflow that move together in one line, and others apart', () => {
    const timeline = createTimeline({ colour: false, known })
    const other = { ...slot(0, 60, 'sent'), id: 'f'.repeat(32) }
    const lines = timeline([
      slot(0, 60, 'sent'),
      { ...slot(0, 60, 'sent'), nonce: 5 },
      other,
      slot(9, 9, 'mined'),
    ])
    expect(lines.map((text) => text.slice(12))).toEqual([
      'sent       a1b2c3     60 ms  nonce 4, 5  0x9c00…4e21',
      'sent       ffffff     60 ms  nonce 4  0x9c00…4e21',
      'mined      a1b2c3      9 ms  nonce 4  0x9c00…4e21  block 118',
    ])
  })

  it('draws a price when it has moved by one percent since the last one drawn, and not just below', () => {
    const begin = price(0, '10000000000000000000000')
    expect(drawn([begin, price(1, '10099999999999999999999')])).toHaveLength(1)
    expect(drawn([begin, price(1, '10100000000000000000000')])[1]).toContain('+1.00 %')
    expect(
      drawn([begin, price(1, '10099000000000000000000'), price(2, '10101000000000000000000')]),
    ).toHaveLength(2)
    expect(drawn([begin, price(1, '9900000000000000000000')])[1]).toContain('-1.00 %')
  })

  it('draws a health factor when it crosses 1, which is not below 1', () => {
    expect(drawn([health(0, '1000000000000000000')])).toEqual([])
    expect(drawn([health(0, '1000000000000000000'), health(1, '999999999999999999')])[0]).toContain(
      '1.0000 → 0.9999',
    )
    expect(drawn([health(0, '999999999999999999')])).toHaveLength(1)
    expect(drawn([health(0, '999999999999999999'), health(1, '900000000000000000')])).toHaveLength(1)
  })

  it('says why a workflow did not succeed, without what a message might do to a terminal', () => {
    const refused = state(40, 30, 'refused', {
      check: 'target_not_allowed',
      message: `Target \u001b[2J0x${'ab'.repeat(20)}\u202e is not\nallowed.`,
    })
    expect(drawn([state(0, 0, 'discovered'), refused]).at(-1)).toMatchInlineSnapshot(
      `"    0.0s  ✗ refused    a1b2c3  liquidator     liquidation sBTC/sUSD prime 0x3f2a…77c1  after 40 ms  target_not_allowed: Target 0xabab…abab is not allowed."`,
    )
  })
})

describe('what waits for a person, and what is in shadow', () => {
  const lines = createTimeline({ colour: false, known })
  const drawn = (events: readonly KeeperEvent[]) => events.flatMap((event) => lines([event]))

  it('says why, how to approve it, and how long there is', () => {
    const held: KeeperEvent = {
      type: 'held',
      id: ID,
      role: 'liquidator',
      at: at(0),
      hash: 'a1'.repeat(32),
      check: 'approval_always',
      message: 'The policy asks.',
      expiresAt: at(900_000),
    }
    expect(drawn([held])).toEqual([
      '    0.0s  ? held       a1b2c3  liquidator     approval_always: The policy asks.',
      '                       approve within 15 min with: rolekeeper approve a1b2c3d4',
    ])
    // Pasted into a terminal it has to reach this keeper, not the one of the folder.
    const place = placeText({ config: 'config/my keeper.yaml' })
    expect(createTimeline({ colour: false, at: place, known })([held])[1]).toMatch(
      /rolekeeper approve a1b2c3d4 --config 'config\/my keeper.yaml'$/,
    )
  })

  it('says that a policy which was saved is at work', () => {
    const event = { type: 'policy', at: at(0), role: 'liquidator', ruleset: 'c0'.repeat(32) } as const
    expect(createTimeline({ colour: false, known })([event])).toEqual([
      '    0.0s  ● policy     liquidator: the narrower one is taken up, rules c0c0c0c0c0c0',
    ])
  })

  it('shows an alarm with the command that mends it whole, so that it can be typed', () => {
    const fix = `wait; then \`rolekeeper signer release 0x${'5a'.repeat(20)}\`.`
    const message = `0x${'5a'.repeat(20)} is SAFE: ${'the counts differ, '.repeat(25)}`
    const event = { type: 'alarm', at: at(0), code: 'signer.safe', message, fix } as const
    expect(createTimeline({ colour: false, known })([event]).join('')).toContain(fix)
  })

  it('draws the end of a shadow as neither success nor failure', () => {
    const [line] = drawn([
      state(1_000, 900, 'shadowed', { check: 'won', message: 'It would still have gone.' }),
    ])
    expect(line).toMatch(/○ shadowed .*won: It would still have gone\./)
  })
})

it('draws of several roles what each decided and how it ended, and a reorg', () => {
  const [ready, ...rest] = story
  if (ready?.type !== 'ready') throw new TypeError('the story begins otherwise')
  const draw = createTimeline({ colour: false, known })
  const signers = [...ready.signers, { role: 'allocator', address: `0x${'2'.repeat(40)}` }]
  const several: KeeperEvent = { ...ready, signers }
  const reopened = slot(5_000, 1, 'reopened')
  const words = [several, ...rest, reopened].flatMap((event) =>
    draw([event]).map((line) => line.slice(10, 22).trim()),
  )
  const steps = ['requested', 'prepared', 'signed', 'mined', 'final', 'confirmed']
  expect(words.filter((word) => steps.some((step) => word.endsWith(step)))).toEqual([])
  expect(words).toContain('◆ decided')
  expect(words).toContain('✓ succeeded')
  expect(words).toContain('│ reopened')
})

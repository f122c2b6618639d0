import { describe, expect, it } from 'vitest'
import { durationMs } from '../../src/cli/parse/options.ts'
import { createShow, runSession } from '../../src/cli/session.ts'
import type { Keeper } from '../../src/keeper/keeper.ts'
import type { KeeperEvent, SummaryEvent, WorkflowCounts } from '../../src/ops/events.ts'

const NOTHING = { namespace: '', assets: [], markets: [], vaults: [], funds: [], contracts: [] }

const counts: WorkflowCounts = {
  succeeded: 3,
  refused: 0,
  expired: 0,
  reverted: 0,
  superseded: 0,
  partial: 0,
  cancelled: 0,
  unconfirmed: 0,
  quarantined: 0,
  shadowed: 0,
  parked: 0,
}
const summary = (liquidator: Partial<WorkflowCounts> = {}): SummaryEvent => ({
  type: 'summary',
  at: '2026-11-21T00:00:00.000Z',
  durationMs: 10,
  workflows: { liquidator: { ...counts, ...liquidator } },
  money: {},
})
const never = new Promise<never>(() => {})

/** A keeper that writes down what it is told; a drain takes as long as `drained`. */
function fakeKeeper(parts: Partial<Keeper> & { drained?: Promise<void> } = {}) {
  const told: string[] = []
  const keeper: Keeper = {
    start: async () => {
      told.push('start')
    },
    stop: async ({ drainMs }) => {
      told.push(`stop ${drainMs}`)
      if (drainMs > 0) await parts.drained
    },
    onEvent: () => () => {},
    summary: () => summary(),
    ...parts,
  }
  return { keeper, told }
}

const run = (
  keeper: Keeper,
  options: { interrupted?: Promise<void>; forMs?: number; broken?: Promise<never> },
) => {
  const shown: KeeperEvent[] = []
  const { interrupted = never, forMs, broken = never } = options
  return {
    shown,
    code: runSession(keeper, {
      show: { event: (event) => shown.push(event), end: () => {} },
      interrupted,
      forMs,
      broken,
    }),
  }
}

describe('a session', () => {
  it('stops deciding when its time is over, drains for at most 30 s, and shows the summary last', async () => {
    const { keeper, told } = fakeKeeper()
    const { code, shown } = run(keeper, { forMs: 1 })
    expect(await code).toBe(0)
    expect(told).toEqual(['start', 'stop 30000', 'stop 0'])
    expect(shown).toEqual([summary()])
  })

  it('parks at once when it is interrupted, also while it drains', async () => {
    const { keeper, told } = fakeKeeper()
    expect(await run(keeper, { interrupted: Promise.resolve() }).code).toBe(0)
    expect(told).toEqual(['start', 'stop 0'])
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = fakeKeeper({ drained: never })
    const { code } = run(slow.keeper, { forMs: 1, interrupted: promise })
    await expect.poll(() => slow.told).toContain('stop 30000')
    resolve()
    expect(await code).toBe(0)
    expect(slow.told).toEqual(['start', 'stop 30000', 'stop 0'])
  })

  it('does not wait for a keeper that never stops', async () => {
    const { keeper } = fakeKeeper({ stop: () => never })
    await run(keeper, { interrupted: Promise.resolve() }).code
  })

  it('fails with what stopped the start, and with what it lost', async () => {
    const denied = fakeKeeper({ start: () => Promise.reject(new Error('denied')) })
    const first = run(denied.keeper, {})
    await expect(first.code).rejects.toThrow('denied')
    expect(first.shown).toEqual([])
    expect(denied.told).toEqual(['stop 0'])
    const second = run(fakeKeeper().keeper, { broken: Promise.reject(new Error('the sandbox ended')) })
    await expect(second.code).rejects.toThrow('the sandbox ended')
  })

  it('exits with 1 when a workflow was quarantined, and with 0 for what is parked', async () => {
    const ended = (liquidator: Partial<WorkflowCounts>) =>
      run(fakeKeeper({ summary: () => summary(liquidator) }).keeper, { forMs: 1 }).code
    expect(await ended({ quarantined: 1 })).toBe(1)
    expect(await ended({ parked: 2, refused: 1, reverted: 1 })).toBe(0)
  })

  it('shows each event as one JSON object a line', async () => {
    let out = ''
    const io = {
      out: (text: string) => {
        out += text
      },
      err: () => {},
      outIsTty: false,
      errIsTty: false,
      env: {},
    }
    const show = await createShow(io, { json: true, known: NOTHING })
    show.event(summary())
    show.event(summary())
    expect(out.split('\n').map((line) => line && JSON.parse(line))).toEqual([summary(), summary(), ''])
  })

  it('colours a terminal, and neither a pipe nor one that asks for none', async () => {
    const drawn = async (outIsTty: boolean, env: Record<string, string>) => {
      let out = ''
      const show = await createShow(
        { out: (text) => (out += text), err: () => {}, outIsTty, errIsTty: false, env },
        { json: false, known: NOTHING },
      )
      show.event(summary())
      show.end()
      return out.includes('\u001b[')
    }
    expect(await Promise.all([drawn(true, {}), drawn(true, { NO_COLOR: '1' }), drawn(false, {})])).toEqual([
      true,
      false,
      false,
    ])
  })
})

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['10m', 600_000],
    ['1d', 86_400_000],
    ['596h', 2_145_600_000],
    ['2147483647ms', 2_147_483_647],
  ])('takes %s', (text, ms) => {
    expect(durationMs('for', text)).toBe(ms)
  })

  it.each(['60', 's', '-1s', '1.5s', '25d', '1y', ' 1s', '597h', '2147483648ms', '', '1s1s'])(
    'refuses "%s"',
    (text) => {
      expect(() => durationMs('for', text)).toThrow(`--for is "${text}".`)
    },
  )
})

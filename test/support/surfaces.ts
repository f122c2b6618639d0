import type { KeeperStatus } from '../../src/ops/status.ts'

/** What `pnl --json` prints of a role; millionths of a US dollar. */
type Earned = Readonly<
  Record<'role' | 'moved' | 'gas' | 'positions' | 'marked', string | null> & { readonly said: string | null }
>
/** What `workflows list --json` prints of a workflow. */
type Listed = {
  readonly id: string
  readonly role: string
  readonly state: string
  readonly proposal: { readonly summary: string }
}
type Amounts = Readonly<Record<string, string | undefined>>

/** Parts of the console's page. */
type Shown = {
  readonly roles: readonly {
    readonly role: string
    readonly live: number
    readonly held: number
    readonly balance: string | null
  }[]
  readonly budgets: readonly {
    readonly role: string
    readonly budget: string
    readonly left: string | null
  }[]
  readonly facets: readonly {
    readonly facet: string
    readonly about: string
    readonly state: string
    readonly message: string
  }[]
  readonly approvals: readonly { readonly id: string; readonly summary: string }[]
  readonly workflows: readonly { readonly id: string; readonly state: string; readonly summary: string }[]
  readonly money: { readonly today: Readonly<Record<string, Amounts>> }
  readonly alarms: readonly { readonly code: string }[]
}

/** All that says something of a keeper, read while nothing happens. */
export type Surfaces = {
  readonly status: KeeperStatus
  readonly shown: Shown
  /** The text of `/metrics`. */
  readonly metrics: string
  readonly pnl: readonly Earned[]
  readonly listed: readonly Listed[]
  /** What `explain ID` prints, by id. */
  readonly explained: Readonly<Record<string, string>>
}

const ALARMS_MAX = 50

/** Compare every figure that stands on two of them. @returns what differs, one line each. Pure. */
export function disagreements({
  status,
  shown,
  metrics,
  pnl,
  listed,
  explained,
}: Surfaces): readonly string[] {
  const found: string[] = []
  const same = (what: string, all: Readonly<Record<string, unknown>>) => {
    const said = Object.entries(all).filter(([, value]) => value !== undefined)
    if (new Set(said.map(([, value]) => String(value))).size > 1)
      found.push(`${what}: ${said.map(([where, value]) => `${where} ${value}`).join(', ')}`)
  }
  const metric = metricsOf(metrics)
  const isOneDay = status.startedAt.slice(0, 10) === status.at.slice(0, 10)
  for (const one of status.roles) {
    const { role, live, held, lateCount, exposureUsdMicros } = one
    const at = (name: string) => `${name} of the ${role}`
    const card = shown.roles.find((each) => each.role === role)
    const today = shown.money.today[role]
    const earned = isOneDay ? pnl.find((each) => each.role === role) : undefined
    const realised =
      earned && String(BigInt(earned.moved ?? 0) + BigInt(earned.gas ?? 0) + BigInt(earned.positions ?? 0))
    const none = (value: string | null | undefined) => value ?? '0'
    same(at('realised'), {
      status: none(one.realizedTodayUsdMicros),
      console: none(today?.realizedUsdMicros),
      pnl: isOneDay ? none(realised) : undefined,
    })
    same(at('marked'), {
      status: none(one.markedTodayUsdMicros),
      console: none(today?.markedUsdMicros),
      pnl: isOneDay ? none(earned?.marked) : undefined,
    })
    same(at('expected'), {
      console: none(today?.saidUsdMicros),
      pnl: isOneDay ? none(earned?.said) : undefined,
    })
    same(at('under way'), { status: live, console: card?.live, metrics: metric('workflows_live', { role }) })
    same(at('held'), { status: held, console: card?.held, metrics: metric('workflows_held', { role }) })
    same(at('exposure'), {
      status: Number(exposureUsdMicros) / 1e6,
      metrics: metric('exposure_dollars', { role }),
    })
    same(at('gas'), {
      console: card?.balance?.replace(' ETH', ''),
      metrics: metric('native_balance_ether', { role })?.toFixed(4),
    })
    same(at('late'), { status: lateCount, metrics: metric('duty_late', { role }) })
    for (const { name, left, part } of one.budgets) {
      const meter = shown.budgets.find((each) => each.role === role && each.budget === name)
      same(at(`${name} left`), { status: left, console: meter?.left ?? 'nothing' })
      same(at(`${name} used`), { status: part, metrics: metric('budget_used_ratio', { role, budget: name }) })
    }
    const ended = listed.filter((each) => each.role === role && each.state === 'succeeded').length
    same(at('successes'), {
      journal: ended,
      metrics: metric('workflow_outcomes_total', { role, outcome: 'succeeded' }) ?? 0,
    })
  }
  const levels: readonly string[] = ['ok', 'warning', 'failing']
  for (const { facet, about, state, message } of status.facets) {
    const part = shown.facets.find((each) => each.facet === facet && each.about === about)
    same(`${facet} ${about}`, {
      status: state,
      console: part?.state,
      metrics: levels[metric('facet_state', { facet, about }) ?? -1],
    })
    if (facet === 'approvals' && state !== 'ok')
      same('waiting', { facet: Number.parseInt(message, 10), status: status.approvals.length })
  }
  same('approvals', {
    status: status.approvals.map(({ id, summary }) => `${id} ${summary}`).toSorted(),
    console: shown.approvals.map(({ id, summary }) => `${id} ${summary}`).toSorted(),
  })
  // A page has the newest fifty.
  const codes = shown.alarms.length < ALARMS_MAX ? new Set(shown.alarms.map((each) => each.code)) : []
  for (const code of codes)
    same(`alarms ${code}`, {
      console: shown.alarms.filter((each) => each.code === code).length,
      metrics: metric('alarms_total', { code }),
    })
  for (const { id, state, summary } of shown.workflows) {
    const record = listed.find((each) => each.id === id)
    same(`state of ${id}`, { console: state, journal: record?.state })
    same(`summary of ${id}`, { console: summary, journal: record?.proposal.summary })
    if (explained[id] !== undefined && !explained[id].includes(summary))
      found.push(`summary of ${id}: console ${summary}, explain ${explained[id].split('\n')[2]}`)
  }
  return found
}

/** Read samples of a metric, and add up those that have all of the labels; undefined where there is none. */
const metricsOf = (text: string) => {
  const samples = [...text.matchAll(/^rolekeeper_(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value]) => ({
      name,
      labels: new Map([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', each = '']) => [key, each])),
      value: Number(value),
    }),
  )
  return (name: string, wanted: Readonly<Record<string, string>>): number | undefined => {
    const all = samples.filter(
      (each) =>
        each.name === name && Object.entries(wanted).every(([key, value]) => each.labels.get(key) === value),
    )
    return all.length === 0 ? undefined : all.reduce((sum, { value }) => sum + value, 0)
  }
}

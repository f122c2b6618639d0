import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ALARM_CODES } from '../../src/ops/alarms/codes.ts'
import { runbookOf } from '../../src/ops/alarms/shapes.ts'
import { createKeeperScene, type KeeperScene, reached } from '../support/keeper-scene.ts'
import { askPromtool, startPrometheus, type TestPrometheus } from '../support/prometheus.ts'

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}
const FILES = ['config/alerts.yaml', 'config/fleet-alerts.yaml']
const rulesOf = (file: string): readonly Rule[] =>
  parse(readFileSync(file, 'utf8')).groups.flatMap(
    (group: { readonly rules: readonly Rule[] }) => group.rules,
  )
const rules = FILES.flatMap(rulesOf)

const RUNBOOKS = 'docs/runbooks'
const pages = new Map(
  readdirSync(RUNBOOKS).map((name) => [`${RUNBOOKS}/${name}`, readFileSync(`${RUNBOOKS}/${name}`, 'utf8')]),
)

/** What a target is told and no alarm counts. */
const NOTICES = ['alarms.flood', 'approval.waits']

/**
 * Codes of errors that end a start or answer a command, or that say within \`role.down\`, \`role.not_deciding\` or another
 * alarm's message why it is so: none of them is an alarm of its own.
 */
const WITHIN =
  /^(approval\.(always|beyond|quorum)|approvers?|config|console|error|init|keeper|guard|limits|ops|order|plan|positions|replies|session|sign|webhook|worth)\b|^(accounts\.(absent|decided|gap|not_read|not_summing|other_chain)|allowance\.not_read|control\.not_written|deployment\.assets|fleet\.(changed|name_taken|no_signer|not_proven|place|stands_by|witnessed)|journal\.(absent|archived|conflict|corrupt|failed|founded|locked|moved|not_founded|not_new|redis_url|version)|kms\.(throttled|timeout|unreachable)|node\.(not_shown|not_taken|simulation_rejected|view_empty)|policy\.(answer_unreadable|approval_invalid|contract_unknown|for_sandbox|guard_invalid|loosen|loosening_unapproved|other_role|source_unknown|view_invalid|view_missing)|role\.(broken|opening)|save\.held|secrets\.no_manager|service\.(conflict|in_progress|other_chain)|watermark\.(other_chain|other_signer))$/

/** Every code that the keeper can say, by its source. */
const codes = new Set(
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    // What a command or the doctor says is told to who asked.
    .filter((file) => file.endsWith('.ts') && !/^(cli\/|keeper\/doctor\/|ops\/alarm-codes)/.test(file))
    .flatMap((file) =>
      [
        ...readFileSync(`src/${file}`, 'utf8').matchAll(
          /(?:RolekeeperError\(|code: |\? |: |\()\s*'([a-z][a-z-]*\.[a-z_]+)'/g,
        ),
      ].map(([, code = '']) => code),
    ),
)

describe('the alarms', () => {
  it('of the source are each counted from 0, or say within another what it is', () => {
    const known = [...ALARM_CODES, ...NOTICES]
    expect([...codes].filter((code) => !known.includes(code) && !WITHIN.test(code)).toSorted()).toEqual([])
  })

  it('have each a heading in the runbook of their area, with what to check, to do and to expect', () => {
    const PARTS = ['Symptom', 'Check', 'Fix', 'If you wait']
    const without = [...ALARM_CODES, ...NOTICES].filter((code) => {
      const [path = ''] = runbookOf(code).split('#')
      const section = pages
        .get(path)
        ?.split(/^## /m)
        .find((text) => text.startsWith(`${code}\n`))
      return !PARTS.every((part) => section?.includes(`- **${part}**: `))
    })
    expect(without).toEqual([])
  })
})

describe('the rules for Prometheus', () => {
  it('are understood by promtool, and loaded by the Prometheus of docker-compose.yml', async () => {
    expect(await askPromtool(['check', 'rules', ...FILES])).toMatchObject({ ok: true })
    const { ok, said } = await askPromtool(['check', 'config', 'config/prometheus.yaml'])
    expect({ ok, said }).toEqual({
      ok: true,
      said: expect.stringContaining(`SUCCESS: ${FILES.length} rule files found`),
    })
  })

  it.each(FILES)(
    'of %s say what their unit tests expect, each of them, and when they say nothing',
    async (rulesFile) => {
      const file = `test/ops/rules/${basename(rulesFile, '.yaml')}.test.yaml`
      const { ok, said } = await askPromtool(['test', 'rules', file])
      expect(said).toContain('SUCCESS')
      expect(ok).toBe(true)
      const tested = readFileSync(file, 'utf8')
      const without = rulesOf(rulesFile).filter(({ alert }) => !tested.includes(`alertname: ${alert}`))
      expect(without).toEqual([])
    },
  )

  it('name a severity, a summary and a page that names them, and each page that names one is its page', () => {
    const wrong = rules.filter(({ alert, labels, annotations: { summary, runbook = '' } }) => {
      const isKnown = ['page', 'ticket'].includes(labels.severity) && summary !== undefined
      return !isKnown || pages.get(runbook)?.includes(`\`${alert}\``) !== true
    })
    expect(wrong).toEqual([])
    const alerts = rules.map(({ alert }) => alert)
    const named = [...pages.values()].flatMap((text) => text.match(/\bRolekeeper\w+/g) ?? [])
    expect(named.filter((name) => !alerts.includes(name))).toEqual([])
  })
})

describe('what a real Prometheus has of a run', () => {
  let world: KeeperScene
  let prometheus: TestPrometheus
  let page: string
  beforeAll(async () => {
    world = await createKeeperScene(1)
    const { until, page: read } = await world.start()
    const ready = await until(({ type }) => type === 'ready')
    prometheus = await startPrometheus(ready.type === 'ready' ? ready.opsUrl : '')
    await world.openUnderWater()
    await until(reached('succeeded'))
    page = await read('/metrics')
  })
  afterAll(async () => {
    await prometheus?.stop()
    await world?.stop()
  })

  /** The variables of a dashboard stand for all. */
  const whole = (query: string) => query.replace(/\$(instance|role)\b/g, '.*')
  const dashboards = readdirSync('config/grafana/dashboards').map((name) => ({
    name,
    panels: JSON.parse(readFileSync(`config/grafana/dashboards/${name}`, 'utf8')).panels as readonly {
      readonly title: string
      readonly targets: readonly { readonly expr: string }[]
    }[],
  }))
  const queries = [
    ...dashboards.flatMap(({ panels }) =>
      panels.flatMap(({ targets }) => targets.map(({ expr }) => whole(expr))),
    ),
    // The questions of its table.
    ...readFileSync('docs/metrics.md', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .flatMap((line) => [...line.matchAll(/`([^`]*\brolekeeper_[^`]*)`/g)])
      .map(([, query = '']) => query.replaceAll('\\|', '|')),
    ...rules.map(({ expr }) => expr),
  ]
  /** The families that queries ask for and the run does not export. */
  const unknownIn = (asked: readonly string[]): readonly string[] => {
    const exported = new Set([...page.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name))
    const names = asked
      .flatMap((query) => query.match(/\b(?:rolekeeper|nodejs)_\w+/g) ?? [])
      .map((name) => name.replace(/_(?:bucket|count|sum)$/, ''))
    return [...new Set(names)].filter((name) => !exported.has(name))
  }

  it('answers every query of panels, rules and docs/metrics.md, each of families that the run exports', async () => {
    expect(queries.length).toBeGreaterThan(80)
    for (const query of queries) await prometheus.ask(query)
    // Those of a fleet are held against its page by test/ops/metrics.test.ts.
    const [ours = ''] = FILES
    expect(unknownIn([...queries.slice(0, -rules.length), ...rulesOf(ours).map(({ expr }) => expr)])).toEqual(
      [],
    )
  })

  it('finds a rule that asks for a metric which is not there, though promtool finds nothing wrong with it', async () => {
    const wrong = rulesOf('config/alerts.yaml').map(({ expr }) => expr.replace('duty_late', 'duties_late'))
    expect(unknownIn(wrong)).toEqual(['rolekeeper_duties_late'])
  })

  /** What did not happen in this run, or not always so soon. */
  const QUIET = [
    ...[
      'Facets that are not well',
      'Realised, 1 day',
      'Realised since the start',
      'Alarms, 1 hour',
      ...['Next due, and age of the last report', 'Refusals by check, 15 minutes'],
    ],
    ...['Approvals: time left', 'Left alone, in dollars, by rule', 'Outcomes, 1 hour', 'Money by part'],
    ...['Allowances used', 'Shadow verdicts, 1 hour', 'Nodes that stand alone, 1 hour', 'Webhook requests'],
    ...['Alarm deliveries', 'SAFE', 'Cap of all roles', 'Accounts that stand still'],
  ]

  it('shows something in every panel but of what did not happen', async () => {
    const silent: string[] = []
    for (const { name, panels } of dashboards) {
      for (const { title, targets } of panels) {
        const found = await Promise.all(targets.map(({ expr }) => prometheus.ask(whole(expr))))
        if (!QUIET.includes(title) && found.every((series) => series.length === 0))
          silent.push(`${name}: ${title}`)
      }
    }
    expect(silent).toEqual([])
  })

  it('is fewer than 2,000 series', async () => {
    expect((await prometheus.ask('{job="rolekeeper"}')).length).toBeLessThan(2_000)
  })
})

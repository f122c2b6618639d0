/**
 * `npm run attacks [-- --seconds N] [--json]`: plays every attack end to end against the sandbox, with the log of its
 * KMS as the witness. First the agents work with an honest service until each workflow type has come by; then each
 * attack is served to client, rules and keys for every answer that it fits; then what is no answer is done, by people who
 * approve, by rows, nodes and contracts, and by one node of three beneath a keeper, and a signature is asked for wherever
 * nothing refuses it; then the keeper of all roles decides for N seconds with a service that answers nothing but attacks.
 * Exits 1 when an attack was not refused by its check, or when the KMS was asked for a signature.
 */
import { createProgress } from '../../support/progress.ts'
import { readScript } from '../../support/script.ts'
import { ATTACKS } from './all.ts'
import { createBeneath } from './beneath.ts'
import { type Deed, playDeeds } from './deeds.ts'
import { createStage, honestRun, hostileRun, keyOf, type Played, playAll } from './live.ts'
import { MODEL_DEEDS } from './model.ts'
import { createMoments } from './moments.ts'
import { PEOPLE_DEEDS } from './people.ts'
import { isKnown } from './play.ts'
import { ROW_DEEDS } from './rows.ts'

/** In the sandbox's first two minutes each type has its occasion; a loaded machine gets more. */
const HONEST_MS_MAX = 180_000

const { values } = readScript(import.meta.url, {
  seconds: { type: 'string', default: process.env.npm_config_seconds ?? '30' },
  // Without a "--" before it npm takes the option for its own, and only says so in the environment.
  json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
})
const print = (line: string) => process.stdout.write(`${line}\n`)
const say = (text: string) => process.stderr.write(`${text}\n`)

const stage = await createStage()
try {
  say('the agents work with an honest service')
  const captured = await honestRun(stage, HONEST_MS_MAX)
  const before = stage.signatures()
  // Nothing else happens while plays keep this process busy for seconds.
  const { weather } = stage.session.sandbox
  await weather.pause()
  say(`${captured.length} answers are attacked`)
  const played = await playAll(stage, captured, createProgress('attacks', captured.length))
  const { deeds, done } = await doAll()
  weather.resume()
  say(`the agents work with a hostile service for ${values.seconds} s`)
  const decided = await hostileRun(stage, Number(values.seconds) * 1_000)
  const signatures = stage.signatures() - before
  report({ deeds, played: [...played, ...done], decided, types: captured.length, signatures })
} finally {
  await stage.stop()
}

/** Do what is no answer, with chains of its own for what happens on one. */
async function doAll() {
  const [moments, beneath] = await Promise.all([createMoments(), createBeneath()])
  try {
    const deeds = [...PEOPLE_DEEDS, ...ROW_DEEDS, ...MODEL_DEEDS, ...moments.deeds, ...beneath.deeds]
    say(`${deeds.length} deeds are done`)
    const onDone = createProgress('attacks', deeds.length)
    const shown = deeds.map((deed) => ({ ...deed, play: () => deed.play().finally(onDone) }))
    return { deeds, done: await playDeeds(shown, await keyOf(stage)) }
  } finally {
    await moments.stop()
    await beneath.stop()
  }
}

type Report = {
  readonly deeds: readonly Deed[]
  readonly played: readonly Played[]
  readonly decided: readonly Played[]
  readonly types: number
  readonly signatures: number
}

function report({ deeds, played, decided, types, signatures }: Report): void {
  const all = [...played, ...decided]
  const wrong = all.filter(({ state, check, expected }) => state !== 'refused' || check !== expected)
  const open = ATTACKS.filter(({ check }) => typeof check === 'string' && !isKnown(check))
  for (const { name, incident, check } of [...ATTACKS, ...deeds]) {
    const rows = all.filter(({ attack }) => attack === name)
    const checks = [...new Set(rows.map((row) => row.check))]
    const refused = rows.filter(({ state }) => state === 'refused').length
    const row = { name, ...(incident === undefined ? {} : { incident }), plays: rows.length, refused, checks }
    if (values.json) print(JSON.stringify(row))
    else {
      const said =
        rows.length === 0
          ? open.some((each) => each.name === name)
            ? `open: ${check}`
            : 'not played'
          : checks.join(', ')
      print(
        `${`${refused}/${rows.length}`.padStart(8)}  ${`${incident === undefined ? '' : `${incident}: `}${name}`.padEnd(84)} ${said}`,
      )
    }
  }
  const sum = {
    attacks: ATTACKS.length + deeds.length,
    open: open.length,
    answers: types,
    plays: played.length,
    decided: decided.length,
    wrong: wrong.length,
    signatures,
  }
  for (const { attack, workflowType, expected, state, check } of wrong)
    say(`WRONG: ${workflowType} ${attack}: ${state} by ${check || 'nothing'}, expected ${expected}`)
  print(
    values.json
      ? JSON.stringify(sum)
      : `\n${Object.entries(sum)
          .map(([key, count]) => `${key} ${count}`)
          .join(', ')}`,
  )
  process.exitCode = wrong.length === 0 && signatures === 0 ? 0 : 1
}

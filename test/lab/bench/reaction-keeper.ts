/**
 * The real keeper of a run configuration, in a process of its own; its parent is told `ready`, and of every workflow
 * how far it came.
 */
import { loadRunConfig } from '../../../src/config/config.ts'
import { createKeeper } from '../../../src/keeper/keeper.ts'
import { createLog } from '../../../src/ops/log.ts'
import { isWellKnown } from '../../../src/sign/well-known.ts'

/** What the parent is told: of workflows, in their order, or that the keeper is ready. */
export type Told = readonly { readonly id: string; readonly state: string }[] | 'ready'

/** To tell costs as much as a step of a workflow, and is no time of the keeper's: what is told waits so long. */
const TELL_MS = 50

const [file = ''] = process.argv.slice(2)
const keeper = createKeeper(loadRunConfig(file, { env: process.env, isWellKnown }), {
  version: 'bench',
  log: createLog({ level: 'error', secrets: [], write: (line) => process.stderr.write(line) }),
})
let moves: Exclude<Told, 'ready'> = []
keeper.onEvent((event) => {
  if (event.type !== 'workflow') return
  if (moves.length === 0) setTimeout(tellMoves, TELL_MS)
  moves = [...moves, { id: event.id, state: event.state }]
})
process.on('disconnect', () => process.exit())
await keeper.start()
tell('ready')

function tellMoves(): void {
  tell(moves)
  moves = []
}

function tell(told: Told): void {
  process.send?.(told)
}

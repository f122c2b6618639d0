/**
 * The real keeper of a run configuration, in a process of its own; its parent is told `ready`, and of every workflow
 * how far it came.
 */
import { loadRunConfig } from '../../src/config/config.ts'
import { createKeeper } from '../../src/keeper/keeper.ts'
import { createLog } from '../../src/ops/log.ts'
import { isWellKnown } from '../../src/sign/well-known.ts'

/** What the parent is told of a workflow. */
export type Told = { readonly id: string; readonly state: string; readonly message: string } | 'ready'

const [file = ''] = process.argv.slice(2)
const keeper = createKeeper(loadRunConfig(file, { env: process.env, isWellKnown }), {
  version: 'bench',
  log: createLog({ level: 'error', secrets: [], write: (line) => process.stderr.write(line) }),
})
keeper.onEvent((event) => {
  if (event.type === 'workflow') tell({ id: event.id, state: event.state, message: event.message ?? '' })
})
process.on('disconnect', () => process.exit())
await keeper.start()
tell('ready')

function tell(told: Told): void {
  process.send?.(told)
}

import { RolekeeperError } from '../../errors.ts'
import {
  type Control,
  controlOf,
  gateBySwitches,
  gateOfRole,
  readControl,
  stopped,
} from '../../ops/control.ts'
import { pathText } from '../../ops/directory.ts'
import type { Hold, Workflow } from '../../workflow/workflow.ts'
import type { KeeperPlace } from '../target/place.ts'

/**
 * Say what keeps a workflow from beginning though it is approved: who pulled which switch of its keeper's machine or of its
 * fleet, what takes it back, and until when the approval counts. Null where nothing does, or where that cannot be read.
 */
export async function heldUpText(
  { role, hold }: Pick<Workflow, 'role'> & { readonly hold: Hold },
  place: At,
): Promise<string | null> {
  const control = await controlAt(place)
  const halt = stopped(gateOfRole(role, () => gateBySwitches(control))())
  if (halt === null || halt === 'for_now') return null
  // A fleet's switch is taken back by its configuration, from any machine.
  const at = place.shared === undefined ? '' : ` --config ${pathText(place.file)}`
  const message = halt.message.replace(
    /Fix: `(rolekeeper [^`]*)`/,
    (_, command) => `Fix: \`${command}${at}\``,
  )
  return `${message} Until then what is approved waits; it expires at ${new Date(hold.untilMs).toISOString()}.`
}

type At = Pick<KeeperPlace, 'directory' | 'shared' | 'file'>

async function controlAt({ directory, shared }: At): Promise<Control> {
  const found = readControl(directory)
  // Who approves need not be where a keeper works.
  const local = found.isUnreadable === true ? controlOf([]) : found
  if (shared === undefined) return local
  const { readControls } = await import('../../fleet/overview.ts')
  const { switchesOf } = await import('../../fleet/switches.ts')
  const { directory: _, ...here } = local
  try {
    return switchesOf(here, await readControls(shared.store))
  } catch (error) {
    // What was answered stands, whatever can be read beside it.
    if (error instanceof RolekeeperError) return here
    throw error
  }
}

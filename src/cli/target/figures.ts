import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { checkYaml } from '../../config/check.ts'
import { loadYaml } from '../../config/yaml.ts'
import { RolekeeperError } from '../../errors.ts'
import { type Deployment, deployment } from '../../service/contract/deployment.ts'
import { amountText } from '../../units.ts'
import type { TokenChange } from '../../workflow/slot.ts'
import type { GivenPlace, KeeperPlace } from './place.ts'

const NOTHING = {
  namespace: '',
  assets: [],
  markets: [],
  vaults: [],
  funds: [],
  contracts: [],
}
const pinned = z.looseObject({ deployment: deployment.optional() })

/**
 * Read what the run configuration of a keeper's records pins, for the names and units of tokens; of a sandbox that has
 * ended, what it left; nothing where only its directory is known. No secret has to be there. Throws what reading it throws.
 */
export function deploymentAt(given: GivenPlace, place: KeeperPlace): Deployment {
  const named = configOf(given, place)
  const found = existsSync(named) ? checkYaml(loadYaml(named), pinned).deployment : leftBy(place)
  return found ?? NOTHING
}

/** What a sandbox that has ended left; one of another release may be written otherwise, and only names are missing then. */
function leftBy({ directory }: KeeperPlace): Deployment | undefined {
  try {
    return checkYaml(loadYaml(join(directory, 'sandbox', 'pins.json')), pinned).deployment
  } catch (error) {
    if (error instanceof RolekeeperError) return undefined
    throw error
  }
}

/** Name the run configuration of a keeper's records, which need not be there: a sandbox's lies in its directory. Pure. */
export const configOf = ({ config }: GivenPlace, { file, directory }: KeeperPlace): string =>
  config ?? (file === '' ? join(directory, 'run.yaml') : file)

/** Write what changed of each token, one line each. Pure. */
export const changeLines = (changes: readonly TokenChange[], known: Deployment): readonly string[] =>
  changes.map(({ token, assets }) => `  ${token}  ${amountText(assets, token, known)}`)

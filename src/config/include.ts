import { dirname, isAbsolute, join } from 'node:path'
import { RolekeeperError } from '../errors.ts'
import { loadYaml, type Path, type YamlFile } from './yaml.ts'

/** A file that includes one that includes one …: more is a circle, or should be fewer files. */
const DEPTH_MAX = 4

/** Lists of which one entry more lets less through: those of both files hold, or a file would drop what all share. */
const ADDED_UP: ReadonlySet<string> = new Set(['guard.deny', 'limits.allowances', 'approval.always'])

/** The entry of a list that stands for all that the included file says in the same list. */
export const INCLUDED = 'included'

/** A YAML file with what it includes; `files` are all that were read, the first is its own. */
export type YamlWithIncludes = YamlFile & { readonly files: readonly string[] }

/**
 * Read a YAML file and what it includes: `include: ./shared.yaml` stands for all that the other file says, and what the
 * file says itself goes before it, mapping by mapping; a list replaces a list, but for those that only add up, and where
 * its entry `included` says that the other file's stand there. A position is where a value really is.
 * @throws RolekeeperError what reading throws, and `config.invalid` for an `include` that is no path, or goes too deep.
 */
export function loadWithIncludes(file: string, depth = 0): YamlWithIncludes {
  const own = loadYaml(file)
  if (!isMapping(own.value) || own.value.include === undefined) return { ...own, files: [file] }
  const { include, ...values } = own.value
  if (typeof include !== 'string' || include === '' || depth >= DEPTH_MAX) {
    const problem =
      depth >= DEPTH_MAX ? `more than ${DEPTH_MAX} files include each other` : 'include is not a path'
    throw new RolekeeperError('config.invalid', `${own.at(['include'])}: ${problem}.`, {
      fix: 'name one file, from the folder of this one, for example ./shared.yaml',
      facts: { file },
    })
  }
  const other = loadOther(isAbsolute(include) ? include : join(dirname(file), include), depth + 1, own.at)
  return {
    file,
    files: [file, ...other.files],
    value: merged(other.value, values, ''),
    at: (path) => {
      const { here, there } = placesOf(values, other.value, path)
      return has(values, here) || !has(other.value, there) ? own.at(here) : other.at(there)
    },
  }
}

/** Read what is included; where it cannot be, say too which line names it. */
function loadOther(file: string, depth: number, at: YamlFile['at']): YamlWithIncludes {
  try {
    return loadWithIncludes(file, depth)
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.code !== 'config.unreadable') throw error
    const { code, shortMessage, facts, cause } = error
    throw new RolekeeperError(code, `${at(['include'])}: ${shortMessage}`, {
      fix: 'correct the path, which is from the folder of the file that names it, or put the file there',
      facts,
      cause,
    })
  }
}

/** A path of what was put together in both files: entries of the other one come behind the file's own, or where it says so. */
function placesOf(
  values: unknown,
  other: unknown,
  path: Path,
): { readonly here: Path; readonly there: Path } {
  const at = path.findIndex((step) => typeof step === 'number')
  const [above, index, below] = [path.slice(0, at), Number(path[at]), path.slice(at + 1)]
  const [own, theirs] = [valueAt(values, above), valueAt(other, above)]
  if (at < 0 || !Array.isArray(own) || !Array.isArray(theirs)) return { here: path, there: path }
  const adds = ADDED_UP.has(above.join('.'))
  const marker = own.indexOf(INCLUDED)
  if (!adds && marker < 0) return { here: path, there: path }
  const first = marker < 0 ? own.length : marker
  const isTheirs = index >= first && index < first + theirs.length
  return isTheirs
    ? { here: [...above, own.length, ...below], there: [...above, index - first, ...below] }
    : { here: [...above, index < first ? index : index - theirs.length + 1, ...below], there: [...above, -1] }
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((found, step) => Reflect.get(Object(found), step), value)

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** Whether a value has something at a path. Pure. */
const has = (value: unknown, [first, ...rest]: Path): boolean =>
  first === undefined ||
  (value !== null &&
    typeof value === 'object' &&
    Object.hasOwn(value, first) &&
    has(Reflect.get(value, first), rest))

/** Put mappings together, the second going before the first. Pure. */
function merged(under: unknown, over: unknown, path: string): unknown {
  if (Array.isArray(under) && Array.isArray(over)) {
    if (over.includes(INCLUDED)) return over.flatMap((each: unknown) => (each === INCLUDED ? under : [each]))
    return ADDED_UP.has(path) ? [...over, ...under] : over
  }
  if (!isMapping(under) || !isMapping(over)) return over
  const keys = [...new Set([...Object.keys(under), ...Object.keys(over)])]
  return Object.fromEntries(
    keys.map((key) => [
      key,
      !Object.hasOwn(over, key)
        ? under[key]
        : Object.hasOwn(under, key)
          ? merged(under[key], over[key], path === '' ? key : `${path}.${key}`)
          : over[key],
    ]),
  )
}

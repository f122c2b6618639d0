import { dirname, isAbsolute, join } from 'node:path'
import { RolekeeperError } from '../errors.ts'
import { loadYaml, type Path, type YamlFile } from './yaml.ts'

/** A file that includes one that includes one …: more is a circle, or should be fewer files. */
const DEPTH_MAX = 4

/** Lists of which one entry more lets less through: those of both files hold, or a file would drop what all share. */
const ADDED_UP: ReadonlySet<string> = new Set(['guard.deny', 'limits.allowances', 'approval.always'])

/** A YAML file with what it includes; `files` are all that were read, the first is its own. */
export type YamlWithIncludes = YamlFile & { readonly files: readonly string[] }

/**
 * Read a YAML file and what it includes: `include: ./shared.yaml` stands for all that the other file says, and what the
 * file says itself goes before it, mapping by mapping; a list replaces a list, but for those that only add up. A position
 * is where a value really is.
 * @throws RolekeeperError what reading throws, and `config.invalid` for an `include` that is no path, or goes too deep.
 */
export function loadWithIncludes(file: string, depth = 0): YamlWithIncludes {
  const own = loadYaml(file)
  if (!isMapping(own.value) || own.value.include === undefined) return { ...own, files: [file] }
  const { include, ...said } = own.value
  if (typeof include !== 'string' || include === '' || depth >= DEPTH_MAX) {
    const problem =
      depth >= DEPTH_MAX ? `more than ${DEPTH_MAX} files include each other` : 'include is not a path'
    throw new RolekeeperError('config.invalid', `${own.at(['include'])}: ${problem}.`, {
      fix: 'name one file, from the folder of this one, for example ./shared.yaml',
      facts: { file },
    })
  }
  const other = included(isAbsolute(include) ? include : join(dirname(file), include), depth + 1, own.at)
  return {
    file,
    files: [file, ...other.files],
    value: merged(other.value, said, ''),
    at: (path) => {
      const there = inOther(said, path)
      return has(said, path) || !has(other.value, there) ? own.at(path) : other.at(there)
    },
  }
}

/** Read what is included; where it cannot be, say too which line names it. */
function included(file: string, depth: number, at: YamlFile['at']): YamlWithIncludes {
  try {
    return loadWithIncludes(file, depth)
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.code !== 'config.unreadable') throw error
    const { code, shortMessage, facts, cause } = error
    throw new RolekeeperError(code, `${at(['include'])}: ${shortMessage}`, {
      fix: 'correct the path, which is from the folder of the file that names it, or put the file there',
      ...{ facts, cause },
    })
  }
}

/** Where in the included file a path is: what it adds to a list comes after the file's own entries. */
function inOther(said: unknown, path: Path): Path {
  const [section = '', name = '', index, ...rest] = path
  const list: unknown = Reflect.get(Object(Reflect.get(Object(said), section)), name)
  return ADDED_UP.has(`${String(section)}.${String(name)}`) && Array.isArray(list) && index !== undefined
    ? [section, name, Number(index) - list.length, ...rest]
    : path
}

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
  if (ADDED_UP.has(path) && Array.isArray(under) && Array.isArray(over)) return [...over, ...under]
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

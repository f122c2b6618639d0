import { dirname, isAbsolute, join } from 'node:path'
import { RolekeeperError } from '../errors.ts'
import { loadYaml, type Path, type YamlFile } from './yaml.ts'

/** A file that includes one that includes one …: more is a circle, or should be fewer files. */
const DEPTH_MAX = 4

/** A YAML file with what it includes; `files` are all that were read, the first is its own. */
export type YamlWithIncludes = YamlFile & { readonly files: readonly string[] }

/**
 * Read a YAML file and what it includes: `include: ./shared.yaml` stands for all that the other file says, and what the
 * file says itself goes before it, mapping by mapping; a list replaces a list. A position is where a value really is.
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
  const other = loadWithIncludes(isAbsolute(include) ? include : join(dirname(file), include), depth + 1)
  const isOwn = (path: Path) => has(said, path) || !has(other.value, path)
  return {
    file,
    files: [file, ...other.files],
    value: merged(other.value, said),
    at: (path) => (isOwn(path) ? own : other).at(path),
  }
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
const merged = (under: unknown, over: unknown): unknown =>
  isMapping(under) && isMapping(over)
    ? Object.fromEntries(
        [...new Set([...Object.keys(under), ...Object.keys(over)])].map((key) => [
          key,
          !Object.hasOwn(over, key)
            ? under[key]
            : Object.hasOwn(under, key)
              ? merged(under[key], over[key])
              : over[key],
        ]),
      )
    : over

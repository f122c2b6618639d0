import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Mutant, mutate, SWITCH } from './mutants.ts'

/** So often a place is passed in a loop that has lost its end. */
const PASSES_MAX = 3_000_000

const ROOT = pathToFileURL(`${process.cwd()}/`).href

/** The mutants of the loaded code, and which one is switched on. */
export type Switchboard = {
  readonly mutants: ReadonlyMap<number, Mutant>
  /** Switch a mutant on; null: none. */
  readonly set: (id: number | null) => void
  /** The mutants whose places were passed since the last call. */
  readonly passed: () => readonly number[]
}

/**
 * Load the files given with all of their mutants in them, and tests with the shim instead of Vitest. Numbers go
 * on from `numbersFrom`, so that they are the same in every process.
 */
export function load(files: readonly string[], numbersFrom: number): Switchboard {
  const mutants = new Map<number, Mutant>()
  const texts = new Map<string, string>()
  let next = numbersFrom
  for (const file of files) {
    const mutated = mutate(file, readFileSync(file, 'utf8'), next)
    next += mutated.mutants.length
    for (const mutant of mutated.mutants) mutants.set(mutant.id, mutant)
    texts.set(file, mutated.text)
  }
  let on: number | null = null
  let passes = 0
  const seen = new Uint8Array(next)
  Object.assign(globalThis, {
    [SWITCH]: (id: number): boolean => {
      seen[id] = 1
      if (id !== on) return false
      passes += 1
      if (passes > PASSES_MAX) throw new RangeError('the loop has lost its end')
      return true
    },
  })
  const shim = new URL('shim.ts', import.meta.url).href
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      if (specifier === 'vitest' && context.parentURL !== shim) return { url: shim, shortCircuit: true }
      const resolved = nextResolve(specifier, context)
      // What is loaded anew has all that it imports of ours loaded anew with it.
      const [, query] = context.parentURL?.split('?') ?? []
      const isOurs = resolved.url.startsWith(ROOT) && !resolved.url.includes('/node_modules/')
      return query === undefined || !isOurs ? resolved : { ...resolved, url: `${resolved.url}?${query}` }
    },
    load: (url, context, nextLoad) => {
      const [bare = url] = url.split('?')
      const text = bare.startsWith('file:')
        ? texts.get(relative(process.cwd(), fileURLToPath(bare)))
        : undefined
      if (text === undefined) return nextLoad(url, context)
      return { format: 'module-typescript', source: text, shortCircuit: true }
    },
  })
  return {
    mutants,
    set: (id) => {
      on = id
      passes = 0
    },
    passed: () => {
      const ids: number[] = []
      for (const [id, is] of seen.entries()) if (is === 1) ids.push(id)
      seen.fill(0)
      return ids
    },
  }
}

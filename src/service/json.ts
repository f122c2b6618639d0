import { type Checked, refuse } from '../errors.ts'

/** Our deepest schema nests 6 levels; a body deeper than this could overflow a later recursion. */
export const JSON_DEPTH_MAX = 32

/** Keys that can reach an object's prototype when it is copied. */
const PROTOTYPE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Read JSON from outside: nesting is bounded, and keys that name a prototype are dropped. Pure.
 * @returns the value, or a refusal that quotes nothing of the text.
 */
export function readJson(text: string): Checked<{ value: unknown }> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse('json_syntax', 'it is not JSON')
  }
  // Level by level instead of by recursion, which the text could exhaust.
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > JSON_DEPTH_MAX) return refuse('json_depth', `it nests deeper than ${JSON_DEPTH_MAX} levels`)
    const next: unknown[] = []
    for (const node of level) {
      if (Array.isArray(node)) collect(node, next)
      else if (isRecord(node)) {
        for (const key of Object.keys(node)) if (PROTOTYPE_KEYS.has(key)) delete node[key]
        collect(Object.values(node), next)
      }
    }
    level = next
  }
  return { ok: true, value }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function collect(children: readonly unknown[], next: unknown[]): void {
  for (const child of children) if (typeof child === 'object' && child !== null) next.push(child)
}

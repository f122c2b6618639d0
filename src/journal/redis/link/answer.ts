/** What a script answered: a code, and what follows it. */
export type Answer = { readonly code: string; readonly values: readonly unknown[] }

/** Read a hash as a script answers with it: names and values by turns. Pure. */
export function hashOf(reply: unknown): ReadonlyMap<string, string> {
  const flat = Array.isArray(reply) ? reply.map(String) : []
  return new Map(
    flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : [])),
  )
}

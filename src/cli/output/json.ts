/** Write values as JSON, one a line; big integers as decimal strings. Pure. */
export const jsonLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value, plain)}\n`).join('')

const plain = (_: string, member: unknown) => (typeof member === 'bigint' ? String(member) : member)

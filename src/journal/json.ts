/** A bigint inside JSON: one member with this name, its value the decimal digits. */
const TAG = '$bigint'

/** Write a record as JSON, bigints tagged. Pure. */
export const encodeRecord = (record: unknown): string =>
  JSON.stringify(record, (_key, value: unknown) =>
    typeof value === 'bigint' ? { [TAG]: value.toString() } : value,
  )

/**
 * Read a record that {@link encodeRecord} wrote. The journal is ours alone (mode 0700), so its shape is trusted as
 * of its version. Pure.
 */
export const decodeRecord = <T>(text: string): T =>
  JSON.parse(text, (_key, value: unknown) =>
    value !== null && typeof value === 'object' && TAG in value ? BigInt(String(value[TAG])) : value,
  )

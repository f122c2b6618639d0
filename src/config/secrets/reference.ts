/** Where a secret is, as a configuration writes it. */
export type Reference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  /** A name or an ARN; of JSON one field, else all of it. */
  | { readonly kind: 'aws'; readonly id: string; readonly field?: string }
  /** Of a KV engine of version 2: its mount, the path in it, and the field. */
  | { readonly kind: 'vault'; readonly mount: string; readonly path: string; readonly field: string }

/** How a reference is written, for messages. */
export const NOTATION = '"env:NAME", "file:PATH", "aws:NAME#FIELD" or "vault:MOUNT/PATH#FIELD"'

/** A reference. No part of a path in Vault is dots alone, which would lead elsewhere. */
export const REFERENCE =
  /^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+|aws:[\w/+=.@:-]{1,2048}(#[\w.-]{1,100})?|vault:\w[\w.-]*(\/\w[\w.-]*)+#[\w.-]{1,100})$/

/** Read a reference; null where a text is none. Pure. */
export function referenceOf(text: string): Reference | null {
  if (!REFERENCE.test(text)) return null
  const colon = text.indexOf(':')
  const [kind, rest] = [text.slice(0, colon), text.slice(colon + 1)]
  if (kind === 'env') return { kind, name: rest }
  if (kind === 'file') return { kind, path: rest }
  const [place = '', field] = rest.split('#')
  if (kind === 'aws') return { kind, id: place, ...(field === undefined ? {} : { field }) }
  const [mount = '', ...path] = place.split('/')
  return { kind: 'vault', mount, path: path.join('/'), field: field ?? '' }
}

/** Whether a text is a reference that something has to be asked for: a file or a manager. Pure. */
export const isFetched = (text: string): boolean => {
  const kind = referenceOf(text)?.kind
  return kind !== undefined && kind !== 'env'
}

/** What of a reference is read at once, for all of its fields. Pure. */
export function placeOfReference(reference: Reference): string {
  if (reference.kind === 'vault') return `vault:${reference.mount}/${reference.path}`
  if (reference.kind === 'aws') return `aws:${reference.id}`
  return reference.kind === 'file' ? `file:${reference.path}` : `env:${reference.name}`
}

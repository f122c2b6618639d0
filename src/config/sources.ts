import { createHash, createPublicKey } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { z } from 'zod'
import { name } from '../service/contract/yaml-scalars.ts'
import { type Origins, pathIn, secret, secretUrl } from './scalars.ts'

/** The name of a header that a request of ours carries. */
export const headerName = z.string().regex(/^[a-z0-9-]{1,64}$/, 'expected the name of a header in lower case')

/** Whether a text is the public key, in PEM, of a curve that ECDSA signs on. */
function isEcdsaKey(pem: string): boolean {
  try {
    return createPublicKey(pem).asymmetricKeyType === 'ec'
  } catch {
    return false
  }
}

/** Whose signature every answer of a source has to carry, over its raw bytes. */
const signature = (from: Origins) =>
  z
    .strictObject({
      /** The header of the answer that it stands in, hex or base64; a file has it beside it, in FILE.sig. */
      header: headerName.optional(),
      /** The secret of an HMAC-SHA256. */
      hmac: secret(from).optional(),
      /** The public key, in PEM, of an ECDSA signature over SHA-256. */
      ecdsa: z
        .string()
        .refine(isEcdsaKey, { error: 'expected the public key of an elliptic curve, in PEM' })
        .optional(),
    })
    .transform(({ header, hmac, ecdsa }, context) => {
      if (hmac !== undefined && ecdsa === undefined) return { header, key: { hmac } }
      if (ecdsa !== undefined && hmac === undefined) return { header, key: { ecdsa } }
      context.addIssue({ code: 'custom', message: 'expected exactly one of hmac and ecdsa' })
      return z.NEVER
    })

/** A source of values that a policy names, outside service and chain: JSON over HTTP, or a file of JSON or CSV. */
const source = (folder: string, from: Origins) =>
  z
    .strictObject({
      name,
      url: secretUrl(from).optional(),
      file: pathIn(folder).optional(),
      /** What each request carries, for example `authorization`. */
      headers: z.record(headerName, secret(from)).optional(),
      signature: signature(from).optional(),
    })
    .transform(({ name, url, file, headers, signature: signed }, context) => {
      const refuse = (message: string) => {
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      }
      if ((url === undefined) === (file === undefined)) return refuse('expected exactly one of url and file')
      if (file !== undefined) {
        if (headers !== undefined)
          return refuse('a file is asked with no headers; expected url, or no headers')
        if (signed?.header !== undefined)
          return refuse('a file has its signature beside it, in FILE.sig; expected no signature.header')
        return { name, kind: 'file' as const, file, signature: signed && { key: signed.key } }
      }
      if (url === undefined) return z.NEVER
      if (signed === undefined) return { name, kind: 'http' as const, url, headers }
      const { header, key } = signed
      if (header === undefined)
        return refuse('expected signature.header, where the signature of an answer stands')
      return { name, kind: 'http' as const, url, headers, signature: { header, key } }
    })

/** The sources of a run configuration. */
export const sources = (folder: string, from: Origins) =>
  z
    .array(source(folder, from))
    .max(100)
    .default([])
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
      error: 'a name is there twice; expected each once',
    })

type Source = z.output<ReturnType<typeof sources>>[number]

/** What must not be shown of a source. Pure. */
export function secretsOfSource(one: Source) {
  const { signature: signed } = one
  const shared = signed !== undefined && 'hmac' in signed.key ? [signed.key.hmac] : []
  return one.kind === 'http' ? [one.url, ...Object.values(one.headers ?? {}), ...shared] : shared
}

/** What a source is read from and signed by: texts that are alike where it is the same, and show no secret. */
export function upstreamsOf(one: Source): readonly string[] {
  const key = one.signature?.key
  const isOf = (secret: string) => createHash('sha256').update(secret).digest('hex')
  return [
    one.kind === 'http'
      ? `host ${new URL(one.url.reveal()).hostname.replace(/\.$/, '')}`
      : `file ${realPathOf(one.file)}`,
    ...(key === undefined ? [] : [`key ${'ecdsa' in key ? pointOf(key.ecdsa) : isOf(key.hmac.reveal())}`]),
  ]
}

/** Where a file really is; where it is named, while it is not there. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** A key is one however its text is broken, and, on a curve that JWK knows, however its point is written. */
function pointOf(pem: string): string {
  const key = createPublicKey(pem)
  try {
    const { crv, x, y } = key.export({ format: 'jwk' })
    return [crv, x, y].join()
  } catch {
    return key.export({ type: 'spki', format: 'der' }).toString('base64')
  }
}

import { ASSUMED_RESOURCES } from './assumed-resources.ts'
import { CONTROL_RESOURCES, REQUEST_BODIES } from './control-resources.ts'
import type { Fields, Resource } from './notation.ts'
import { PROTOCOL_RESOURCES } from './protocol-resources.ts'
import { TENANT_RESOURCES } from './tenant-resources.ts'
import { VAULT_RESOURCES } from './vault-resources.ts'

/** Every resource and request body, by the name that the notation uses. */
const RESOURCES: Readonly<Record<string, Resource>> = {
  ...PROTOCOL_RESOURCES,
  ...VAULT_RESOURCES,
  ...CONTROL_RESOURCES,
  ...REQUEST_BODIES,
  ...ASSUMED_RESOURCES,
  ...TENANT_RESOURCES,
}

/** Give the fields of a named resource. Throws `RangeError` for a name that the transcription does not hold. */
export function fieldsOf(name: string): Fields {
  const resource = RESOURCES[name]
  if (resource === undefined) throw new RangeError(`the transcription holds no resource ${name}`)
  return resource.fields
}

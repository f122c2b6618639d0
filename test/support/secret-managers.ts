import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** A server on loopback that speaks the protocols of AWS Secrets Manager and of Vault's KV engine, version 2. */
export type SecretManagers = {
  readonly url: string
  /** What AWS holds by its name, and Vault by mount and path; each may be changed at any time. */
  readonly aws: Map<string, string>
  readonly vault: Map<string, Record<string, string>>
  /** The token that Vault takes. */
  token: string
  /** How it fails: answers nothing, closes the connection, or refuses everybody. */
  fault: 'none' | 'hang' | 'drop' | 'refuse'
  /** How often it was asked. */
  asked: number
  readonly close: () => Promise<void>
}

/** Start one. What is signed with which key of AWS is not looked at: the sandbox's KMS has the test of that. */
export async function startSecretManagers(token: string): Promise<SecretManagers> {
  const server = createServer((request, response) => {
    void answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const held: SecretManagers = {
    url: `http://127.0.0.1:${port}`,
    aws: new Map(),
    vault: new Map(),
    token,
    fault: 'none',
    asked: 0,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    held.asked += 1
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (held.fault === 'hang') return
    if (held.fault === 'drop') return void request.socket.destroy()
    const say = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body))
    }
    if (request.method === 'GET') {
      if (request.headers['x-vault-token'] !== held.token || held.fault === 'refuse') {
        return say(403, { errors: [`permission denied for ${request.headers['x-vault-token']}`] })
      }
      const [, mount, path] = /^\/v1\/([^/]+)\/data\/(.+)$/.exec(request.url ?? '') ?? []
      const data = held.vault.get(`${mount}/${path}`)
      return data === undefined
        ? say(404, { errors: [] })
        : say(200, { data: { data, metadata: { version: 1 } } })
    }
    if (held.fault === 'refuse' || request.headers['x-amz-target'] !== 'secretsmanager.GetSecretValue') {
      return say(400, { __type: 'AccessDeniedException', Message: 'canary-of-the-vendor' })
    }
    const { SecretId: id } = JSON.parse(Buffer.concat(chunks).toString())
    const value = held.aws.get(id)
    if (value === undefined) return say(400, { __type: 'ResourceNotFoundException', Message: 'not there' })
    return say(200, { ARN: `arn:aws:secretsmanager:eu:1:secret:${id}`, Name: id, SecretString: value })
  }
  return held
}
